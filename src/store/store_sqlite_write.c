/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_sqlite.h"

#include "store/commit.h"
#include "sys/crashpoint.h"

#include <assert.h>

#define BUMP_SQL                                                                                   \
    "UPDATE engine SET commit_seq = commit_seq + 1, next_n = ?1 "                                  \
    "WHERE id = 1 AND epoch = ?2 AND commit_seq = ?3"

/* Most stores never see most kinds of records: a statement is prepared by the first commit that has
 * something for it. */
static enum rc prepare_statement(struct store_sqlite *store, size_t which, struct err *err)
{
    struct text sql = {0};
    uint8_t params[STATEMENT_PARAMS_MAX];
    assert(which < sizeof store->writes / sizeof store->writes[0]);
    statement_expand(statement_at(store->store.declared, which), DIALECT_SQLITE, &sql, params);
    enum rc rc = sqlite_prepare(store, text_string(&sql), &store->writes[which], err);
    text_free(&sql);
    return rc;
}

/* Prepares what every commit needs at the first one: the schema exists by then. */
static enum rc prepare_writes(struct store_sqlite *store, struct err *err)
{
    int code = sqlite_rows_declare(store);
    enum rc rc = code == SQLITE_OK ? RC_OK : sqlite_fail(store, code, "cannot prepare", err);
    if (rc == RC_OK)
        rc = sqlite_prepare(store, BUMP_SQL, &store->bump, err);
    if (rc == RC_OK)
        rc = sqlite_prepare(store, "COMMIT", &store->commit, err);
    if (rc == RC_OK)
        rc = sqlite_prepare(store, "BEGIN IMMEDIATE", &store->begin, err);
    if (rc != RC_OK)
        sqlite_finalize_writes(store);
    return rc;
}

void sqlite_finalize_writes(struct store_sqlite *store)
{
    sqlite3_stmt **fixed[] = {&store->begin, &store->commit, &store->bump};
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) {
        sqlite3_finalize(*fixed[i]);
        *fixed[i] = NULL;
    }
    for (size_t i = 0; i < sizeof store->writes / sizeof store->writes[0]; i++) {
        sqlite3_finalize(store->writes[i]);
        store->writes[i] = NULL;
    }
}

static int run(sqlite3_stmt *statement)
{
    int code = sqlite3_step(statement);
    int reset = sqlite3_reset(statement);
    assert(code != SQLITE_ROW);
    return code == SQLITE_DONE ? SQLITE_OK : reset;
}

/* Runs one statement over the records it is about, at once or one by one. */
static enum rc write_statement(struct store_sqlite *store, const struct commit *commit,
                               size_t which, struct err *err)
{
    const struct statement *about = statement_at(store->store.declared, which);
    const struct record *chosen[COMMIT_RECORDS_MAX * 2];
    size_t count = statement_choose(about, commit, chosen);
    if (count == 0)
        return RC_OK;
    enum rc rc = store->writes[which] == NULL ? prepare_statement(store, which, err) : RC_OK;
    if (rc != RC_OK)
        return rc;
    size_t step = about->each ? 1 : count;
    sqlite3_stmt *statement = store->writes[which];
    int code = SQLITE_OK;
    if (sqlite3_bind_parameter_count(statement) > 0)
        sqlite3_bind_int64(statement, 1, commit->seq);
    for (size_t at = 0; at < count && code == SQLITE_OK; at += step) {
        store->rows = (struct sqlite_rows){chosen + at, step};
        code = run(statement);
    }
    store->rows = (struct sqlite_rows){0};
    return code == SQLITE_OK ? RC_OK : sqlite_fail(store, code, "cannot write", err);
}

static enum rc write_rows(struct store_sqlite *store, const struct commit *commit, struct err *err)
{
    size_t count = statement_count(store->store.declared);
    for (size_t i = 0; i < count; i++) {
        if (statement_at(store->store.declared, i)->kind == RECORD_CURSOR)
            crashpoint(CRASH_AFTER_ROWS);
        enum rc rc = write_statement(store, commit, i, err);
        if (rc != RC_OK)
            return rc;
    }
    crashpoint(CRASH_AFTER_CURSOR);
    return RC_OK;
}

/* Moves the commit number on; nobody else may have done so in our place. */
static enum rc bump(struct store_sqlite *store, const struct commit *commit, struct err *err)
{
    sqlite3_bind_int64(store->bump, 1, commit->next_n);
    sqlite3_bind_int64(store->bump, 2, commit->epoch);
    sqlite3_bind_int64(store->bump, 3, commit->seq - 1);
    int code = run(store->bump);
    if (code != SQLITE_OK)
        return sqlite_fail(store, code, "cannot write", err);
    if (sqlite3_changes(store->db) != 1)
        return err_set(err, RC_FATAL, "another process has taken this store over (%s)",
                       store->path);
    return RC_OK;
}

enum rc sqlite_write(struct store *base, const struct commit *commit, struct err *err)
{
    struct store_sqlite *store = (struct store_sqlite *)base;
    assert(base->ops == &store_sqlite_ops && store->lock_fd >= 0);
    if (store->broken)
        return err_set(err, RC_FATAL, "%s", store->broken_err.text);
    enum rc rc = store->begin == NULL ? prepare_writes(store, err) : RC_OK;
    if (rc != RC_OK)
        return rc;
    int code = run(store->begin);
    if (code != SQLITE_OK)
        return sqlite_fail(store, code, "cannot begin", err);
    rc = write_rows(store, commit, err);
    if (rc == RC_OK)
        rc = bump(store, commit, err);
    if (rc == RC_OK && !commit->dry) {
        crashpoint(CRASH_BEFORE_COMMIT);
        code = run(store->commit);
        if (code != SQLITE_OK)
            rc = sqlite_fail(store, code, "cannot commit", err);
        else
            crashpoint(CRASH_AFTER_COMMIT);
    }
    sqlite_abandon(store);
    return rc;
}
