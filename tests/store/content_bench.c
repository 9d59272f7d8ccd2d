/* SPDX-License-Identifier: Apache-2.0 */
#include "content_bench.h"

#include "base/json.h"
#include "ingest/cursor.h"
#include "store/verification.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS_MAX 4096

static size_t document_of(struct content_bench *b, char letter)
{
    char text[] = "document ?";
    text[sizeof text - 2] = letter;
    return ipfs_blocks_add(&b->blocks, true, bytes_of(text));
}

static const struct ipfs_block *block_of(struct content_bench *b, char letter)
{
    size_t at = document_of(b, letter); /* which may move them all */
    return &b->blocks.blocks[at];
}

/* ---- the store ---- */

static enum rc submit(void *arg, struct batch *batch)
{
    struct content_bench *b = arg;
    if (b->full)
        return RC_AGAIN;
    assert_null(b->batch); /* one at a time */
    b->batch = batch;
    return RC_OK;
}

static enum rc ask(void *arg, const char *sql, const struct field *params, size_t param_count,
                   lookup_fn *fn, void *fn_arg)
{
    struct content_bench *b = arg;
    assert_true(b->question_count < BENCH_QUESTIONS_MAX);
    struct bench_question *q = &b->questions[b->question_count++];
    *q = (struct bench_question){.sql = sql, .param_count = param_count, .fn = fn, .arg = fn_arg};
    for (size_t i = 0; i < param_count; i++) {
        q->params[i] = params[i];
        if (params[i].null || params[i].type != FIELD_TEXT)
            continue;
        snprintf(q->words[i], sizeof q->words[i], "%.*s", (int)params[i].b.len, params[i].b.data);
        q->params[i].b = bytes_of(q->words[i]);
    }
    return RC_OK;
}

struct answer_rows {
    struct field fields[FIELDS_MAX];
    size_t columns, rows;
    struct arena arena;
};

static bool copy_row(void *arg, const struct field *columns, size_t count)
{
    struct answer_rows *rows = arg;
    rows->columns = count;
    for (size_t i = 0; i < count; i++) {
        struct field *field = &rows->fields[rows->rows * count + i];
        assert_true(field < rows->fields + FIELDS_MAX);
        *field = columns[i];
        if (!field->null && (field->type == FIELD_TEXT || field->type == FIELD_BLOB))
            field->b = arena_copy(&rows->arena, columns[i].b);
    }
    rows->rows++;
    return true;
}

static void answer_question(struct content_bench *b)
{
    struct bench_question q = b->questions[0];
    struct answer_rows *rows = calloc(1, sizeof *rows);
    for (size_t i = 0; i < q.param_count; i++)
        if (!q.params[i].null && q.params[i].type == FIELD_TEXT)
            q.params[i].b = bytes_of(q.words[i]);
    memmove(b->questions, b->questions + 1, --b->question_count * sizeof b->questions[0]);
    for (size_t i = 0; i < b->question_count; i++)
        for (size_t k = 0; k < b->questions[i].param_count; k++)
            if (!b->questions[i].params[k].null && b->questions[i].params[k].type == FIELD_TEXT)
                b->questions[i].params[k].b = bytes_of(b->questions[i].words[k]);
    arena_init(&rows->arena, 1 << 20);
    struct lookup_answer answer = {.rc = RC_RETRY};
    bool fails = b->fails != NULL && strncmp(q.sql, b->fails, strlen(b->fails)) == 0;
    if (fails) {
        b->fails = NULL;
        q.fn(q.arg, &answer);
        arena_deinit(&rows->arena);
        free(rows);
        return;
    }
    assert_ok(store_query(b->store, q.sql, q.params, q.param_count, copy_row, rows, &b->err));
    answer = (struct lookup_answer){
        .rc = RC_OK, .fields = rows->fields, .columns = rows->columns, .rows = rows->rows};
    q.fn(q.arg, &answer);
    arena_deinit(&rows->arena);
    free(rows);
}

bool content_bench_commit(struct content_bench *b)
{
    struct batch *batch = b->batch;
    if (batch == NULL)
        return false;
    assert_true(commit_add(b->commit, batch));
    assert_ok(commit_write(b->commit, b->store, &b->position, desk_wall_us(&b->desk.clock.runtime),
                           &b->err));
    assert_int_equal(b->commit->refused_count, 0);
    commit_take_batches(b->commit);
    b->batch = NULL;
    batch->answered(batch->owner, batch, RC_OK);
    content_bench_settle(b);
    return true;
}

void content_bench_flush(struct content_bench *b)
{
    for (int round = 0; round < 2; round++) {
        while (content_bench_commit(b))
            ;
        content_bench_pass(b, 1000 * DESK_MS);
    }
}

/* ---- its events ---- */

static void on_started(void *arg, const struct content_place *place)
{
    ((struct content_bench *)arg)->place = *place;
}

static void on_room(void *arg)
{
    ((struct content_bench *)arg)->rooms++;
}

static void on_undone(void *arg)
{
    ((struct content_bench *)arg)->undos++;
}

static const struct content_events events = {on_started, on_room, on_undone};

/* ---- its life ---- */

static void open_store(struct content_bench *b)
{
    assert_ok(store_open(b->fixture.url, STORE_WRITE, &b->store, &b->err));
    assert_ok(store_claim(b->store, "test", NULL, 1, &b->position, &b->err));
}

static void start_process(struct content_bench *b)
{
    static const char *const roots[] = {"http://gate-a", "http://gate-b"};
    struct gateways_settings gateways = {roots, 2, 64};
    struct content_settings settings = {.stream = "content",
                                        .concurrency = b->concurrency,
                                        .span = b->span,
                                        .keep = b->keep,
                                        .needs_max = b->needs_max};
    assert_ok(gateways_new(&b->desk.clock.runtime, &gateways, &b->gateways, &b->err));
    b->place = (struct content_place){.known = false};
    b->reader_arg = b->reader == NULL ? NULL : b->reader->open(b);
    b->content = b->reader == NULL ? content_new(&b->env, b->gateways, &settings, &events, b)
                                   : content_new(&b->env, b->gateways, &settings, b->reader->events,
                                                 b->reader_arg);
    if (b->reader != NULL)
        b->reader->feed(b);
    content_start(b->content);
    content_bench_settle(b);
}

static void end_process(struct content_bench *b)
{
    content_stop(b->content);
    if (b->reader != NULL)
        b->reader->stop(b);
    while (b->question_count > 0) {
        struct bench_question q = b->questions[--b->question_count];
        q.fn(q.arg, &(struct lookup_answer){.rc = RC_AGAIN});
    }
    if (b->batch != NULL) {
        struct batch *batch = b->batch;
        b->batch = NULL;
        batch->answered(batch->owner, batch, RC_FATAL);
    }
    assert_true(content_stopped(b->content));
    if (b->reader != NULL)
        b->reader->close(b);
    content_free(b->content);
    gateways_free(b->gateways);
    b->content = NULL;
}

void content_bench_read_by(struct content_bench *b, const struct bench_reader *reader)
{
    end_process(b);
    b->reader = reader;
    start_process(b);
}

void content_bench_crash(struct content_bench *b)
{
    end_process(b);
    store_close(b->store);
    b->desk.sent_count = 0;
    open_store(b);
    start_process(b);
}

int content_bench_set_up(void **state)
{
    struct content_bench *b = calloc(1, sizeof *b);
    unsigned applied;
    http_desk_init(&b->desk);
    b->desk.clock.mono_us = 1000 * DESK_MS;
    fixture_open(&b->fixture, both_stores_kind);
    assert_ok(store_open(b->fixture.url, STORE_WRITE, &b->store, &b->err));
    assert_ok(store_migrate(b->store, &applied, &b->err));
    store_close(b->store);
    b->commit = commit_new();
    b->pool = batch_pool_new(1, 1 << 20);
    b->env = (struct source_env){.runtime = &b->desk.clock.runtime,
                                 .pool = b->pool,
                                 .submit = submit,
                                 .submit_arg = b,
                                 .ask = ask,
                                 .ask_arg = b};
    b->concurrency = 20;
    b->span = 64;
    open_store(b);
    start_process(b);
    *state = b;
    both_stores_executed++;
    return 0;
}

int content_bench_tear_down(void **state)
{
    struct content_bench *b = *state;
    end_process(b);
    store_close(b->store);
    http_desk_deinit(&b->desk);
    batch_pool_free(b->pool);
    commit_free(b->commit);
    ipfs_blocks_free(&b->blocks);
    fixture_close(&b->fixture);
    free(b);
    return 0;
}

void content_bench_wipe(struct content_bench *b)
{
    end_process(b);
    assert_ok(b->store->ops->script(b->store,
                                    "DELETE FROM ipfs_cache; DELETE FROM owed; DELETE FROM meta; "
                                    "DELETE FROM cursors; DELETE FROM chain_blocks; "
                                    "DELETE FROM document_refs",
                                    &b->err));
    b->desk.sent_count = 0;
    start_process(b);
}

void content_bench_settle(struct content_bench *b)
{
    http_desk_pass(&b->desk, 0);
    while (b->question_count > 0) {
        answer_question(b);
        http_desk_pass(&b->desk, 0);
    }
}

void content_bench_pass(struct content_bench *b, int64_t us)
{
    http_desk_pass(&b->desk, us);
    content_bench_settle(b);
}

/* ---- what happens to it ---- */

const char *content_bench_cid(struct content_bench *b, char letter)
{
    return block_of(b, letter)->cid;
}

enum rc content_bench_block(struct content_bench *b, uint64_t number, const char *letters,
                            char fork)
{
    struct content_ref refs[64];
    char hash[32], parent[32];
    size_t count = strlen(letters);
    assert_true(count <= 64);
    for (size_t i = 0; i < count; i++)
        document_of(b, letters[i]);
    for (size_t i = 0; i < count; i++)
        refs[i] = (struct content_ref){.name = bytes_of(block_of(b, letters[i])->cid)};
    snprintf(hash, sizeof hash, "h%llu%c", (unsigned long long)number, fork);
    snprintf(parent, sizeof parent, "h%llu%c", (unsigned long long)number - 1, fork);
    struct content_block block = {number,       bytes_of(hash), bytes_of(parent),
                                  BYTES_ABSENT, refs,           count};
    enum rc rc = content_take(b->content, &block);
    content_bench_settle(b);
    return rc;
}

void content_bench_undo(struct content_bench *b, uint64_t after, char fork)
{
    char hash[32];
    snprintf(hash, sizeof hash, "h%llu%c", (unsigned long long)after, fork);
    content_undo(b->content, after, bytes_of(hash), BYTES_ABSENT);
    content_bench_settle(b);
}

static int find_request(struct content_bench *b, char letter, int from)
{
    const char *cid = block_of(b, letter)->cid;
    for (size_t i = (size_t)from; i < b->desk.sent_count; i++)
        if (b->desk.sent[i].done != NULL && strstr(b->desk.sent[i].url, cid) != NULL)
            return (int)i;
    return -1;
}

unsigned content_bench_asking(struct content_bench *b, char letter)
{
    unsigned count = 0;
    for (int at = -1; (at = find_request(b, letter, at + 1)) >= 0;)
        count++;
    return count;
}

void content_bench_give(struct content_bench *b, char letter)
{
    int at = find_request(b, letter, 0);
    if (at < 0)
        fail_msg("nobody asks for %c", letter);
    http_desk_answer_bytes(&b->desk, (size_t)at,
                           (struct http_response){.status = 200, .retry_after_ms = -1},
                           text_bytes(&block_of(b, letter)->bytes));
    content_bench_settle(b);
}

void content_bench_refuse(struct content_bench *b, char letter, int status)
{
    for (int at; (at = find_request(b, letter, 0)) >= 0;) {
        http_desk_answer(&b->desk, (size_t)at, status, "no");
        content_bench_settle(b);
    }
}

int64_t content_bench_number(struct content_bench *b, const char *sql)
{
    int64_t value;
    assert_ok(store_query_int(b->store, sql, -1, &value, &b->err));
    return value;
}

int64_t content_bench_position(struct content_bench *b)
{
    return content_bench_number(b, "SELECT block_number FROM meta WHERE id = 'content'");
}

int64_t content_bench_holes(struct content_bench *b)
{
    struct verification verification;
    struct json_doc *doc = json_doc_new(1 << 16, JSON_DEPTH_MAX);
    int64_t holes = -1;
    assert_ok(verification_run(b->store, cursor_state_check, doc, &verification, &b->err));
    for (size_t i = 0; i < verification.count; i++) {
        if (strcmp(verification.checks[i].name, "content") == 0)
            holes = verification.checks[i].failures;
        else if (verification.checks[i].failures > 0)
            fail_msg("%s: %s", verification.checks[i].name, verification.checks[i].first);
    }
    json_doc_free(doc);
    return holes;
}

bool content_bench_stored(struct content_bench *b, char letter)
{
    char sql[512];
    snprintf(sql, sizeof sql,
             "SELECT CASE WHEN data IS NOT NULL AND NOT is_errored AND length(data) = 10 THEN 1 "
             "ELSE 0 END FROM ipfs_cache WHERE uri = 'ipfs://%s'",
             block_of(b, letter)->cid);
    return content_bench_number(b, sql) == 1;
}
