/* SPDX-License-Identifier: Apache-2.0
 *
 * store_postgres.h - what the parts of the PostgreSQL store share.
 *
 * The writer's connection holds an advisory lock, which the server releases however the process
 * ends; the epoch in the engine row fences a writer that lost its connection and was replaced.
 * Everything a connection has prepared is gone with it, so `generation` counts connections. */
#ifndef STORE_POSTGRES_H
#define STORE_POSTGRES_H

#include "store/known_keys.h"
#include "store/row_table.h"
#include "store/store.h"

#include <libpq-fe.h>

#define POSTGRES_STATEMENTS_MAX (STATEMENTS_MAX + ROW_TABLES_MAX * ROW_TABLE_STATEMENTS)

#define POSTGRES_SLOTS 64

#define POSTGRES_NOT_LOCKED "PostgreSQL: another connection holds the writer's lock"

/* A query that was asked before, on this connection. */
struct postgres_slot {
    uint64_t hash;
    char *sql; /* NULL: the slot is free */
    Oid *types;
    size_t type_count;
    uint64_t used;
    bool prepared;
};

struct store_postgres {
    struct store store;
    char *url;
    enum store_mode mode;
    bool several; /* servers are named by the address */
    PGconn *connection;
    bool lost; /* the server did not answer in time: this connection is done with */
    int64_t answer_us_max;
    int64_t soon_us;  /* so long the end of an answer is waited for before it is cancelled */
    bool locked;      /* this connection holds the writer's lock */
    int64_t limit_us; /* what this connection was told of query_us_max, and */
    bool one_plan;    /* of one_plan, for reading */
    bool prepared;    /* what every commit needs is prepared on this connection, ... */
    bool ready[POSTGRES_STATEMENTS_MAX]; /* ... and these of the write statements are */
    uint8_t params[POSTGRES_STATEMENTS_MAX][STATEMENT_PARAMS_MAX];
    size_t param_counts[POSTGRES_STATEMENTS_MAX];
    uint32_t unplanned[POSTGRES_STATEMENTS_MAX]; /* rows since the server made its plans */
    uint32_t unplanned_max;                      /* of one statement, before it makes them anew */
    struct known_keys authors; /* whose rows this connection has stored, or found */
    struct text arrays[STATEMENT_PARAMS_MAX];
    struct postgres_slot slots[POSTGRES_SLOTS]; /* what was asked last */
    uint64_t slot_uses;
};

/* The parameters of a query, as the library takes them. */
struct postgres_values {
    size_t count;
    Oid types[STORE_PARAMS_MAX];
    const char *values[STORE_PARAMS_MAX];
    int lengths[STORE_PARAMS_MAX], formats[STORE_PARAMS_MAX];
};

/* Sends a query, prepared when it was asked before; false: the connection is no good. */
bool postgres_send(struct store_postgres *store, const char *sql,
                   const struct postgres_values *values);
/* A new connection has nothing prepared. */
void postgres_forget_queries(struct store_postgres *store);

/* What a failed result, or a lost connection (`result` NULL), means. Classes 22, 23 and 54 (a key
 * too long for its index) are the row's fault; lost connections, shutdowns, full disks and a server
 * that turned read-only pass. */
enum rc postgres_fail(struct store_postgres *store, const PGresult *result, const char *doing,
                      struct err *err);
bool postgres_succeeded(const PGresult *result);
/* The next answer; NULL at the end of a command's answers, and when none came in time, which makes
 * the connection a lost one. */
PGresult *postgres_next(struct store_postgres *store);
/* Has the server end what it is doing; its answers are still to be read. */
void postgres_cancel(struct store_postgres *store);
/* Whether the next part of an answer is there, or comes in a moment: to cancel costs more. */
bool postgres_answers_soon(struct store_postgres *store);
/* All answers to what was sent; the last one, which is the failure if there was one. */
PGresult *postgres_last(struct store_postgres *store);
/* Runs a text of one or more statements, as postgres_last() answers it. */
PGresult *postgres_run(struct store_postgres *store, const char *sql);
/* Handles are numbered by a sequence that is not logged, like their table. What a standby has of it
 * is empty, and PostgreSQL 15 cannot read that once the standby was promoted: it is made anew. */
must_check enum rc postgres_set_up_beside(struct store_postgres *store, struct err *err);
enum rc postgres_write(struct store *store, const struct commit *commit, struct err *err);

#endif
