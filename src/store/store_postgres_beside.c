/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_postgres.h"

#include <string.h>

#define UNDEFINED_TABLE "42P01"

/* A sequence is a relation of one row. */
static const char look_sql[] = "SELECT count(*) FROM query_handles_id_seq";
/* Whoever comes second finds nothing to mend. */
static const char mend_sql[] =
    "DO $$ BEGIN LOCK TABLE query_handles IN ACCESS EXCLUSIVE MODE; "
    "IF NOT EXISTS (SELECT 1 FROM query_handles_id_seq) THEN "
    "ALTER TABLE query_handles ALTER COLUMN id DROP IDENTITY; "
    "ALTER TABLE query_handles ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY; "
    "END IF; END $$";

enum rc postgres_set_up_beside(struct store_postgres *store, struct err *err)
{
    PGresult *result = postgres_run(store, look_sql);
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    bool absent = state != NULL && strcmp(state, UNDEFINED_TABLE) == 0; /* not migrated yet */
    enum rc rc = RC_OK;
    if (postgres_succeeded(result) && strcmp(PQgetvalue(result, 0, 0), "0") == 0) {
        PQclear(result);
        result = postgres_run(store, mend_sql);
    }
    if (!absent && !postgres_succeeded(result))
        rc = postgres_fail(store, result, "cannot set up the connection", err);
    PQclear(result);
    return rc;
}
