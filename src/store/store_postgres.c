/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_postgres.h"

#include <assert.h>
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WRITER_LOCK        "7236272618935575"
#define LOCK_WAIT          "3s"
#define WRITE_WAIT         "5s" /* behind somebody's lock; then it is told as trouble */
#define LOCK_NOT_AVAILABLE "55P03"
#define QUERY_CANCELED     "57014"
#define ANSWER_US_MAX      INT64_C(30000000)
#define SOON_US            INT64_C(20000)
#define CLOSE_US_MAX       INT64_C(2000000)
#define QUERY_COLUMNS_MAX  64
#define EPOCH_2000_US      INT64_C(946684800000000)

enum postgres_oid {
    OID_BOOL = 16,
    OID_BYTEA = 17,
    OID_INT8 = 20,
    OID_INT2 = 21,
    OID_INT4 = 23,
    OID_TEXT = 25,
    OID_FLOAT8 = 701,
    OID_TIMESTAMP = 1114,
    OID_TIMESTAMPTZ = 1184,
};

static const char *const column_types[] = {[CONFIG_FIELD_TEXT] = "TEXT COLLATE \"C\"",
                                           [CONFIG_FIELD_INT] = "BIGINT",
                                           [CONFIG_FIELD_FLOAT] = "DOUBLE PRECISION",
                                           [CONFIG_FIELD_BOOL] = "BIGINT",
                                           [CONFIG_FIELD_TIME] = "BIGINT",
                                           [CONFIG_FIELD_JSON] = "TEXT COLLATE \"C\""};

static struct store_postgres *of(struct store *store)
{
    assert(store != NULL && store->ops == &store_postgres_ops);
    return (struct store_postgres *)store;
}

static enum rc run_plain(struct store_postgres *store, const char *sql, const char *doing,
                         struct err *err)
{
    PGresult *result = postgres_run(store, sql);
    enum rc rc = postgres_succeeded(result) ? RC_OK : postgres_fail(store, result, doing, err);
    PQclear(result);
    return rc;
}

/* Takes the writer's lock, which lives as long as the connection. The server needs a moment to
 * notice that a killed process is gone, so a lock that is held is waited for a little. Other
 * locks are waited for as long as the operator said, or WRITE_WAIT. */
static enum rc take_lock(struct store_postgres *store, struct err *err)
{
    PGresult *result = postgres_run(store, "SET lock_timeout = '" LOCK_WAIT "';"
                                           "SELECT pg_advisory_lock(" WRITER_LOCK ");"
                                           "SELECT set_config('lock_timeout', CASE reset_val "
                                           "WHEN '0' THEN '" WRITE_WAIT "' ELSE reset_val END, "
                                           "false) FROM pg_settings WHERE name = 'lock_timeout'");
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    enum rc rc = RC_OK;
    store->locked = postgres_succeeded(result);
    if (!store->locked && (state == NULL || strcmp(state, LOCK_NOT_AVAILABLE) != 0))
        rc = postgres_fail(store, result, "cannot take the writer's lock", err);
    PQclear(result);
    return rc;
}

static void append_holder(struct store_postgres *store, struct text *holder)
{
    PGresult *result =
        postgres_run(store, "SELECT holder || coalesce(' at ' || address, '') FROM leases "
                            "WHERE name = 'writer'");
    bool known = postgres_succeeded(result) && PQntuples(result) == 1;
    text_append_string(holder, known ? PQgetvalue(result, 0, 0) : "not yet named");
    PQclear(result);
}

static enum rc refuse_second(struct store_postgres *store, struct err *err)
{
    struct text holder = {0};
    append_holder(store, &holder);
    enum rc rc =
        err_set(err, RC_REJECT, "another tidemark (%s) writes this store: stop it first, or ask it",
                text_string(&holder));
    text_free(&holder);
    return rc;
}

/* Compiling a question takes longer than answering it: a reader has a quarter of a second. */
#define COMPILE_NOT "SET jit = off"
/* The writer's statements start from the few rows of one commit and find everything else by its
 * key, in the order in which they name their tables. A server that guesses otherwise, from what a
 * table held when it looked, would read whole tables; and what it thinks of such plans' cost would
 * have them compiled. One plan serves all commits: it does not depend on their values. */
#define PLAN_BY_INDEX                                                                              \
    "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = "                 \
    "off; " COMPILE_NOT "; SET plan_cache_mode = force_generic_plan"
#define QUIET "SET client_min_messages = warning"

static PGconn *connect_to(const struct store_postgres *store, const char *attributes)
{
    const char *names[] = {
        "application_name", "connect_timeout",      "tcp_user_timeout", "keepalives_idle",
        "client_encoding",  "target_session_attrs", "dbname",           NULL};
    const char *values[] = {"tidemark", "10", "15000", "10", "UTF8", attributes, store->url, NULL};
    PGconn *connection = PQconnectdbParams(names, values, 1);
    if (connection == NULL)
        abort();
    return connection;
}

/* Of several servers the one that takes writes. A standby is behind it and is not read either: what
 * was acknowledged would be missed, and written over by who changes what they read; and a
 * connection stays where it is when the primary is back. A lone primary that takes no writes is
 * behind nobody. */
static const char *wanted_server(const struct store_postgres *store)
{
    return store->mode == STORE_READ && !store->several ? "primary" : "read-write";
}

static enum rc dial(struct store_postgres *store, struct err *err)
{
    static const char *const set_ups[] = {
        [STORE_READ] = COMPILE_NOT "; SET default_transaction_read_only = on",
        [STORE_WRITE] = QUIET ";" PLAN_BY_INDEX,
        [STORE_BUILD] = QUIET,
        [STORE_BESIDE] = "SET synchronous_commit = off;" PLAN_BY_INDEX,
    };
    if (store->connection != NULL)
        PQfinish(store->connection);
    store->locked = store->prepared = false;
    known_keys_clear(&store->authors);
    postgres_forget_queries(store);
    store->limit_us = 0;
    store->one_plan = false;
    store->lost = false;
    store->connection = connect_to(store, wanted_server(store));
    if (PQstatus(store->connection) != CONNECTION_OK)
        return postgres_fail(store, NULL, "cannot connect", err);
    enum rc rc = run_plain(store, set_ups[store->mode], "cannot set up the connection", err);
    if (rc == RC_OK && store->mode == STORE_WRITE)
        rc = take_lock(store, err);
    if (rc == RC_OK && store->mode == STORE_BESIDE)
        rc = postgres_set_up_beside(store, err);
    return rc;
}

static void close_postgres(struct store *base)
{
    struct store_postgres *store = of(base);
    /* The server ends a connection some time after we do; who comes next would wait. A server that
     * does not answer is not waited for: it finds out by itself. */
    if (store->answer_us_max > CLOSE_US_MAX)
        store->answer_us_max = CLOSE_US_MAX;
    if (store->locked)
        PQclear(postgres_run(store, "SELECT pg_advisory_unlock(" WRITER_LOCK ")"));
    PQfinish(store->connection);
    postgres_forget_queries(store);
    known_keys_deinit(&store->authors);
    for (size_t i = 0; i < STATEMENT_PARAMS_MAX; i++)
        text_free(&store->arrays[i]);
    free(store->url);
    free(store);
}

/* The library's own words about a bad address repeat it, password and all. */
static enum rc check_address(const char *url, bool *several, struct err *err)
{
    char *why = NULL;
    PQconninfoOption *options = PQconninfoParse(url, &why);
    bool good = options != NULL;
    *several = false;
    for (const PQconninfoOption *at = options; good && at->keyword != NULL; at++)
        *several |=
            strncmp(at->keyword, "host", 4) == 0 && at->val != NULL && strchr(at->val, ',') != NULL;
    PQconninfoFree(options);
    PQfreemem(why);
    return good ? RC_OK
                : err_set(err, RC_REJECT,
                          "store.url is no address PostgreSQL can read: look at its brackets, its "
                          "%%XX and the names after the ?");
}

/* People write in all scripts. SQL_ASCII keeps whatever bytes it is given. */
static enum rc check_encoding(const struct store_postgres *store, struct err *err)
{
    const char *encoding = PQparameterStatus(store->connection, "server_encoding");
    if (encoding == NULL || strcmp(encoding, "UTF8") == 0 || strcmp(encoding, "SQL_ASCII") == 0)
        return RC_OK;
    return err_set(err, RC_REJECT,
                   "the database's encoding is %s, which has no place for most of what people "
                   "write: CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0",
                   encoding);
}

static enum rc open_postgres(const char *url, enum store_mode mode, struct store **out,
                             struct err *err)
{
    bool several;
    enum rc rc = check_address(url, &several, err);
    if (rc != RC_OK)
        return rc;
    struct store_postgres *store = memory_new_zeroed(1, sizeof *store);
    store->store.ops = &store_postgres_ops;
    store->url = memory_copy_string(url);
    store->mode = mode;
    store->several = several;
    store->answer_us_max = ANSWER_US_MAX;
    store->soon_us = SOON_US;
    rc = dial(store, err);
    if (rc == RC_OK && mode == STORE_WRITE)
        rc = check_encoding(store, err);
    if (rc == RC_OK && mode == STORE_WRITE && !store->locked)
        rc = refuse_second(store, err);
    if (rc != RC_OK) {
        close_postgres(&store->store);
        return rc;
    }
    *out = &store->store;
    return RC_OK;
}

static enum rc run_script(struct store *base, const char *sql, struct err *err)
{
    struct store_postgres *store = of(base);
    struct text whole = {0};
    if (store->mode == STORE_WRITE && !store->locked)
        return err_set(err, RC_RETRY, POSTGRES_NOT_LOCKED);
    text_appendf(&whole, "BEGIN;\n%s;\nCOMMIT", sql);
    enum rc rc = run_plain(store, text_string(&whole), "cannot run a script", err);
    if (rc != RC_OK && PQtransactionStatus(store->connection) != PQTRANS_IDLE)
        PQclear(postgres_run(store, "ROLLBACK"));
    text_free(&whole);
    return rc;
}

static enum rc run_build(struct store *base, const char *sql, struct err *err)
{
    struct store_postgres *store = of(base);
    assert(store->mode == STORE_BUILD && base->patient);
    return run_plain(store, sql, "cannot build", err);
}

/* ?1 becomes $1, outside of quotes. */
static void translate(const char *sql, struct text *out)
{
    char quote = '\0';
    for (; *sql != '\0'; sql++) {
        if (quote != '\0')
            quote = *sql == quote ? '\0' : quote;
        else if (*sql == '\'' || *sql == '"')
            quote = *sql;
        text_append_char(out, quote == '\0' && *sql == '?' ? '$' : *sql);
    }
}

static struct field read_value(const PGresult *result, int row, int column)
{
    if (PQgetisnull(result, row, column))
        return field_null(FIELD_TEXT);
    const char *data = PQgetvalue(result, row, column);
    struct bytes bytes = bytes_make(data, (size_t)PQgetlength(result, row, column));
    uint64_t wide = 0;
    if (bytes.len == 8)
        memcpy(&wide, data, 8);
    wide = be64toh(wide);
    double real;
    uint32_t word = 0;
    uint16_t half = 0;
    switch (PQftype(result, column)) {
    case OID_INT8:
        return field_int((int64_t)wide);
    case OID_TIMESTAMP:
    case OID_TIMESTAMPTZ:
        return field_int((int64_t)wide + EPOCH_2000_US);
    case OID_FLOAT8:
        memcpy(&real, &wide, 8);
        return field_real(real);
    case OID_INT4:
        memcpy(&word, data, 4);
        return field_int((int32_t)be32toh(word));
    case OID_INT2:
        memcpy(&half, data, 2);
        return field_int((int16_t)be16toh(half));
    case OID_BOOL:
        return field_int(data[0] != 0);
    case OID_BYTEA:
        return field_blob(bytes);
    default:
        return field_text(bytes);
    }
}

static enum rc send_query(struct store_postgres *store, const char *sql, const struct field *params,
                          size_t count, struct err *err)
{
    struct text text = {0};
    struct postgres_values values = {.count = count};
    uint64_t numbers[STORE_PARAMS_MAX];
    static const Oid oids[] = {[FIELD_INT] = OID_INT8,
                               [FIELD_TEXT] = OID_TEXT,
                               [FIELD_BLOB] = OID_BYTEA,
                               [FIELD_REAL] = OID_FLOAT8};
    assert(count <= STORE_PARAMS_MAX);
    for (size_t i = 0; i < count; i++) {
        bool number = params[i].type == FIELD_INT || params[i].type == FIELD_REAL;
        if (number) {
            memcpy(&numbers[i], &params[i].i, 8);
            numbers[i] = htobe64(numbers[i]);
        }
        values.types[i] = oids[params[i].type];
        values.formats[i] = 1;
        values.lengths[i] = number ? 8 : (int)params[i].b.len;
        values.values[i] = params[i].null ? NULL : number ? (char *)&numbers[i] : params[i].b.data;
    }
    translate(sql, &text);
    bool sent = postgres_send(store, text_string(&text), &values);
    text_free(&text);
    if (!sent)
        return postgres_fail(store, NULL, "cannot read", err);
    PQsetSingleRowMode(store->connection);
    return RC_OK;
}

/* Tells the server the time limit once it has changed. */
static enum rc limit_query(struct store_postgres *store, struct err *err)
{
    char sql[64];
    if (store->limit_us == store->store.query_us_max)
        return RC_OK;
    snprintf(sql, sizeof sql, "SET statement_timeout = %" PRId64, store->store.query_us_max / 1000);
    enum rc rc = run_plain(store, sql, "cannot limit queries", err);
    if (rc == RC_OK)
        store->limit_us = store->store.query_us_max;
    return rc;
}

/* A value that the server thinks rare would have it plan every query anew, for longer than to run
 * it. Those who write have one plan for everything. */
static enum rc keep_plan(struct store_postgres *store, struct err *err)
{
    bool wanted = store->store.one_plan;
    if (store->mode != STORE_READ || store->one_plan == wanted)
        return RC_OK;
    enum rc rc = run_plain(
        store, wanted ? "SET plan_cache_mode = force_generic_plan" : "SET plan_cache_mode = auto",
        "cannot set how queries are planned", err);
    if (rc == RC_OK)
        store->one_plan = wanted;
    return rc;
}

static enum rc fail_query(struct store_postgres *store, const PGresult *result, struct err *err)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    bool ended = state != NULL && strcmp(state, QUERY_CANCELED) == 0;
    if (ended && store->store.query_us_max == 0)
        return err_set(err, RC_AGAIN, "the program is stopping");
    if (ended)
        return err_set(err, RC_AGAIN, "the query took longer than %" PRId64 " ms",
                       store->store.query_us_max / 1000);
    return postgres_fail(store, result, "cannot read", err);
}

static enum rc run_query(struct store *base, const char *sql, const struct field *params,
                         size_t param_count, row_fn *fn, void *arg, struct err *err)
{
    struct store_postgres *store = of(base);
    struct field columns[QUERY_COLUMNS_MAX];
    if (store->mode != STORE_WRITE &&
        (PQstatus(store->connection) == CONNECTION_BAD || store->lost)) {
        enum rc redial = dial(store, err);
        if (redial != RC_OK)
            return redial;
    }
    enum rc rc = limit_query(store, err);
    if (rc == RC_OK)
        rc = keep_plan(store, err);
    if (rc == RC_OK)
        rc = send_query(store, sql, params, param_count, err);
    if (rc != RC_OK)
        return rc;
    bool wanted = true, cancelled = false;
    for (PGresult *result; (result = postgres_next(store)) != NULL; PQclear(result)) {
        if (wanted && PQresultStatus(result) == PGRES_SINGLE_TUPLE) {
            int count = PQnfields(result);
            assert(count <= QUERY_COLUMNS_MAX);
            for (int i = 0; i < count; i++)
                columns[i] = read_value(result, 0, i);
            wanted = fn(arg, columns, (size_t)count);
            cancelled = !wanted && !postgres_answers_soon(store);
            if (cancelled)
                postgres_cancel(store);
        } else if (!wanted && !cancelled && PQresultStatus(result) == PGRES_SINGLE_TUPLE) {
            cancelled = true;
            postgres_cancel(store);
        } else if (wanted && !postgres_succeeded(result)) {
            rc = fail_query(store, result, err);
        }
    }
    return store->lost ? postgres_fail(store, NULL, "cannot read", err) : rc;
}

static enum rc read_position(struct store *base, struct store_position *position, struct err *err)
{
    struct store_postgres *store = of(base);
    enum rc rc = RC_OK;
    if (PQstatus(store->connection) != CONNECTION_OK || store->lost || !store->locked)
        rc = dial(store, err);
    if (rc == RC_OK)
        rc = store_read_position(base, position, err);
    return rc;
}

static enum rc look_for_writer(struct store *base, bool *alive, struct text *holder,
                               struct err *err)
{
    int64_t held;
    enum rc rc = store_query_int(
        base,
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND database = "
        "(SELECT oid FROM pg_database WHERE datname = current_database()) "
        "AND (classid::int8 << 32 | objid::int8) = " WRITER_LOCK,
        0, &held, err);
    *alive = rc == RC_OK && held > 0;
    if (*alive)
        append_holder(of(base), holder);
    return rc;
}

static enum rc refuse_backup(struct store *base, const char *path, struct err *err)
{
    assert(base != NULL && path != NULL);
    return err_set(
        err, RC_REJECT,
        "a PostgreSQL store is copied by `tidemark backup` or pg_dump, not by the daemon; "
        "nothing was written to %s",
        path);
}

const struct store_ops store_postgres_ops = {
    .name = "postgres",
    .migrations = migrations_postgres,
    .size_sql = "SELECT pg_database_size(current_database())",
    .column_types = column_types,
    .null_first = " NULLS FIRST",
    .open = open_postgres,
    .close = close_postgres,
    .script = run_script,
    .query = run_query,
    .write = postgres_write,
    .position = read_position,
    .build = run_build,
    .backup = refuse_backup,
    .writer = look_for_writer,
};
