/* SPDX-License-Identifier: Apache-2.0
 *
 * store_sqlite.h - what the parts of the SQLite store share.
 *
 * The writer keeps every write statement prepared that a commit has needed, and every connection
 * the queries it ran last. A write statement reads its records as a table whose rows are the
 * records themselves (`struct sqlite_rows`); nothing is bound or copied. `flock` on a file beside
 * the database keeps a second process out; it is released by the kernel however the first one ends.
 *
 * A commit goes into the log. From there it is moved into the database on a connection of its own
 * (STORE_MOVE) while the writer goes on; the next commit after the log was moved whole begins it
 * anew. Where that does not keep up the writer moves the log itself, after a commit: its length is
 * bounded whoever reads or writes how fast.
 *
 * What stands beside the store (STORE_BESIDE) is a file of its own, which nobody waits for the disk
 * for. One that a power cut has damaged is made anew. */
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

#define SQLITE_CACHE_SIZE  32
#define SQLITE_BUSY_MS_MAX 250

/* A query's statement, ready to be run again; NULL: the place is free. */
struct sqlite_cached {
    sqlite3_stmt *statement;
    uint64_t hash; /* of its text */
    uint64_t used; /* when it was last given back, counted in uses */
};

struct store_sqlite {
    struct store store;
    sqlite3 *db;
    char *path;
    int64_t query_end_us; /* monotonic; when the query under way is to end */
    int lock_fd;          /* -1 in a reader */
    int move_pages;       /* the log's length at which it is to be moved beside the writer */
    int move_due_pages;   /* where that is asked for next */
    int checkpoint_pages; /* the log's length at which the writer moves it */
    int due_pages;        /* where it is tried next, and */
    int log_pages;        /* how long the log was last */
    bool broken;          /* that failed for good; `broken_err` says how */
    struct err broken_err;
    sqlite3_stmt *begin, *commit, *bump;
    sqlite3_stmt *writes[STATEMENTS_MAX + ROW_TABLES_MAX * ROW_TABLE_STATEMENTS]; /* or NULL yet */
    struct sqlite_cached cache[SQLITE_CACHE_SIZE];
    uint64_t cache_uses;
    struct sqlite_rows rows;
    struct sqlite_rows_kind row_kinds[RECORD_ID_COUNT];
};

/* The code for what SQLite answered, with its sentence. */
enum rc sqlite_fail(struct store_sqlite *store, int code, const char *doing, struct err *err);
enum rc sqlite_prepare(struct store_sqlite *store, const char *sql, sqlite3_stmt **statement,
                       struct err *err);
/* A statement for this text, prepared before or now. It is the caller's until it is given back,
 * which the least recently used one pays for when there is no room. */
enum rc sqlite_take_statement(struct store_sqlite *store, const char *sql, sqlite3_stmt **statement,
                              struct err *err);
void sqlite_give_statement(struct store_sqlite *store, sqlite3_stmt *statement);
void sqlite_empty_cache(struct store_sqlite *store);
void sqlite_bind(sqlite3_stmt *statement, int at, const struct field *field);
/* Ends the transaction that a failure left open. */
void sqlite_abandon(struct store_sqlite *store);
enum rc sqlite_write(struct store *store, const struct commit *commit, struct err *err);
/* The copy that a backup is. */
enum rc sqlite_copy(struct store *store, const char *path, struct err *err);
/* The program stops: what reads for long is to end. */
bool sqlite_is_to_stop(const struct store_sqlite *store);
/* Looks at the log after each commit of this connection, and moves it when it is long. */
void sqlite_watch_log(struct store_sqlite *store);
bool sqlite_log_is_due(struct store *store);
/* Sets up a connection that moves the log, and moves it. */
enum rc sqlite_set_up_mover(struct store_sqlite *store, struct err *err);
enum rc sqlite_move_log(struct store *store, bool *whole, struct err *err);
/* The file that an address names. */
const char *sqlite_path_of(const char *url);
/* The file beside the store at `path`. */
void sqlite_path_beside(const char *path, struct text *out);
/* Sets up a connection to it; RC_FATAL: it is damaged. */
enum rc sqlite_set_up_beside(struct store_sqlite *store, struct err *err);
enum rc sqlite_mend_beside(const char *url, bool *anew, struct err *err);
/* Makes the words that both stores have known to this connection; answers SQLite's code. */
int sqlite_words_declare(struct store_sqlite *store);
/* Makes the tables of records known to this connection; answers SQLite's code. */
int sqlite_rows_declare(struct store_sqlite *store);
void sqlite_finalize_writes(struct store_sqlite *store);

#endif
