/* SPDX-License-Identifier: Apache-2.0
 *
 * store.h - one connection to the database, SQLite or PostgreSQL alike.
 *
 * Always holds: a commit is written whole or not at all, rows and cursors together (I2); it is
 * refused when another process has taken the store over (I8). Text is compared bytewise and NULL
 * sorts lowest on both.
 *
 * A connection for writing is held by one thread of one process; a second process is refused while
 * the first lives. Connections for reading are as many as wanted, one thread each; they never block
 * the writer. SQL handed to `store_query` is written once for both: parameters are ?1, ?2, ...,
 * COLLATE "C" compares text by its bytes and "position"(whole, part) is 0 when a part is not there.
 *
 * Beside the store stands the table query_handles: a file of its own next to SQLite's, an unlogged
 * table of PostgreSQL. It is read and written by `store_query` on connections of its own, as many
 * as wanted, outside of commits and without waiting for the disk. */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "record.h"
#include "store/migration.h"

#define STORE_PARTIAL ".tidemark-partial"

struct commit;
struct row_tables;

#define STORE_PARAMS_MAX 320 /* of one query */

enum store_mode {
    STORE_READ,
    STORE_WRITE,
    STORE_BUILD,  /* for `build` alone, which changes no rows */
    STORE_MOVE,   /* for `move_log` alone, which changes none either */
    STORE_BESIDE, /* what outlives this process and may be lost with the machine: see above */
};

/* Where the store's history stands. */
struct store_position {
    int64_t epoch;      /* which process may write */
    int64_t commit_seq; /* commits so far */
    int64_t next_n;     /* the next ingest number */
};

/* One row; `false` stops the query without error. Columns are borrowed for the call. */
typedef bool row_fn(void *arg, const struct field *columns, size_t count);

struct store {
    const struct store_ops *ops;
    char *url;
    struct store *beside; /* NULL: not asked for yet. See store_beside() */
    int64_t query_us_max; /* of each query of a reader; 0: none. See store_limit_queries() */
    bool one_plan;        /* of the next queries: one for all values, since they walk an index */
    bool patient;         /* the whole store is being read: a server may be silent for long */
    /* Asked now and then during a long read of SQLite, and of a patient one of PostgreSQL: true
     * ends it with RC_AGAIN. NULL: never. */
    bool (*stop)(void *arg);
    void *stop_arg;
    /* The declared collections a commit may write to; NULL: none. The writer's alone. */
    const struct row_tables *declared;
};

struct store_ops {
    const char *name;
    const struct migration *migrations;
    bool near;                       /* in this process: a query more costs no journey */
    const char *size_sql;            /* answers how many bytes it takes */
    const char *const *column_types; /* of declared fields, by their type */
    const char *null_first;          /* after a column of an index: NULL sorts lowest */
    enum rc (*open)(const char *url, enum store_mode mode, struct store **store, struct err *err);
    void (*close)(struct store *store);
    /* Runs a text of several statements in one transaction. */
    enum rc (*script)(struct store *store, const char *sql, struct err *err);
    /* RC_AGAIN: the time for a query is up. */
    enum rc (*query)(struct store *store, const char *sql, const struct field *params,
                     size_t param_count, row_fn *fn, void *arg, struct err *err);
    /* RC_OK: committed. RC_RETRY: not known to be committed; ask `position` before sending again.
     * RC_REJECT: the database refuses a row, nothing was committed. RC_FATAL: stop. */
    enum rc (*write)(struct store *store, const struct commit *commit, struct err *err);
    /* Reads the position, reconnecting first if the connection is gone. */
    enum rc (*position)(struct store *store, struct store_position *position, struct err *err);
    /* Runs one statement in no transaction, while the writer goes on, on a connection that was
     * opened with STORE_BUILD; NULL: only the writer can, and it has to stop for that long. */
    enum rc (*build)(struct store *store, const char *sql, struct err *err);
    /* Whether enough was committed since to have it moved, below; asked on the writing connection
     * after each commit. NULL, with `move_log`: the database sees to that itself. */
    bool (*log_is_due)(struct store *store);
    /* Moves what was committed from the log to its place, while the writer goes on, on a connection
     * that was opened with STORE_MOVE. `whole`: nothing is left. RC_AGAIN: somebody else does it,
     * or no more can be moved while others read. */
    enum rc (*move_log)(struct store *store, bool *whole, struct err *err);
    /* Copies the whole store to a new file while it is in use; RC_REJECT when the file is there
     * already, or when this kind of store is copied by other means. Until it is whole the file's
     * name ends with STORE_PARTIAL; so does what a process that was killed leaves. */
    enum rc (*backup)(struct store *store, const char *path, struct err *err);
    /* Makes what stands beside the store fit for use; `anew`: it was damaged, or of
     * another state of the store, and is empty now. NULL: the database sees to it. */
    enum rc (*mend_beside)(const char *url, bool *anew, struct err *err);
    /* Whether somebody has the store open for writing; appends who it says it is. */
    enum rc (*writer)(struct store *store, bool *alive, struct text *holder, struct err *err);
};

/* What the database at this address is asked for how many bytes it takes; one number. */
const char *store_size_sql(const char *url);

extern const struct store_ops store_sqlite_ops, store_postgres_ops;

/* `sqlite:PATH` or `postgresql://...` (`postgres://` too). RC_REJECT: not a store's address. */
must_check enum rc store_open(const char *url, enum store_mode mode, struct store **store,
                              struct err *err);
void store_close(struct store *store); /* NULL is allowed */

/* This connection's own one to what stands beside the store, opened when it is first asked for; it
 * is closed with it, or by an earlier store_close_beside(). */
must_check enum rc store_beside(struct store *store, struct store **beside, struct err *err);
void store_close_beside(struct store *store);
/* To be called once by whoever claimed the store, before anybody opens what stands beside it. */
must_check enum rc store_mend_beside(const char *url, bool *anew, struct err *err);

/* Brings the schema to this program's version; RC_REJECT when it is newer than the program or was
 * changed by somebody else. `applied` counts what was done. */
must_check enum rc store_migrate(struct store *store, unsigned *applied, struct err *err);
/* The same, and tells how it goes. */
must_check enum rc store_migrate_watched(struct store *store, const struct migration_watch *watch,
                                         unsigned *applied, struct err *err);
/* The version of the schema that this program works with. */
int store_schema_newest(const struct store_ops *ops);
/* RC_OK when the schema is exactly this program's. */
must_check enum rc store_check_schema(struct store *store, struct err *err);
/* Becomes the one writer: raises the epoch, which fences whoever wrote before. `address` is where
 * this process answers, for those who look for it (may be NULL). */
must_check enum rc store_claim(struct store *store, const char *holder, const char *address,
                               int64_t now_us, struct store_position *position, struct err *err);

must_check enum rc store_query(struct store *store, const char *sql, const struct field *params,
                               size_t param_count, row_fn *fn, void *arg, struct err *err);
/* Ends every later query of this reader after `us` with RC_AGAIN: a long read would keep the
 * database from tidying up behind the writer. */
void store_limit_queries(struct store *store, int64_t us);
/* What a driver's `position` reads; RC_FATAL when the store has lost it. */
must_check enum rc store_read_position(struct store *store, struct store_position *position,
                                       struct err *err);
/* The first column of the first row as a number; `fallback` when there is no row or it is NULL. */
must_check enum rc store_query_int(struct store *store, const char *sql, int64_t fallback,
                                   int64_t *value, struct err *err);

#endif
