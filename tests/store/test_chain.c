/* SPDX-License-Identifier: Apache-2.0
 *
 * A chain read from nodes that answer as this file's own model of it says, into the content source
 * and a real store: far from the head, near it, across reorganisations, with nodes that refuse
 * large ranges, lag behind or hold logs back. */
#include "content_bench.h"
#include "source/evm_chain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONTRACT    "b01683b2f0d38d43fcd4d9aab980166988924132"
#define NODE_BLOCKS 4096
#define DEPTH       8
#define LETTERS_MAX 4

/* The world's one chain; a block is known by its number and the fork it belongs to. */
struct model {
    char fork[NODE_BLOCKS];
    char letters[NODE_BLOCKS][LETTERS_MAX + 1];
    uint64_t head, start;
    uint64_t range_max;  /* a node refuses more blocks than this; 0: none */
    uint64_t first_head; /* what the first node has; 0: all */
    bool first_hides;    /* and it answers no logs */
    unsigned log_questions;
};

static struct model model;
static struct rpc *rpc;

/* ---- nodes ---- */

static void print_hash(uint64_t number, char *out, size_t size)
{
    snprintf(out, size, "0x%062llx%02x", (unsigned long long)number,
             number >= NODE_BLOCKS ? 0U : (unsigned)(unsigned char)model.fork[number]);
}

static void print_block(uint64_t number, struct text *out)
{
    char hash[80], parent[80];
    print_hash(number, hash, sizeof hash);
    print_hash(number - 1, parent, sizeof parent);
    text_appendf(out,
                 "{\"number\":\"0x%llx\",\"hash\":\"%s\",\"parentHash\":\"%s\",\"timestamp\":"
                 "\"0x1\",\"logsBloom\":\"0x",
                 (unsigned long long)number, hash, parent);
    for (int i = 0; i < 256; i++)
        text_append_string(out, model.letters[number][0] == '\0' ? "00" : "ff");
    text_append_string(out, "\"}");
}

static void print_logs(struct content_bench *b, uint64_t number, struct text *out, bool *first)
{
    char hash[80];
    print_hash(number, hash, sizeof hash);
    for (const char *at = model.letters[number]; *at != '\0'; at++) {
        char text[] = "document ?", uri[128];
        text[sizeof text - 2] = *at;
        size_t block = ipfs_blocks_add(&b->blocks, true, bytes_of(text));
        snprintf(uri, sizeof uri, "ipfs://%s", b->blocks.blocks[block].cid);
        text_appendf(out,
                     "%s{\"address\":\"0x" CONTRACT "\",\"blockNumber\":\"0x%llx\",\"blockHash\":"
                     "\"%s\",\"logIndex\":\"0x%zx\",\"topics\":[],\"data\":\"0x",
                     *first ? "" : ",", (unsigned long long)number, hash,
                     (size_t)(at - model.letters[number]));
        for (const char *c = uri; *c != '\0'; c++)
            text_appendf(out, "%02x", (unsigned)(unsigned char)*c);
        text_append_string(out, "\"}");
        *first = false;
    }
}

static uint64_t number_after(const char *body, const char *key)
{
    const char *at = strstr(body, key);
    assert_non_null(at);
    return strtoull(at + strlen(key), NULL, 16);
}

static uint64_t block_of_hash(const char *body)
{
    char digits[63] = {0};
    memcpy(digits, strstr(body, "blockHash\":\"0x") + 14, 62);
    return strtoull(digits, NULL, 16);
}

static void answer_logs(struct content_bench *b, const char *body, bool hides, struct text *out)
{
    bool by_hash = strstr(body, "blockHash") != NULL, first = true;
    uint64_t lo = by_hash ? block_of_hash(body) : number_after(body, "fromBlock\":\"0x");
    uint64_t hi = by_hash ? lo : number_after(body, "toBlock\":\"0x");
    model.log_questions++;
    if (model.range_max > 0 && hi - lo + 1 > model.range_max) {
        text_append_string(out, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32005,"
                                "\"message\":\"query returned more than 10000 results\"}}");
        return;
    }
    text_append_string(out, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[");
    for (uint64_t number = lo; number <= hi && !hides; number++)
        print_logs(b, number, out, &first);
    text_append_string(out, "]}");
}

static void answer_node(struct content_bench *b, size_t at)
{
    const char *body = b->desk.sent[at].body;
    bool first_node = strstr(b->desk.sent[at].url, "node-a") != NULL;
    uint64_t head = first_node && model.first_head > 0 ? model.first_head : model.head;
    struct text out = {0};
    if (strstr(body, "eth_getLogs") != NULL) {
        answer_logs(b, body, first_node && model.first_hides, &out);
    } else {
        uint64_t number =
            strstr(body, "latest") != NULL ? head : number_after(body, "params\":[\"0x");
        text_append_string(&out, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":");
        if (number > head)
            text_append_string(&out, "null");
        else
            print_block(number, &out);
        text_append_string(&out, "}");
    }
    http_desk_answer(&b->desk, at, 200, text_string(&out));
    text_free(&out);
}

/* Whatever is asked now is answered; true when it was more than where the head is. */
static bool answer_all(struct content_bench *b)
{
    bool moved = false, open = false;
    for (size_t i = 0; i < b->desk.sent_count; i++) {
        const struct desk_request *sent = &b->desk.sent[i];
        if (sent->done == NULL || strstr(sent->url, "node-") == NULL)
            continue;
        moved |= strstr(sent->body, "latest") == NULL;
        answer_node(b, i);
        content_bench_settle(b);
    }
    for (int letter = 'A'; letter <= 'Z'; letter++)
        if (content_bench_asking(b, (char)letter) > 0) {
            content_bench_give(b, (char)letter);
            moved = true;
        }
    for (size_t i = 0; i < b->desk.sent_count; i++)
        open |= b->desk.sent[i].done != NULL;
    if (!open)
        b->desk.sent_count = 0;
    return moved;
}

/* Until the chain is read to its head and all is stored. */
static void run(struct content_bench *b)
{
    for (int idle = 0; idle < 4;) {
        bool moved = content_bench_commit(b);
        moved |= answer_all(b);
        if (!moved)
            content_bench_pass(b, 1000 * DESK_MS);
        idle = moved ? 0 : idle + 1;
    }
}

/* ---- the reader ---- */

static void *open_reader(struct content_bench *b)
{
    static const char *const urls[] = {"http://node-a", "http://node-b"};
    struct evm_chain_settings settings = {.start_block = model.start, .reorg_depth = DEPTH};
    assert_ok(evm_event_parse(bytes_of("any"), bytes_of("0x" CONTRACT), &settings.event, &b->err));
    assert_ok(rpc_new(b->env.runtime, urls, 2, &rpc, &b->err));
    return evm_chain_new(&b->env, rpc, &settings);
}

static void feed_reader(struct content_bench *b)
{
    evm_chain_feed(b->reader_arg, b->content);
}

static void stop_reader(struct content_bench *b)
{
    evm_chain_stop(b->reader_arg);
}

static void close_reader(struct content_bench *b)
{
    assert_true(evm_chain_stopped(b->reader_arg));
    evm_chain_free(b->reader_arg);
    rpc_free(rpc);
}

static const struct bench_reader reader = {&evm_chain_events, open_reader, feed_reader, stop_reader,
                                           close_reader};

static int set_up(void **state)
{
    memset(&model, 0, sizeof model);
    memset(model.fork, 'a', sizeof model.fork);
    model.start = 100;
    return content_bench_set_up(state);
}

static void name_letters(uint64_t number, const char *letters)
{
    snprintf(model.letters[number], sizeof model.letters[number], "%s", letters);
}

static int64_t references(struct content_bench *b)
{
    return content_bench_number(b, "SELECT count(*) FROM document_refs");
}

/* R002-01: from the start block to the head; every document, once, and the position is the head. */
static void a_chain_is_read_from_its_start_to_its_head(void **state)
{
    struct content_bench *b = *state;
    model.head = 1000;
    name_letters(99, "X"); /* before the start: nobody asked for it */
    name_letters(100, "A");
    name_letters(500, "BCB");
    name_letters(997, "D");
    name_letters(1000, "A");
    content_bench_read_by(b, &reader);
    run(b);
    assert_int_equal(content_bench_position(b), 1000);
    assert_int_equal(references(b), 6);
    assert_int_equal(content_bench_number(b, "SELECT count(*) FROM ipfs_cache WHERE NOT "
                                             "is_errored"),
                     4);
    assert_true(model.log_questions < 20); /* ranges far away; near the head the bloom decides */
    model.head = 1003;
    name_letters(1002, "E");
    run(b);
    assert_int_equal(content_bench_position(b), 1003);
    assert_true(content_bench_stored(b, 'E'));
}

/* A node that takes only small ranges is asked for small ones; nothing is left out. */
static void ranges_that_are_too_large_are_split(void **state)
{
    struct content_bench *b = *state;
    model.head = 400;
    model.range_max = 7;
    for (uint64_t number = 100; number <= 400; number += 13)
        name_letters(number, (char[]){(char)('A' + number % 26), 0});
    content_bench_read_by(b, &reader);
    run(b);
    assert_int_equal(content_bench_position(b), 400);
    assert_int_equal(references(b), 24);
}

/* R002-18: blocks 118 to 120 become others; what only they named is gone, what was fetched stays,
 * and a restart in between changes nothing. */
static void a_reorganisation_is_undone_and_read_anew(void **state)
{
    struct content_bench *b = *state;
    for (int crash = 0; crash < 2; crash++) {
        memset(model.fork, 'a', sizeof model.fork);
        memset(model.letters, 0, sizeof model.letters);
        model.head = 120;
        name_letters(117, "A");
        name_letters(119, "B");
        content_bench_wipe(b);
        content_bench_read_by(b, &reader);
        run(b);
        assert_int_equal(content_bench_position(b), 120);
        memset(model.fork + 118, 'b', 10);
        name_letters(119, "C");
        model.head = 121;
        if (crash == 1)
            content_bench_crash(b);
        run(b);
        assert_int_equal(content_bench_position(b), 121);
        assert_int_equal(references(b), 2);
        assert_true(content_bench_stored(b, 'B') && content_bench_stored(b, 'C'));
        char hash[80], sql[256];
        print_hash(119, hash, sizeof hash);
        snprintf(sql, sizeof sql,
                 "SELECT count(*) FROM chain_blocks WHERE number = 119 AND hash = '%s'", hash);
        assert_int_equal(content_bench_number(b, sql), 1);
    }
}

/* R002-18: as deep as is allowed, seen at once or when the head is far away again, by the process
 * that read the blocks or by the next one. */
static void the_deepest_reorganisation_is_found_however_late(void **state)
{
    struct content_bench *b = *state;
    for (int way = 0; way < 4; way++) {
        memset(model.fork, 'a', sizeof model.fork);
        memset(model.letters, 0, sizeof model.letters);
        model.head = 120;
        name_letters(113, "A");
        content_bench_wipe(b);
        content_bench_read_by(b, &reader);
        run(b);
        assert_int_equal(references(b), 1);
        memset(model.fork + 113, 'b', sizeof model.fork - 113);
        name_letters(113, "");
        name_letters(120, "B");
        model.head = way % 2 == 0 ? 121 : 400;
        if (way >= 2)
            content_bench_crash(b);
        run(b);
        assert_int_equal(content_bench_position(b), model.head);
        assert_int_equal(content_bench_number(b, "SELECT min(block_number) FROM document_refs"),
                         120);
        assert_true(content_bench_stored(b, 'B'));
    }
}

/* Deeper than is allowed: nothing is touched, and it says what to do. */
static void a_reorganisation_that_is_too_deep_stops_the_reader(void **state)
{
    struct content_bench *b = *state;
    struct evm_chain_view view;
    model.head = 140;
    name_letters(125, "A");
    content_bench_read_by(b, &reader);
    run(b);
    memset(model.fork + 120, 'b', 100);
    name_letters(125, "B");
    model.head = 141;
    run(b);
    evm_chain_look(b->reader_arg, &view);
    assert_true(view.stuck);
    assert_non_null(strstr(view.trouble, "content.reorg_depth = 8"));
    assert_non_null(strstr(view.trouble, "tidemark reset content"));
    assert_int_equal(content_bench_position(b), 140);
    assert_int_equal(references(b), 1);
    assert_true(content_bench_stored(b, 'A'));
}

/* The first node lags: it lacks blocks, and it has no logs where the bloom promises some. */
static void a_lagging_node_is_not_believed(void **state)
{
    struct content_bench *b = *state;
    model.head = 300;
    name_letters(150, "A");
    name_letters(298, "B");
    content_bench_read_by(b, &reader);
    run(b);
    model.head = 305;
    model.first_hides = true;
    name_letters(303, "C");
    run(b);
    model.head = 310;
    model.first_head = 306;
    name_letters(308, "D");
    run(b);
    assert_true(content_bench_stored(b, 'C') && content_bench_stored(b, 'D'));
    assert_int_equal(references(b), 4);
    assert_int_equal(content_bench_position(b), 310);
}

int main(void)
{
#define ON_STORE(test) cmocka_unit_test_setup_teardown(test, set_up, content_bench_tear_down)
    const struct CMUnitTest tests[] = {
        ON_STORE(a_chain_is_read_from_its_start_to_its_head),
        ON_STORE(ranges_that_are_too_large_are_split),
        ON_STORE(a_reorganisation_is_undone_and_read_anew),
        ON_STORE(the_deepest_reorganisation_is_found_however_late),
        ON_STORE(a_reorganisation_that_is_too_deep_stops_the_reader),
        ON_STORE(a_lagging_node_is_not_believed),
    };
    return both_stores_run(tests, sizeof tests / sizeof tests[0]);
}
