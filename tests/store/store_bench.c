/* SPDX-License-Identifier: Apache-2.0 */
#include "store_bench.h"

#include <stdio.h>
#include <stdlib.h>

int store_bench_set_up(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);
    unsigned applied;
    fixture_open(&bench->fixture, both_stores_kind);
    assert_ok(store_open(bench->fixture.url, STORE_WRITE, &bench->store, &bench->err));
    assert_ok(store_migrate(bench->store, &applied, &bench->err));
    assert_ok(store_claim(bench->store, "test", NULL, 1, &bench->position, &bench->err));
    bench->commit = commit_new();
    arena_init(&bench->batch.arena, 1 << 20);
    *state = bench;
    both_stores_executed++;
    return 0;
}

int store_bench_tear_down(void **state)
{
    struct bench *bench = *state;
    commit_take_batches(bench->commit);
    commit_free(bench->commit);
    arena_deinit(&bench->batch.arena);
    store_close(bench->store);
    fixture_close(&bench->fixture);
    free(bench);
    return 0;
}

struct record *add_post(struct bench *bench, const char *did, const char *rkey, const char *rev,
                        int op, int64_t shared_us, const char *text)
{
    struct batch *batch = &bench->batch;
    struct record *record = batch_add(batch, RECORD_POST);
    assert_non_null(record);
    assert_true(batch_set_text(batch, record, POST_DID, bytes_of(did)));
    assert_true(batch_set_text(batch, record, POST_COLLECTION, bytes_of("app.bsky.feed.post")));
    assert_true(batch_set_text(batch, record, POST_RKEY, bytes_of(rkey)));
    assert_true(batch_set_text(batch, record, POST_REV, bytes_of(rev)));
    assert_true(batch_set_text(batch, record, POST_TEXT, bytes_of(text)));
    batch_set_int(record, POST_OP, op);
    batch_set_int(record, POST_KIND, POST_KIND_POST);
    batch_set_int(record, POST_SHARED_US, shared_us);
    return record;
}

void add_cursor(struct bench *bench, const char *source, const char *stream, const char *state,
                int64_t position)
{
    struct batch *batch = &bench->batch;
    struct record *record = batch_add(batch, RECORD_CURSOR);
    assert_true(batch_set_text(batch, record, CURSOR_ROW_SOURCE, bytes_of(source)));
    assert_true(batch_set_text(batch, record, CURSOR_ROW_STREAM, bytes_of(stream)));
    assert_true(batch_set_text(batch, record, CURSOR_ROW_STATE, bytes_of(state)));
    batch_set_int(record, CURSOR_ROW_POSITION, position);
    batch_set_int(record, CURSOR_ROW_AT_US, position);
}

enum rc write_batch(struct bench *bench)
{
    assert_true(commit_add(bench->commit, &bench->batch));
    enum rc rc = commit_write(bench->commit, bench->store, &bench->position, 42, &bench->err);
    commit_take_batches(bench->commit);
    struct arena arena = bench->batch.arena;
    arena_reset(&arena);
    bench->batch = (struct batch){.arena = arena};
    return rc;
}

int64_t number(struct bench *bench, const char *sql)
{
    int64_t value;
    assert_ok(store_query_int(bench->store, sql, -1, &value, &bench->err));
    return value;
}

static bool copy_text(void *arg, const struct field *columns, size_t count)
{
    assert_true(count >= 1);
    snprintf(arg, 256, "%.*s", columns[0].null ? 4 : (int)columns[0].b.len,
             columns[0].null ? "NULL" : columns[0].b.data);
    return false;
}

const char *word(struct bench *bench, const char *sql)
{
    static char text[256];
    snprintf(text, sizeof text, "no row");
    assert_ok(store_query(bench->store, sql, NULL, 0, copy_text, text, &bench->err));
    return text;
}

void run_script(struct bench *bench, const char *sql)
{
    assert_ok(bench->store->ops->script(bench->store, sql, &bench->err));
}
