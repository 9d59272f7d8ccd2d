/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_postgres.h"

#include "sys/socket_wait.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define READ_ONLY_STATE "25006" /* the server became a replica */
#define STOP_LOOK_US    INT64_C(100000)

bool postgres_succeeded(const PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

static enum rc code_of_state(const char *state)
{
    static const char *const passing[] = {"08", "40", "53", "55", "57", "58"};
    if (strncmp(state, "22", 2) == 0 || strncmp(state, "23", 2) == 0 ||
        strncmp(state, "54", 2) == 0)
        return RC_REJECT;
    if (strcmp(state, READ_ONLY_STATE) == 0)
        return RC_RETRY;
    for (size_t i = 0; i < sizeof passing / sizeof passing[0]; i++)
        if (strncmp(state, passing[i], 2) == 0)
            return RC_RETRY;
    return RC_FATAL;
}

enum rc postgres_fail(struct store_postgres *store, const PGresult *result, const char *doing,
                      struct err *err)
{
    const char *state = result == NULL ? NULL : PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *text = result == NULL ? NULL : PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    if (store->lost)
        return err_set(err, RC_RETRY, "PostgreSQL %s: no answer for %" PRId64 " s", doing,
                       store->answer_us_max / 1000000);
    if (state == NULL || PQstatus(store->connection) == CONNECTION_BAD) {
        const char *said = PQerrorMessage(store->connection);
        return err_set(err, RC_RETRY, "PostgreSQL %s: %.*s", doing, (int)strcspn(said, "\n"), said);
    }
    if (strcmp(state, READ_ONLY_STATE) == 0)
        store->locked = false; /* the next dial looks for a server that takes writes */
    return err_set(err, code_of_state(state), "PostgreSQL %s: %s (SQLSTATE %s)", doing, text,
                   state);
}

void postgres_cancel(struct store_postgres *store)
{
    char why[256];
    PGcancel *token = PQgetCancel(store->connection);
    PQcancel(token, why, sizeof why);
    PQfreeCancel(token);
}

/* False when the server was silent for too long. A patient reader waits while the connection
 * lives, and until it is told to stop. */
static bool await_answer(struct store_postgres *store)
{
    const struct store *base = &store->store;
    int fd = PQsocket(store->connection);
    bool stopping = false;
    while (base->patient && !stopping) {
        if (socket_wait_readable(fd, STOP_LOOK_US))
            return true;
        stopping = base->stop != NULL && base->stop(base->stop_arg);
        if (stopping)
            postgres_cancel(store);
    }
    return socket_wait_readable(fd, store->answer_us_max);
}

bool postgres_answers_soon(struct store_postgres *store)
{
    if (!PQisBusy(store->connection))
        return true;
    return socket_wait_readable(PQsocket(store->connection), store->soon_us) &&
           PQconsumeInput(store->connection) && !PQisBusy(store->connection);
}

PGresult *postgres_next(struct store_postgres *store)
{
    assert(store->connection != NULL);
    while (!store->lost && PQisBusy(store->connection)) {
        if (!await_answer(store))
            store->lost = true;
        else if (!PQconsumeInput(store->connection))
            break;
    }
    return store->lost ? NULL : PQgetResult(store->connection);
}

PGresult *postgres_last(struct store_postgres *store)
{
    PGresult *last = NULL;
    for (PGresult *result; (result = postgres_next(store)) != NULL; last = result)
        PQclear(last);
    return last;
}

PGresult *postgres_run(struct store_postgres *store, const char *sql)
{
    assert(sql != NULL);
    if (store->lost || !PQsendQuery(store->connection, sql))
        return NULL;
    return postgres_last(store);
}
