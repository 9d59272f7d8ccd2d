/* SPDX-License-Identifier: Apache-2.0 */
#include "store/statement.h"

#define ACCOUNT_COLUMNS                                                                            \
    "INSERT INTO account (id, name, type, platform, identifier, parent_id, created_us, seq) "
/* What the commit has brought in its sessions: a row that is new has the number of its record. */
#define COUNTED                                                                                    \
    "{rows with} account a CROSS JOIN import_sessions s LEFT JOIN raw_transactions t ON t.n = "    \
    "r.n "                                                                                         \
    "WHERE a.name = r.account AND s.account_id = a.id AND s.started_us = r.session_us "            \
    "AND r.status <> 'orphaned' "
/* The rows that the records tell of. */
#define TOLD_OF                                                                                    \
    "account a CROSS JOIN raw_transactions o WHERE a.name = r.account AND o.account_id = a.id "    \
    "AND o.event_id = r.event_id"
/* A clock that was set back while it ran does not make an import end before it began. */
#define ENDED_AT(began) "CASE WHEN r.at_us < " began " THEN " began " ELSE r.at_us END"
/* The sessions of derived accounts since the one that sums them up began. */
#define OF_FAMILY                                                                                  \
    "{rows with} account a CROSS JOIN import_sessions s CROSS JOIN account k CROSS JOIN "          \
    "import_sessions x CROSS JOIN session_streams y WHERE a.name = r.account "                     \
    "AND s.account_id = a.id AND s.started_us = r.started_us AND k.parent_id = a.id "              \
    "AND x.account_id = k.id AND x.started_us >= s.started_us AND y.session_id = x.id "
/* A confirmed row does not become pending again because another provider lags behind; one that was
 * in another block before, or in none, takes what is known now, and belongs to the stream that knew
 * it: what waited is no longer the business of a list of what waits. */
#define IS_NEWS                                                                                    \
    "(excluded.status <> raw_transactions.status AND (excluded.status <> 'pending' "               \
    "OR raw_transactions.status = 'orphaned')) OR (excluded.block IS NOT NULL "                    \
    "AND excluded.block IS DISTINCT FROM raw_transactions.block)"

/* What is known to have failed has not done well because somebody in the same block does not tell
 * one from the other. */
#define STATUS                                                                                     \
    "CASE WHEN r.untold IS NULL THEN r.status ELSE coalesce((SELECT o.status FROM "                \
    "raw_transactions o WHERE o.account_id = a.id AND o.event_id = r.event_id "                    \
    "AND o.block = r.block AND o.status = 'failed'), r.status) END"

/* clang-format off */
static const struct statement statements[] = {
    {.kind = RECORD_LEDGER_ACCOUNT, .sql =
     ACCOUNT_COLUMNS "SELECT r.n, r.name, r.type, r.platform, r.identifier, NULL, r.at_us, {seq} "
     "{rows} WHERE r.parent IS NULL ON CONFLICT (name) DO NOTHING"},
    {.kind = RECORD_LEDGER_ACCOUNT, .has = LEDGER_ACCOUNT_PARENT, .sql =
     ACCOUNT_COLUMNS "SELECT r.n, r.name, r.type, r.platform, r.identifier, p.id, r.at_us, {seq} "
     "{rows with} account p WHERE p.name = r.parent ON CONFLICT (name) DO UPDATE SET "
     "parent_id = excluded.parent_id, seq = excluded.seq WHERE account.parent_id IS NULL"},
    {.kind = RECORD_SESSION, .each = true, .sql =
     "INSERT INTO import_sessions (id, account_id, status, skipped, started_us, completed_us, "
     "error, nonce, seq) SELECT r.n, a.id, r.status, coalesce(r.skipped, 0), r.started_us, "
     "CASE WHEN r.status = 'started' THEN NULL ELSE " ENDED_AT("r.started_us") " END, r.error, "
     "r.nonce, {seq} "
     "{rows with} account a WHERE a.name = r.account "
     "ON CONFLICT (account_id, started_us) DO UPDATE SET status = excluded.status, "
     "skipped = import_sessions.skipped + excluded.skipped, "
     "completed_us = excluded.completed_us, error = excluded.error, seq = excluded.seq, "
     "nonce = CASE WHEN import_sessions.nonce >= excluded.nonce THEN import_sessions.nonce "
     "ELSE coalesce(excluded.nonce, import_sessions.nonce) END"},
    /* One that is open when the next begins was cut off. Which is the next, their numbers tell: the
     * clock may have been set back in between. */
    {.kind = RECORD_SESSION, .sql =
     "UPDATE import_sessions SET status = 'failed', seq = {seq}, "
     "error = 'the program ended before the import did', completed_us = (SELECT max("
     ENDED_AT("import_sessions.started_us") ") {rows with} account a WHERE a.name = r.account "
     "AND a.id = import_sessions.account_id) "
     "WHERE status = 'started' AND EXISTS (SELECT 1 {rows with} account a "
     "WHERE a.name = r.account AND a.id = import_sessions.account_id AND r.status = 'started' "
     "AND r.stream IS NULL AND r.n > import_sessions.id "
     "AND r.started_us <> import_sessions.started_us)"},
    {.kind = RECORD_SESSION, .has = SESSION_STREAM, .each = true, .sql =
     "INSERT INTO session_streams (session_id, stream, provider, complete, skipped, batches) "
     "SELECT s.id, r.stream, r.provider, coalesce(r.complete, 0), coalesce(r.skipped, 0), 1 "
     "{rows with} account a CROSS JOIN import_sessions s WHERE a.name = r.account "
     "AND s.account_id = a.id AND s.started_us = r.started_us "
     "ON CONFLICT (session_id, stream) DO UPDATE SET "
     "provider = coalesce(excluded.provider, session_streams.provider), "
     "complete = excluded.complete, skipped = session_streams.skipped + excluded.skipped, "
     "batches = session_streams.batches + 1"},
    {.kind = RECORD_SESSION, .has = SESSION_FAMILY, .sql =
     "UPDATE import_sessions SET imported = c.imported, skipped = c.skipped, seq = {seq} "
     "FROM (SELECT s.id AS id, sum(y.imported) AS imported, sum(y.skipped) AS skipped " OF_FAMILY
     "GROUP BY s.id) c WHERE import_sessions.id = c.id"},
    {.kind = RECORD_SESSION, .has = SESSION_FAMILY, .sql =
     "INSERT INTO session_streams (session_id, stream, provider, complete, imported, skipped, "
     "batches) SELECT s.id, y.stream, max(y.provider), CASE WHEN s.status = 'completed' "
     "THEN min(y.complete) ELSE 0 END, sum(y.imported), sum(y.skipped), sum(y.batches) " OF_FAMILY
     "GROUP BY s.id, s.status, y.stream ON CONFLICT (session_id, stream) DO UPDATE SET "
     "provider = excluded.provider, complete = excluded.complete, imported = excluded.imported, "
     "skipped = excluded.skipped, batches = excluded.batches"},
    {.kind = RECORD_TRANSACTION, .sql =
     "INSERT INTO raw_transactions (n, seq, account_id, provider_name, stream, event_id, hash, "
     "block, timestamp_us, status, provider_data, normalized_data) "
     "SELECT r.n, {seq}, a.id, r.provider, r.stream, r.event_id, r.hash, r.block, r.at_us, "
     STATUS ", r.provider_data, r.normalized_data {rows with} account a "
     "WHERE a.name = r.account AND r.status <> 'orphaned' "
     "ON CONFLICT (account_id, event_id) DO UPDATE SET seq = excluded.seq, "
     "provider_name = excluded.provider_name, stream = excluded.stream, block = excluded.block, "
     "timestamp_us = coalesce(excluded.timestamp_us, raw_transactions.timestamp_us), "
     "status = excluded.status, provider_data = excluded.provider_data, "
     "normalized_data = excluded.normalized_data WHERE " IS_NEWS},
    /* What was stored without its details. */
    {.kind = RECORD_TRANSACTION, .has = TRANSACTION_REPLACES, .sql =
     "UPDATE raw_transactions SET seq = {seq}, provider_name = c.provider, "
     "provider_data = c.provider_data, normalized_data = c.normalized_data "
     "FROM (SELECT o.n AS n, r.provider AS provider, r.provider_data AS provider_data, "
     "r.normalized_data AS normalized_data {rows with} " TOLD_OF ") c "
     "WHERE raw_transactions.n = c.n"},
    /* A file had it before the list that counts it. */
    {.kind = RECORD_TRANSACTION, .has = TRANSACTION_CLAIMED, .sql =
     "UPDATE raw_transactions SET seq = {seq}, stream = c.stream "
     "FROM (SELECT o.n AS n, r.stream AS stream {rows with} " TOLD_OF
     " AND o.stream <> r.stream) c "
     "WHERE raw_transactions.n = c.n"},
    {.kind = RECORD_TRANSACTION, .sql =
     "UPDATE raw_transactions SET status = 'orphaned', seq = {seq} WHERE status <> 'orphaned' "
     "AND n IN (SELECT o.n {rows with} " TOLD_OF " AND r.status = 'orphaned')"},
    {.kind = RECORD_TRANSACTION, .sql =
     "UPDATE import_sessions SET imported = imported + c.new, skipped = skipped + c.known, "
     "seq = {seq} FROM (SELECT s.id AS id, count(t.n) AS new, count(*) - count(t.n) AS known "
     COUNTED "GROUP BY s.id) c WHERE import_sessions.id = c.id"},
    {.kind = RECORD_TRANSACTION, .sql =
     "INSERT INTO session_streams (session_id, stream, imported, skipped) "
     "SELECT s.id, r.stream, count(t.n), count(*) - count(t.n) " COUNTED "GROUP BY s.id, r.stream "
     "ON CONFLICT (session_id, stream) DO UPDATE SET "
     "imported = session_streams.imported + excluded.imported, "
     "skipped = session_streams.skipped + excluded.skipped"},
};
/* clang-format on */

const struct statement_group statements_ledger = {statements,
                                                  sizeof statements / sizeof statements[0]};
