/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const roots[] = {"http://user:key@a.example/", "http://b.example:8080/k/e/y",
                                    "http://c.example"};

int fetch_bench_set_up(void **state)
{
    struct bench *b = calloc(1, sizeof *b);
    struct err err;
    struct gateways_settings settings = {roots, 3, 8};
    http_desk_init(&b->desk);
    assert_int_equal(gateways_new(&b->desk.clock.runtime, &settings, &b->gateways, &err), RC_OK);
    *state = b;
    return 0;
}

int fetch_bench_tear_down(void **state)
{
    struct bench *b = *state;
    gateways_free(b->gateways);
    http_desk_deinit(&b->desk);
    ipfs_blocks_free(&b->blocks);
    text_free(&b->content);
    free(b);
    return 0;
}

void fetch_bench_outcome(void *arg, const struct content_outcome *outcome)
{
    struct bench *b = arg;
    b->ended++;
    b->rc = outcome->rc;
    b->said[0] = '\0';
    text_free(&b->content);
    if (outcome->rc == RC_OK) {
        b->content = *outcome->content;
        *outcome->content = (struct text){0};
    } else if (outcome->rc == RC_REJECT) {
        snprintf(b->said, sizeof b->said, "%s", outcome->err.text);
    } else {
        for (size_t i = 0, at = 0; i < outcome->blocked->failure_count; i++) {
            const struct gateway_failure *failure = &outcome->blocked->failures[i];
            at += (size_t)snprintf(b->said + at, sizeof b->said - at, "%s: %s: %s; ",
                                   failure->provider, retry_class_name(failure->class),
                                   failure->reason);
        }
    }
}

struct cid fetch_bench_cid(const struct bench *b, size_t block)
{
    struct cid cid;
    assert_int_equal(cid_parse(bytes_of(b->blocks.blocks[block].cid), &cid, NULL), RC_OK);
    return cid;
}

void fetch_bench_begin_path(struct bench *b, size_t block, const char *path, uint32_t without)
{
    struct content_wish wish = {fetch_bench_cid(b, block), bytes_of(path), BENCH_DOCUMENT_MAX,
                                without, NULL};
    content_fetch_begin(&b->fetch, b->gateways, &wish, fetch_bench_outcome, b);
    http_desk_pass(&b->desk, 0);
}

void fetch_bench_begin(struct bench *b, size_t block, uint32_t without)
{
    fetch_bench_begin_path(b, block, NULL, without);
}

int fetch_bench_find(const struct bench *b, const char *gateway, size_t block)
{
    for (size_t i = 0; i < b->desk.sent_count; i++) {
        const struct desk_request *sent = &b->desk.sent[i];
        if (sent->done != NULL && strstr(sent->url, gateway) != NULL &&
            strstr(sent->url, b->blocks.blocks[block].cid) != NULL)
            return (int)i;
    }
    return -1;
}

void fetch_bench_give(struct bench *b, const char *gateway, size_t block)
{
    int at = fetch_bench_find(b, gateway, block);
    assert_true(at >= 0);
    http_desk_answer_bytes(&b->desk, (size_t)at,
                           (struct http_response){.status = 200, .retry_after_ms = -1},
                           text_bytes(&b->blocks.blocks[block].bytes));
}

void fetch_bench_refuse(struct bench *b, const char *gateway, size_t block, int status)
{
    int at = fetch_bench_find(b, gateway, block);
    assert_true(at >= 0);
    http_desk_answer(&b->desk, (size_t)at, status, "<html>no</html>");
}

unsigned fetch_bench_open_requests(const struct bench *b)
{
    unsigned open = 0;
    for (size_t i = 0; i < b->desk.sent_count; i++)
        open += b->desk.sent[i].done != NULL;
    return open;
}

const struct provider *fetch_bench_provider(const struct bench *b, const char *name)
{
    const struct failover *group = gateways_group(b->gateways);
    int number = failover_find(group, name);
    assert_true(number >= 0);
    return &group->providers[number];
}
