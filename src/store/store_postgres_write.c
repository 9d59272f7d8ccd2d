/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_postgres.h"

#include "store/commit.h"
#include "sys/crashpoint.h"

#include <assert.h>
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* One commit is one pipeline: BEGIN, the statements over arrays, the bump, COMMIT, one sync; a
 * single round trip. The bump divides by the number of rows it moved, so that a writer that was
 * replaced fails inside the transaction and nothing of it is kept. */
#define BUMP_SQL                                                                                   \
    "WITH moved AS (UPDATE engine SET commit_seq = commit_seq + 1, next_n = $1::int8 "             \
    "WHERE id = 1 AND epoch = $2::int8 AND commit_seq = $3::int8 RETURNING 1) "                    \
    "SELECT 1 / count(*) FROM moved"
#define BUMP_NAME "bump"
/* The server keeps the plan of a prepared statement until somebody analyses its tables. One made
 * while a table was empty reads all of it for every row, so plans are made anew as tables grow:
 * often at first, when a few rows are a great change. What a commit has touched is gone at its end,
 * but not the room it took, from which the server would conclude that it is much and begin its plan
 * elsewhere: so it is told each time, at the beginning of a commit, that there is nothing. */
#define RECOUNT_SQL   "ANALYZE touched_posts, touched_shares"
#define UNPLANNED_MIN 1000
#define UNPLANNED_MAX 16000

/* How far a pipeline got and what came of it. */
struct pipeline {
    struct store_postgres *store;
    size_t sent; /* as many commands as the records need: nothing is kept of each */
    size_t bump; /* which of them it is, to tell whose answer an error is */
    enum rc rc;
    size_t left_out;                                   /* authors that are known to be there */
    const struct record *rows[COMMIT_RECORDS_MAX * 2]; /* what one statement is about */
};

static void put_u32(struct text *out, uint32_t value)
{
    uint32_t big = htobe32(value);
    text_append(out, &big, 4);
}

static void put_u64(struct text *out, uint64_t value)
{
    uint64_t big = htobe64(value);
    text_append(out, &big, 8);
}

static uint32_t element_type(const struct record *row, uint8_t param)
{
    static const uint32_t types[] = {
        [FIELD_INT] = 20, [FIELD_TEXT] = 25, [FIELD_BLOB] = 17, [FIELD_REAL] = 701};
    return types[param == PARAM_N ? FIELD_INT : row->fields[param].type];
}

static void put_element(struct text *out, const struct record *record, uint8_t param)
{
    struct field n = field_int(record->n);
    const struct field *field = param == PARAM_N ? &n : &record->fields[param];
    if (field->null) {
        put_u32(out, UINT32_MAX);
    } else if (field->type == FIELD_INT || field->type == FIELD_REAL) {
        uint64_t bits;
        memcpy(&bits, &field->i, 8);
        put_u32(out, 8);
        put_u64(out, bits);
    } else {
        put_u32(out, (uint32_t)field->b.len);
        text_append(out, field->b.data, field->b.len);
    }
}

/* One binary array parameter: a column of the rows. */
static void put_array(struct text *out, const struct record *const *rows, size_t count,
                      uint8_t param)
{
    text_clear(out);
    put_u32(out, 1); /* dimensions */
    put_u32(out, 1); /* may hold NULLs */
    put_u32(out, element_type(rows[0], param));
    put_u32(out, (uint32_t)count);
    put_u32(out, 1); /* first index */
    for (size_t i = 0; i < count; i++)
        put_element(out, rows[i], param);
}

static void send(struct pipeline *pipeline, const char *name, int count, const char *const *values,
                 const int *lengths)
{
    int binary[STATEMENT_PARAMS_MAX] = {0};
    if (pipeline->rc != RC_OK)
        return;
    for (int i = 0; i < count; i++)
        binary[i] = 1;
    assert(count <= STATEMENT_PARAMS_MAX);
    if (!PQsendQueryPrepared(pipeline->store->connection, name, count, values, lengths, binary, 1))
        pipeline->rc = RC_RETRY;
    pipeline->sent++;
}

static const char *statement_name(size_t which)
{
    static char names[POSTGRES_STATEMENTS_MAX][8];
    snprintf(names[which], sizeof names[which], "w%zu", which);
    return names[which];
}

static void send_rows(struct pipeline *pipeline, const struct record *const *rows, size_t count,
                      size_t which, int64_t seq)
{
    struct store_postgres *store = pipeline->store;
    const char *values[STATEMENT_PARAMS_MAX];
    int lengths[STATEMENT_PARAMS_MAX];
    for (size_t i = 0; i < store->param_counts[which]; i++) {
        struct text *array = &store->arrays[i];
        if (store->params[which][i] == PARAM_SEQ) {
            text_clear(array);
            put_u64(array, (uint64_t)seq);
        } else {
            put_array(array, rows, count, store->params[which][i]);
        }
        values[i] = array->data;
        lengths[i] = (int)array->len;
    }
    send(pipeline, statement_name(which), (int)store->param_counts[which], values, lengths);
    store->unplanned[which] += (uint32_t)count;
}

static struct bytes author_of(const struct record *post)
{
    const struct field *did = &post->fields[POST_DID];
    return did->null ? bytes_make(NULL, 0) : did->b;
}

/* Keeps of the posts in `rows` those by somebody who may not be there yet. */
static size_t leave_out_known(struct pipeline *pipeline, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (!known_keys_hold(&pipeline->store->authors, author_of(pipeline->rows[i])))
            pipeline->rows[kept++] = pipeline->rows[i];
    pipeline->left_out += count - kept;
    return kept;
}

static void learn_authors(struct pipeline *pipeline, const struct commit *commit)
{
    const struct row_tables *declared = pipeline->store->store.declared;
    for (size_t i = 0; i < statement_count(declared); i++) {
        if (!statement_at(declared, i)->authors)
            continue;
        size_t count = statement_choose(statement_at(declared, i), commit, pipeline->rows);
        for (size_t at = 0; at < count; at++)
            known_keys_add(&pipeline->store->authors, author_of(pipeline->rows[at]));
    }
}

static void send_statement(struct pipeline *pipeline, const struct commit *commit, size_t which)
{
    const struct statement *statement = statement_at(pipeline->store->store.declared, which);
    size_t count = statement_choose(statement, commit, pipeline->rows);
    if (statement->authors)
        count = leave_out_known(pipeline, count);
    size_t step = statement->each ? 1 : count;
    for (size_t at = 0; at < count; at += step)
        send_rows(pipeline, &pipeline->rows[at], step, which, commit->seq);
}

static void send_bump(struct pipeline *pipeline, const struct commit *commit)
{
    uint64_t numbers[] = {htobe64((uint64_t)commit->next_n), htobe64((uint64_t)commit->epoch),
                          htobe64((uint64_t)commit->seq - 1)};
    const char *values[] = {(char *)&numbers[0], (char *)&numbers[1], (char *)&numbers[2]};
    const int lengths[] = {8, 8, 8};
    pipeline->bump = pipeline->sent;
    send(pipeline, BUMP_NAME, 3, values, lengths);
}

static void send_replan(struct pipeline *pipeline)
{
    struct store_postgres *store = pipeline->store;
    uint32_t most = 0;
    for (size_t i = 0; i < POSTGRES_STATEMENTS_MAX; i++)
        most = store->unplanned[i] > most ? store->unplanned[i] : most;
    if (most < store->unplanned_max)
        return;
    send(pipeline, "recount", 0, NULL, NULL);
    send(pipeline, "replan", 0, NULL, NULL);
    memset(store->unplanned, 0, sizeof store->unplanned);
    store->unplanned_max *= store->unplanned_max < UNPLANNED_MAX ? 2 : 1;
}

static void send_all(struct pipeline *pipeline, const struct commit *commit)
{
    send(pipeline, "begin", 0, NULL, NULL);
    send_replan(pipeline);
    const struct store_postgres *store = pipeline->store;
    size_t count = statement_count(store->store.declared);
    for (size_t i = 0; i < count; i++) {
        if (statement_at(store->store.declared, i)->kind == RECORD_CURSOR &&
            pipeline->rc == RC_OK) {
            PQflush(store->connection);
            crashpoint(CRASH_AFTER_ROWS);
        }
        send_statement(pipeline, commit, i);
    }
    PQflush(pipeline->store->connection);
    crashpoint(CRASH_AFTER_CURSOR);
    send_bump(pipeline, commit);
    crashpoint(CRASH_BEFORE_COMMIT);
    send(pipeline, commit->dry ? "rollback" : "commit", 0, NULL, NULL);
}

static enum rc prepare(struct store_postgres *store, const char *name, const char *sql,
                       struct err *err)
{
    bool sent = !store->lost && PQsendPrepare(store->connection, name, sql, 0, NULL);
    PGresult *result = sent ? postgres_last(store) : NULL;
    enum rc rc = PQresultStatus(result) == PGRES_COMMAND_OK
                     ? RC_OK
                     : postgres_fail(store, result, "cannot prepare a statement", err);
    PQclear(result);
    return rc;
}

static enum rc prepare_statement(struct store_postgres *store, size_t which, struct err *err)
{
    struct text sql = {0};
    store->param_counts[which] = statement_expand(statement_at(store->store.declared, which),
                                                  DIALECT_POSTGRES, &sql, store->params[which]);
    enum rc rc = prepare(store, statement_name(which), text_string(&sql), err);
    store->ready[which] = rc == RC_OK;
    text_free(&sql);
    return rc;
}

/* Most stores never see most kinds of records: a statement is prepared before the first commit that
 * has something for it. */
static enum rc prepare_needed(struct pipeline *pipeline, const struct commit *commit,
                              struct err *err)
{
    struct store_postgres *store = pipeline->store;
    const struct row_tables *declared = store->store.declared;
    size_t count = statement_count(declared);
    enum rc rc = RC_OK;
    assert(count <= POSTGRES_STATEMENTS_MAX);
    for (size_t i = 0; i < count && rc == RC_OK; i++)
        if (!store->ready[i] &&
            statement_choose(statement_at(declared, i), commit, pipeline->rows) > 0)
            rc = prepare_statement(store, i, err);
    return rc;
}

static enum rc prepare_all(struct store_postgres *store, struct err *err)
{
    /* What an earlier try prepared before it failed is still there. */
    PQclear(postgres_run(store, "DEALLOCATE ALL"));
    postgres_forget_queries(store);
    memset(store->ready, 0, sizeof store->ready);
    enum rc rc = prepare(store, "begin", "BEGIN", err);
    if (rc == RC_OK)
        rc = prepare(store, BUMP_NAME, BUMP_SQL, err);
    if (rc == RC_OK)
        rc = prepare(store, "recount", RECOUNT_SQL, err);
    if (rc == RC_OK)
        rc = prepare(store, "replan", "DISCARD PLANS", err);
    if (rc == RC_OK)
        rc = prepare(store, "commit", "COMMIT", err);
    if (rc == RC_OK)
        rc = prepare(store, "rollback", "ROLLBACK", err);
    memset(store->unplanned, 0, sizeof store->unplanned);
    store->unplanned_max = UNPLANNED_MIN;
    store->prepared = rc == RC_OK;
    return rc;
}

/* Reads one answer per command and the sync's; the first failure is the one that counts. */
static enum rc collect(struct pipeline *pipeline, struct err *err)
{
    struct store_postgres *store = pipeline->store;
    enum rc rc = RC_OK;
    for (size_t i = 0; i < pipeline->sent + 1; i++) {
        PGresult *result = postgres_next(store);
        ExecStatusType status = PQresultStatus(result);
        if (result == NULL)
            rc = rc != RC_OK ? rc : postgres_fail(store, NULL, "lost the connection", err);
        else if (rc == RC_OK && (status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE)) {
            rc = postgres_fail(store, result, "cannot write", err);
            if (i == pipeline->bump && rc == RC_REJECT)
                rc = err_set(err, RC_FATAL, "another process has taken this store over");
        }
        PQclear(result);
        if (status == PGRES_PIPELINE_SYNC)
            break;
        if (result == NULL)
            return rc;
        PQclear(postgres_next(store)); /* the NULL that ends one command's answers */
    }
    return rc;
}

static enum rc run_pipeline(struct pipeline *pipeline, const struct commit *commit, struct err *err)
{
    struct store_postgres *store = pipeline->store;
    pipeline->sent = pipeline->left_out = 0;
    pipeline->bump = SIZE_MAX; /* none yet */
    pipeline->rc = RC_OK;
    if (!PQenterPipelineMode(store->connection))
        return postgres_fail(store, NULL, "cannot write", err);
    send_all(pipeline, commit);
    if (pipeline->rc == RC_OK && !PQpipelineSync(store->connection))
        pipeline->rc = RC_RETRY;
    enum rc rc = pipeline->rc == RC_OK ? collect(pipeline, err)
                                       : postgres_fail(store, NULL, "cannot write", err);
    if (rc == RC_OK && !commit->dry)
        crashpoint(CRASH_AFTER_COMMIT);
    PQexitPipelineMode(store->connection);
    if (PQtransactionStatus(store->connection) == PQTRANS_INERROR)
        PQclear(postgres_run(store, "ROLLBACK"));
    return rc;
}

enum rc postgres_write(struct store *base, const struct commit *commit, struct err *err)
{
    struct store_postgres *store = (struct store_postgres *)base;
    struct pipeline pipeline;
    pipeline.store = store;
    assert(base->ops == &store_postgres_ops && store->mode == STORE_WRITE);
    if (!store->locked)
        return err_set(err, RC_RETRY, POSTGRES_NOT_LOCKED);
    enum rc rc = store->prepared ? RC_OK : prepare_all(store, err);
    if (rc == RC_OK)
        rc = prepare_needed(&pipeline, commit, err);
    if (rc != RC_OK)
        return rc;
    rc = run_pipeline(&pipeline, commit, err);
    if (rc == RC_REJECT && pipeline.left_out > 0) {
        /* It may not be the rows: somebody may have taken away who wrote them. */
        known_keys_clear(&store->authors);
        rc = run_pipeline(&pipeline, commit, err);
    }
    if (rc == RC_OK && !commit->dry)
        learn_authors(&pipeline, commit);
    return rc;
}
