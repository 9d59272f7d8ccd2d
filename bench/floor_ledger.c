/* SPDX-License-Identifier: Apache-2.0 */
#include "floor_ledger.h"

#include "base/bytes.h"
#include "stopwatch.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BEGIN, ROW, CURSOR, COVERAGE, SESSION, TOTALS, ENGINE, COMMIT, STATEMENTS };
#define COLUMNS    12
#define SEQ_COLUMN 1

static const char *const texts[STATEMENTS] = {
    [BEGIN] = "BEGIN IMMEDIATE",
    [ROW] = "INSERT INTO raw_transactions (n, seq, account_id, provider_name, stream, event_id, "
            "hash, block, timestamp_us, status, provider_data, normalized_data) "
            "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    [CURSOR] = "UPDATE cursors SET state = ?1, seq = ?2",
    [COVERAGE] = "UPDATE coverage SET hi = hi + 1",
    [SESSION] = "UPDATE import_sessions SET imported = imported + ?1, seq = ?2",
    [TOTALS] = "UPDATE session_streams SET imported = imported + ?1, batches = batches + 1",
    [ENGINE] = "UPDATE engine SET commit_seq = ?1 WHERE id = 1",
    [COMMIT] = "COMMIT",
};

struct value {
    int type;
    union {
        sqlite3_int64 number;
        struct {
            size_t at, len; /* in `bytes` */
        };
    };
};

struct floor_ledger {
    char *path;
    struct value *values; /* COLUMNS for each row, in the order of their numbers */
    size_t rows, capacity;
    struct text bytes, state;
};

static sqlite3 *db;
static sqlite3_stmt *prepared[STATEMENTS];

static void check(int code)
{
    if (code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW)
        return;
    fprintf(stderr, "floor: %s\n", sqlite3_errmsg(db));
    abort();
}

static void run(const char *sql)
{
    check(sqlite3_exec(db, sql, NULL, NULL, NULL));
}

/* ---- what an import has left ---- */

static void keep(struct floor_ledger *floor, sqlite3_stmt *row)
{
    if (floor->rows == floor->capacity) {
        floor->capacity = floor->capacity == 0 ? 4096 : floor->capacity * 2;
        floor->values =
            memory_resize(floor->values, floor->capacity * COLUMNS * sizeof *floor->values);
    }
    struct value *values = &floor->values[floor->rows++ * COLUMNS];
    for (int i = 0; i < COLUMNS; i++) {
        values[i].type = sqlite3_column_type(row, i);
        if (values[i].type == SQLITE_INTEGER) {
            values[i].number = sqlite3_column_int64(row, i);
        } else if (values[i].type != SQLITE_NULL) {
            const void *data = sqlite3_column_blob(row, i);
            values[i].len = (size_t)sqlite3_column_bytes(row, i);
            values[i].at = floor->bytes.len;
            text_append(&floor->bytes, data, values[i].len);
        }
    }
}

struct floor_ledger *floor_ledger_load(const char *path)
{
    struct floor_ledger *floor = memory_new_zeroed(1, sizeof *floor);
    sqlite3_stmt *statement;
    floor->path = memory_copy_string(path);
    check(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL));
    check(sqlite3_prepare_v2(db,
                             "SELECT n, seq, account_id, provider_name, stream, event_id, hash, "
                             "block, timestamp_us, status, provider_data, normalized_data "
                             "FROM raw_transactions ORDER BY n",
                             -1, &statement, NULL));
    while (sqlite3_step(statement) == SQLITE_ROW)
        keep(floor, statement);
    check(sqlite3_finalize(statement));
    check(sqlite3_prepare_v2(db, "SELECT state FROM cursors", -1, &statement, NULL));
    check(sqlite3_step(statement));
    text_append(&floor->state, sqlite3_column_text(statement, 0),
                (size_t)sqlite3_column_bytes(statement, 0));
    check(sqlite3_finalize(statement));
    check(sqlite3_close(db));
    return floor;
}

/* ---- writing it ---- */

static void step(int which)
{
    check(sqlite3_step(prepared[which]));
    sqlite3_reset(prepared[which]);
}

static void write_row(const struct floor_ledger *floor, const struct value *values)
{
    for (int i = 0; i < COLUMNS; i++) {
        const char *data = floor->bytes.data + values[i].at;
        if (values[i].type == SQLITE_INTEGER)
            sqlite3_bind_int64(prepared[ROW], i + 1, values[i].number);
        else if (values[i].type == SQLITE_TEXT)
            sqlite3_bind_text(prepared[ROW], i + 1, data, (int)values[i].len, SQLITE_STATIC);
        else if (values[i].type == SQLITE_BLOB)
            sqlite3_bind_blob(prepared[ROW], i + 1, data, (int)values[i].len, SQLITE_STATIC);
        else
            sqlite3_bind_null(prepared[ROW], i + 1);
    }
    step(ROW);
}

/* The rows from `first` on that one transaction brought; answers the first that it did not. */
static size_t write_commit(const struct floor_ledger *floor, size_t first)
{
    sqlite3_int64 seq = floor->values[first * COLUMNS + SEQ_COLUMN].number;
    size_t next = first;
    step(BEGIN);
    for (; next < floor->rows && floor->values[next * COLUMNS + SEQ_COLUMN].number == seq; next++)
        write_row(floor, &floor->values[next * COLUMNS]);
    sqlite3_bind_text(prepared[CURSOR], 1, floor->state.data, (int)floor->state.len, SQLITE_STATIC);
    sqlite3_bind_int64(prepared[CURSOR], 2, seq);
    step(CURSOR);
    step(COVERAGE);
    sqlite3_bind_int64(prepared[SESSION], 1, (sqlite3_int64)(next - first));
    sqlite3_bind_int64(prepared[SESSION], 2, seq);
    step(SESSION);
    sqlite3_bind_int64(prepared[TOTALS], 1, (sqlite3_int64)(next - first));
    step(TOTALS);
    sqlite3_bind_int64(prepared[ENGINE], 1, seq);
    step(ENGINE);
    step(COMMIT);
    return next;
}

/* What the rows refer to, and what every commit updates. */
static void copy_around(const struct floor_ledger *floor)
{
    char *attach = sqlite3_mprintf("ATTACH %Q AS imported", floor->path);
    run(attach);
    sqlite3_free(attach);
    run("INSERT INTO account SELECT * FROM imported.account;"
        "INSERT INTO import_sessions SELECT * FROM imported.import_sessions;"
        "INSERT INTO session_streams SELECT * FROM imported.session_streams;"
        "INSERT INTO coverage SELECT * FROM imported.coverage;"
        "INSERT INTO cursors SELECT * FROM imported.cursors;");
}

static void compare_rows(void)
{
    sqlite3_stmt *statement;
    check(sqlite3_prepare_v2(db,
                             "SELECT (SELECT count(*) FROM (SELECT * FROM main.raw_transactions "
                             "EXCEPT SELECT * FROM imported.raw_transactions)) + (SELECT count(*) "
                             "FROM imported.raw_transactions) - (SELECT count(*) FROM "
                             "main.raw_transactions)",
                             -1, &statement, NULL));
    check(sqlite3_step(statement));
    if (sqlite3_column_int64(statement, 0) != 0) {
        fprintf(stderr, "floor: the two sides did not write the same rows\n");
        abort();
    }
    check(sqlite3_finalize(statement));
}

double floor_ledger_write(const struct floor_ledger *floor, const char *path)
{
    check(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL));
    copy_around(floor);
    run("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;"
        "PRAGMA wal_autocheckpoint = 10000; PRAGMA journal_size_limit = 67108864;"
        "PRAGMA cache_size = -8192; PRAGMA temp_store = MEMORY;");
    double start = seconds_now();
    for (int i = 0; i < STATEMENTS; i++)
        check(sqlite3_prepare_v3(db, texts[i], -1, SQLITE_PREPARE_PERSISTENT, &prepared[i], NULL));
    for (size_t at = 0; at < floor->rows;)
        at = write_commit(floor, at);
    double took = seconds_now() - start;
    for (int i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(prepared[i]);
    compare_rows();
    check(sqlite3_close(db));
    return took;
}

void floor_ledger_free(struct floor_ledger *floor)
{
    free(floor->path);
    free(floor->values);
    text_free(&floor->bytes);
    text_free(&floor->state);
    free(floor);
}
