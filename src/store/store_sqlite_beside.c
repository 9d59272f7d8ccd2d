/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_sqlite.h"

#include "sys/clock.h"
#include "sys/thread.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define SCHEMA_VERSION 1 /* the schema's last line says it, too */
#define WAIT_US_MAX    INT64_C(5000000)
#define CHECK_US_MAX   INT64_C(1000000)
#define CHECK_STEPS    4000

void sqlite_path_beside(const char *path, struct text *out)
{
    text_appendf(out, "%s.handles", path);
}

/* Writers of this file hold it for some microseconds, so who meets one tries again at once. */
static int try_again(void *arg, int times)
{
    struct store_sqlite *store = arg;
    if (times == 0)
        store->query_end_us = clock_mono_us() + WAIT_US_MAX;
    thread_yield();
    return clock_mono_us() < store->query_end_us;
}

static const char set_up[] = "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;"
                             "PRAGMA cache_size = -2048; PRAGMA temp_store = MEMORY;"
                             "PRAGMA journal_size_limit = 16777216;";
static const char schema[] = "DROP TABLE IF EXISTS query_handles;"
                             "CREATE TABLE query_handles ("
                             " id INTEGER PRIMARY KEY,"
                             " name BLOB NOT NULL UNIQUE,"
                             " session BLOB NOT NULL,"
                             " version INTEGER NOT NULL,"
                             " opened_us INTEGER NOT NULL,"
                             " used_us INTEGER NOT NULL,"
                             " used_minute INTEGER NOT NULL,"
                             " collection TEXT NOT NULL,"
                             " order_by TEXT NOT NULL,"
                             " filter TEXT NOT NULL,"
                             " page_size INTEGER NOT NULL,"
                             " fence_n INTEGER NOT NULL,"
                             " seq INTEGER NOT NULL,"
                             " total INTEGER NOT NULL,"
                             " count_kind INTEGER NOT NULL,"
                             " page INTEGER NOT NULL,"
                             " walk BLOB NOT NULL);"
                             "CREATE INDEX query_handles_used ON query_handles (used_minute);"
                             "CREATE INDEX query_handles_session ON query_handles (session);"
                             "PRAGMA user_version = 1";

static int read_int(sqlite3 *db, const char *sql, int *value)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    if (code == SQLITE_ROW)
        *value = sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
    return code == SQLITE_ROW ? SQLITE_OK : code;
}

/* Two connections may find an empty file at the same time: who comes second finds the table. */
static int make_table(sqlite3 *db)
{
    int version = 0;
    int code = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    if (code == SQLITE_OK)
        code = read_int(db, "PRAGMA user_version", &version);
    if (code == SQLITE_OK && version != SCHEMA_VERSION)
        code = sqlite3_exec(db, schema, NULL, NULL, NULL);
    int end = sqlite3_exec(db, code == SQLITE_OK ? "COMMIT" : "ROLLBACK", NULL, NULL, NULL);
    return code == SQLITE_OK ? end : code;
}

static int set_up_file(struct store_sqlite *store)
{
    int version = 0;
    sqlite3_busy_handler(store->db, try_again, store);
    int code = sqlite3_exec(store->db, set_up, NULL, NULL, NULL);
    if (code == SQLITE_OK)
        code = read_int(store->db, "PRAGMA user_version", &version);
    if (code == SQLITE_OK && version != SCHEMA_VERSION)
        code = make_table(store->db);
    return code;
}

enum rc sqlite_set_up_beside(struct store_sqlite *store, struct err *err)
{
    int code = set_up_file(store);
    return code == SQLITE_OK ? RC_OK : sqlite_fail(store, code, "cannot open the handles", err);
}

/* ---- after a power cut ---- */

static int is_time_up(void *arg)
{
    return clock_mono_us() > *(const int64_t *)arg;
}

/* A file so large that it cannot be read in time is taken for sound: its reader finds out. */
static bool is_sound(sqlite3 *db)
{
    sqlite3_stmt *statement = NULL;
    int64_t end_us = clock_mono_us() + CHECK_US_MAX;
    sqlite3_progress_handler(db, CHECK_STEPS, is_time_up, &end_us);
    int code = sqlite3_prepare_v2(db, "PRAGMA quick_check(1)", -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    bool sound =
        (code & 0xff) == SQLITE_INTERRUPT ||
        (code == SQLITE_ROW && strcmp((const char *)sqlite3_column_text(statement, 0), "ok") == 0);
    sqlite3_finalize(statement);
    sqlite3_progress_handler(db, 0, NULL, NULL);
    return sound;
}

static void remove_file(const char *path)
{
    static const char *const endings[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        struct text name = {0};
        text_appendf(&name, "%s%s", path, endings[i]);
        unlink(text_string(&name));
        text_free(&name);
    }
}

/* ---- after a backup was put in place ---- */

/* The state of the store that the file was last used beside. Numbers of commits and rows are given
 * again after a backup was put in the store's place, so what is kept of queries is wrong then. Such
 * a copy has another number than the store before it, or, if it was in place before, an epoch that
 * was already seen: each process that claims the store begins the next one. */
struct origin {
    int64_t copy, epoch;
};
static const char origin_table[] = "CREATE TABLE IF NOT EXISTS origin ("
                                   " copy INTEGER NOT NULL,"
                                   " epoch INTEGER NOT NULL);";

static enum rc read_origin(const char *url, struct origin *origin, struct err *err)
{
    struct store *store;
    enum rc rc = store_open(url, STORE_READ, &store, err);
    if (rc == RC_OK)
        rc = store_query_int(store, "SELECT application_id FROM pragma_application_id", 0,
                             &origin->copy, err);
    if (rc == RC_OK)
        rc =
            store_query_int(store, "SELECT epoch FROM engine WHERE id = 1", 0, &origin->epoch, err);
    store_close(store);
    return rc;
}

static bool is_of(struct store *store, const struct origin *origin, struct err *err)
{
    struct text sql = {0};
    int64_t others = 0;
    text_appendf(&sql, "SELECT count(*) FROM origin WHERE copy <> %" PRId64 " OR epoch >= %" PRId64,
                 origin->copy, origin->epoch);
    enum rc rc = store->ops->script(store, origin_table, err);
    if (rc == RC_OK)
        rc = store_query_int(store, text_string(&sql), 0, &others, err);
    text_free(&sql);
    return rc != RC_FATAL && others == 0;
}

static enum rc note_origin(struct store *store, const struct origin *origin, struct err *err)
{
    struct text sql = {0};
    text_appendf(&sql, "%sDELETE FROM origin; INSERT INTO origin VALUES (%" PRId64 ", %" PRId64 ")",
                 origin_table, origin->copy, origin->epoch);
    enum rc rc = store->ops->script(store, text_string(&sql), err);
    text_free(&sql);
    return rc;
}

enum rc sqlite_mend_beside(const char *url, bool *anew, struct err *err)
{
    struct store *store;
    struct origin origin;
    *anew = false;
    enum rc rc = read_origin(url, &origin, err);
    if (rc != RC_OK)
        return rc;
    rc = store_open(url, STORE_BESIDE, &store, err);
    if (rc != RC_OK && rc != RC_FATAL)
        return rc;
    *anew = rc == RC_FATAL || !is_sound(((struct store_sqlite *)store)->db) ||
            !is_of(store, &origin, err);
    if (*anew) {
        struct text path = {0};
        store_close(store);
        sqlite_path_beside(sqlite_path_of(url), &path);
        remove_file(text_string(&path));
        text_free(&path);
        rc = store_open(url, STORE_BESIDE, &store, err);
    }
    if (rc == RC_OK)
        rc = note_origin(store, &origin, err);
    store_close(store);
    return rc;
}
