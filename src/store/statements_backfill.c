/* SPDX-License-Identifier: Apache-2.0 */
#include "store/statement.h"

/* A gap is over when it ended, or when it was found: hosts' clocks differ. A moment later feeds
 * show what happened in it. */
#define OVER(gap)                                                                                  \
    "(CASE WHEN " gap ".to_us < " gap ".detected_us THEN " gap ".to_us ELSE " gap                  \
    ".detected_us END)"
#define SETTLE_US "120000000"
/* The reading of a record's account reaches over the whole gap, and began when it was known and
 * feeds had settled. Where the clock was ahead then, it began at least after it was asked for,
 * which an earlier reading put right. */
#define COVERS(gap)                                                                                \
    "r.since_us <= " gap                                                                           \
    ".from_us AND (r.next_us >= " OVER(gap) " + " SETTLE_US " OR r.at_us < " OVER(                 \
        gap) ") AND (r.next_us >= " gap ".detected_us OR (" gap                                    \
             ".detected_us > r.at_us AND EXISTS (SELECT 1 FROM backfill_queue q "                  \
             "WHERE q.actor_did = r.did AND q.asked_us <= r.next_us)))"

#define AFTER_LISTING (UINT32_C(1) << RECORD_LISTING)
#define AFTER_GAP     (UINT32_C(1) << RECORD_GAP)
#define OPENED_NOW    "g.seq = {seq} AND g.closed_us IS NULL AND g.source = 'jetstream'"

static const struct condition ask = {BACKFILL_OP, BACKFILL_OP_ASK},
                              move = {BACKFILL_OP, BACKFILL_OP_MOVE},
                              done = {BACKFILL_OP, BACKFILL_OP_DONE},
                              drop = {BACKFILL_OP, BACKFILL_OP_DROP};

/* clang-format off */
static const struct statement statements[] = {
    {.kind = RECORD_BACKFILL, .only = &ask, .each = true, .sql =
     "INSERT INTO backfill_queue (actor_did, priority, since_us, sweep, reason, next_us, "
     "queued_us, asked_us) SELECT r.did, r.priority, r.since_us, r.sweep, r.reason, "
     "coalesce(r.next_us, r.at_us), r.at_us, 0 {rows} WHERE true "
     "ON CONFLICT (actor_did) DO UPDATE SET " QUEUE_LESSER("priority") ", "
     QUEUE_LESSER("since_us") ", " QUEUE_LESSER("next_us") ", reason = excluded.reason"},
    {.kind = RECORD_BACKFILL, .only = &move, .each = true, .sql =
     "UPDATE backfill_queue SET sweep = r.sweep, attempts = r.attempts, next_us = r.next_us, "
     "reason = coalesce(r.reason, backfill_queue.reason) {rows} "
     "WHERE backfill_queue.actor_did = r.did"},
    /* The last ones may come together: only all of them show that nobody is left. */
    {.kind = RECORD_BACKFILL, .only = &done, .sql =
     "UPDATE gaps SET closed_us = (SELECT max(r.at_us) {rows}), seq = {seq} "
     "WHERE closed_us IS NULL AND EXISTS (SELECT 1 FROM gap_sweep s WHERE s.gap_id = gaps.id) "
     "AND NOT EXISTS (SELECT 1 FROM gap_sweep s WHERE s.gap_id = gaps.id AND NOT EXISTS "
     "(SELECT 1 {rows} WHERE r.did = s.actor_did AND " COVERS("gaps") "))"},
    {.kind = RECORD_BACKFILL, .only = &done, .each = true, .sql =
     "DELETE FROM gap_sweep WHERE EXISTS (SELECT 1 {rows with} gaps g "
     "WHERE g.id = gap_sweep.gap_id AND gap_sweep.actor_did = r.did AND " COVERS("g") ")"},
    {.kind = RECORD_BACKFILL, .only = &done, .each = true, .sql =
     "UPDATE follows SET backfill_completed = TRUE WHERE EXISTS (SELECT 1 {rows} "
     "WHERE r.did = follows.did AND r.priority < 3)"},
    {.kind = RECORD_BACKFILL, .only = &done, .each = true, .sql =
     "DELETE FROM backfill_queue WHERE EXISTS (SELECT 1 {rows} "
     "WHERE r.did = backfill_queue.actor_did AND backfill_queue.asked_us <= r.next_us "
     "AND backfill_queue.since_us >= r.since_us) AND NOT EXISTS (SELECT 1 FROM gap_sweep s "
     "WHERE s.actor_did = backfill_queue.actor_did)"},
    /* It is read again, at once or, if only a gap wants to settle, then; nothing was asked for
     * later than now, whatever the clock said. */
    {.kind = RECORD_BACKFILL, .only = &done, .each = true, .sql =
     "UPDATE backfill_queue SET sweep = NULL, attempts = 0, next_us = CASE "
     "WHEN asked_us <= r.next_us AND backfill_queue.since_us >= r.since_us "
     "THEN (SELECT max(" OVER("g") ") + " SETTLE_US " FROM gap_sweep s "
     "JOIN gaps g ON g.id = s.gap_id WHERE s.actor_did = r.did) ELSE r.at_us END, asked_us = "
     "CASE WHEN asked_us > r.at_us THEN r.at_us ELSE asked_us END {rows} "
     "WHERE backfill_queue.actor_did = r.did"},
    {.kind = RECORD_BACKFILL, .only = &drop, .sql =
     "UPDATE gaps SET closed_us = (SELECT max(r.at_us) {rows}), seq = {seq} "
     "WHERE closed_us IS NULL AND EXISTS (SELECT 1 FROM gap_sweep s WHERE s.gap_id = gaps.id) "
     "AND NOT EXISTS (SELECT 1 FROM gap_sweep s WHERE s.gap_id = gaps.id AND NOT EXISTS "
     "(SELECT 1 {rows} WHERE r.did = s.actor_did))"},
    {.kind = RECORD_BACKFILL, .only = &drop, .each = true, .sql =
     "DELETE FROM gap_sweep WHERE actor_did IN (SELECT r.did {rows})"},
    {.kind = RECORD_BACKFILL, .only = &drop, .each = true, .sql =
     "DELETE FROM backfill_queue WHERE actor_did IN (SELECT r.did {rows})"},
    /* ---- whom nobody follows any more, nobody waits for ---- */
    {.kind = RECORD_BACKFILL, .after = AFTER_LISTING, .sql =
     "UPDATE gaps SET closed_us = (SELECT max(at_us) FROM listings), seq = {seq} "
     "WHERE closed_us IS NULL AND EXISTS (SELECT 1 FROM gap_sweep s WHERE s.gap_id = gaps.id) "
     "AND NOT EXISTS (SELECT 1 FROM gap_sweep s JOIN circle c ON c.did = s.actor_did "
     "WHERE s.gap_id = gaps.id)"},
    {.kind = RECORD_BACKFILL, .after = AFTER_LISTING, .sql =
     "DELETE FROM gap_sweep WHERE NOT EXISTS "
     "(SELECT 1 FROM circle c WHERE c.did = gap_sweep.actor_did)"},
    {.kind = RECORD_BACKFILL, .after = AFTER_LISTING, .sql =
     "DELETE FROM backfill_queue WHERE priority < 3 AND NOT EXISTS "
     "(SELECT 1 FROM circle c WHERE c.did = backfill_queue.actor_did)"},
    /* ---- polling ---- */
    {.kind = RECORD_POLL, .each = true, .sql =
     "DELETE FROM poll_state WHERE user_handle IN (SELECT r.former {rows})"},
    {.kind = RECORD_POLL, .each = true, .sql =
     "INSERT INTO poll_state (user_handle, last_cursor, last_polled_at, posts_fetched_count) "
     "SELECT r.user_handle, r.cursor, {time r.at_us}, r.fetched {rows} WHERE true "
     "ON CONFLICT (user_handle) DO UPDATE SET "
     "last_cursor = coalesce(excluded.last_cursor, poll_state.last_cursor), "
     "last_polled_at = excluded.last_polled_at, "
     "posts_fetched_count = poll_state.posts_fetched_count + excluded.posts_fetched_count"},
};
/* clang-format on */

const struct statement_group statements_backfill = {statements,
                                                    sizeof statements / sizeof statements[0]};

/* A gap is opened together with the readings that are to close it. They go back a minute further:
 * the clocks of those who tell the times differ. */
/* clang-format off */
static const struct statement gap_statements[] = {
    {.kind = RECORD_GAP, .after = AFTER_GAP, .sql =
     "DELETE FROM gap_sweep WHERE gap_id IN "
     "(SELECT g.id FROM gaps g WHERE g.seq = {seq} AND g.closed_us IS NOT NULL)"},
    {.kind = RECORD_GAP, .after = AFTER_GAP, .sql =
     "INSERT INTO gap_sweep (gap_id, actor_did) SELECT g.id, c.did FROM gaps g CROSS JOIN circle c "
     "WHERE " OPENED_NOW " ON CONFLICT (gap_id, actor_did) DO NOTHING"},
    {.kind = RECORD_GAP, .after = AFTER_GAP, .sql =
     "INSERT INTO backfill_queue (actor_did, priority, since_us, reason, next_us, queued_us, "
     "asked_us) SELECT s.actor_did, 0, min(g.from_us) - 60000000, 'a gap of the firehose', "
     "min(g.detected_us), min(g.detected_us), max(g.detected_us) FROM gaps g "
     "JOIN gap_sweep s ON s.gap_id = g.id WHERE " OPENED_NOW " GROUP BY s.actor_did "
     "ON CONFLICT (actor_did) DO UPDATE SET priority = 0, " QUEUE_LESSER("since_us") ", "
     QUEUE_LESSER("next_us") ", sweep = NULL, reason = excluded.reason, "
     "asked_us = excluded.asked_us"},
};
/* clang-format on */

const struct statement_group statements_gap_sweep = {gap_statements, sizeof gap_statements /
                                                                         sizeof gap_statements[0]};
