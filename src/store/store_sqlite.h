/* SPDX-License-Identifier: Apache-2.0
 *
 * store_sqlite.h - what the parts of the SQLite store share.
 *
 * The writer keeps every write statement prepared. A statement reads its records as a table whose
 * rows are the records themselves (`struct sqlite_rows`); nothing is bound or copied. `flock` on a
 * file beside the database keeps a second process out; it is released by the kernel however the
 * first one ends. */
#ifndef STORE_SQLITE_H
#define STORE_SQLITE_H

#include "store/row_table.h"
#include "store/store.h"

#include <sqlite3.h>

/* The records that the statement being run is about. */
struct sqlite_rows {
    const struct record *const *records;
    size_t count;
};

struct sqlite_rows_kind {
    enum record_id kind;
    const struct sqlite_rows *rows;
};

struct store_sqlite {
    struct store store;
    sqlite3 *db;
    char *path;
    int64_t query_end_us; /* monotonic; when the query under way is to end */
    int lock_fd;          /* -1 in a reader */
    int checkpoint_pages; /* the log's length at which it is moved into the database */
    int due_pages;        /* where it is tried next, and */
    int log_pages;        /* how long the log was last */
    bool broken;          /* that failed for good; `broken_err` says how */
    struct err broken_err;
    sqlite3_stmt *begin, *commit, *bump;
    sqlite3_stmt *writes[STATEMENTS_MAX + ROW_TABLES_MAX * ROW_TABLE_STATEMENTS];
    size_t write_count; /* of them are prepared */
    struct sqlite_rows rows;
    struct sqlite_rows_kind row_kinds[RECORD_ID_COUNT];
};

/* The code for what SQLite answered, with its sentence. */
enum rc sqlite_fail(struct store_sqlite *store, int code, const char *doing, struct err *err);
enum rc sqlite_prepare(struct store_sqlite *store, const char *sql, sqlite3_stmt **statement,
                       struct err *err);
void sqlite_bind(sqlite3_stmt *statement, int at, const struct field *field);
/* Ends the transaction that a failure left open. */
void sqlite_abandon(struct store_sqlite *store);
enum rc sqlite_write(struct store *store, const struct commit *commit, struct err *err);
/* Makes the words that both stores have known to this connection; answers SQLite's code. */
int sqlite_words_declare(struct store_sqlite *store);
/* Makes the tables of records known to this connection; answers SQLite's code. */
int sqlite_rows_declare(struct store_sqlite *store);
void sqlite_finalize_writes(struct store_sqlite *store);

#endif
