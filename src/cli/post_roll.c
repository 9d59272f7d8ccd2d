/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/post_roll.h"

#include "base/hash.h"
#include "base/json_write.h"
#include "base/timestamp.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES ((size_t)1 << 20)
#define ROWS_FIRST  1024

/* Blocks never move, so rows may point into them. */
static struct bytes keep(struct post_roll *roll, struct bytes text)
{
    assert(text.len < BLOCK_BYTES);
    if (roll->block_count == 0 || roll->block_used + text.len > BLOCK_BYTES) {
        roll->blocks = memory_resize(roll->blocks, (roll->block_count + 1) * sizeof *roll->blocks);
        roll->blocks[roll->block_count++] = memory_new(BLOCK_BYTES);
        roll->block_used = 0;
    }
    char *at = roll->blocks[roll->block_count - 1] + roll->block_used;
    memcpy(at, text.data, text.len);
    roll->block_used += text.len;
    return bytes_make(at, text.len);
}

static void add(struct post_roll *roll, struct bytes uri, int64_t shared_us,
                const struct bytes says[3])
{
    if (roll->count == roll->cap) {
        roll->cap = roll->cap == 0 ? ROWS_FIRST : roll->cap * 2;
        roll->rows = memory_resize(roll->rows, roll->cap * sizeof *roll->rows);
    }
    uint64_t digest = 0;
    for (size_t i = 0; i < 3; i++)
        digest = hash_bytes(bytes_make(says[i].len == 0 ? "" : says[i].data, says[i].len), digest);
    roll->rows[roll->count++] =
        (struct post_row){.uri = keep(roll, uri), .digest = digest, .shared_us = shared_us};
}

/* ---- from the store ---- */

static bool take_row(void *arg, const struct field *columns, size_t count)
{
    struct bytes says[3];
    assert(count == 5);
    for (size_t i = 0; i < 3; i++)
        says[i] = columns[2 + i].null ? BYTES_ABSENT : columns[2 + i].b;
    add(arg, columns[0].b, columns[1].i, says);
    return true;
}

static enum rc read_store(struct post_roll *roll, struct target *target, struct err *err)
{
    target->store->patient = true;
    return store_query(target->store,
                       "SELECT uri, shared_us, kind, text, subject FROM posts WHERE active <> 0",
                       NULL, 0, take_row, roll, err);
}

/* ---- from the daemon ---- */

static enum rc ask(struct target *target, const char *path, const char *body, struct json *root,
                   struct err *err)
{
    return target_post(target, path, body, TARGET_SECONDS, NULL, root, err);
}

static void take_items(struct post_roll *roll, struct json items)
{
    struct json_walk walk = json_walk(items);
    struct bytes key, uri, shared;
    struct json item;
    int64_t shared_us;
    while (json_walk_next(&walk, &key, &item)) {
        bool active = true;
        const struct bytes says[3] = {json_string_or_absent(json_get(item, "kind")),
                                      json_string_or_absent(json_get(item, "text")),
                                      json_string_or_absent(json_get(item, "subject"))};
        (void)json_bool(json_get(item, "active"), &active);
        if (active && json_string(json_get(item, "uri"), &uri) &&
            json_string(json_get(item, "sharedAt"), &shared) && timestamp_parse(shared, &shared_us))
            add(roll, uri, shared_us, says);
    }
}

static enum rc read_daemon(struct post_roll *roll, struct target *target, struct err *err)
{
    struct json root;
    struct bytes handle;
    struct text body = {0};
    bool more = true;
    enum rc rc = ask(target, "/api/data/query-open",
                     "{\"collection\":\"posts\",\"pageSize\":1000,\"count\":\"none\"}", &root, err);
    if (rc == RC_OK && !json_string(json_get(root, "queryHandle"), &handle))
        rc = err_set(err, RC_RETRY, "the daemon opens no query");
    if (rc == RC_OK)
        text_appendf(&body, "{\"queryHandle\":\"%.*s\"}", (int)handle.len, handle.data);
    while (rc == RC_OK && more) {
        rc = ask(target, "/api/data/query-next", text_string(&body), &root, err);
        if (rc == RC_OK && !json_bool(json_get(root, "hasMore"), &more))
            rc = err_set(err, RC_RETRY, "the daemon does not say whether there is more");
        if (rc == RC_OK)
            take_items(roll, json_get(root, "items"));
    }
    if (body.len > 0 && rc == RC_OK)
        rc = ask(target, "/api/data/query-close", text_string(&body), &root, err);
    text_free(&body);
    return rc;
}

static int by_uri(const void *left, const void *right)
{
    const struct post_row *a = left, *b = right;
    return bytes_compare(a->uri, b->uri);
}

enum rc post_roll_read(struct post_roll *roll, struct target *target, struct err *err)
{
    enum rc rc =
        target->store == NULL ? read_daemon(roll, target, err) : read_store(roll, target, err);
    if (rc == RC_OK && roll->count > 0)
        qsort(roll->rows, roll->count, sizeof *roll->rows, by_uri);
    return rc;
}

void post_roll_free(struct post_roll *roll)
{
    for (size_t i = 0; i < roll->block_count; i++)
        free(roll->blocks[i]);
    free(roll->blocks);
    free(roll->rows);
}
