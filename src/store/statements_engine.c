/* SPDX-License-Identifier: Apache-2.0 */
#include "store/statement.h"

/* clang-format off */
static const struct statement statements[] = {
    {.kind = RECORD_QUARANTINE, .sql =
     "INSERT INTO quarantine (id, source, provider, digest, raw, size, reason, at_us, seq) "
     "SELECT r.n, r.source, r.provider, r.digest, r.raw, r.size, r.reason, r.at_us, {seq} "
     "{rows} WHERE r.reason IS NOT NULL ON CONFLICT (source, digest) DO UPDATE SET "
     "times = quarantine.times + 1, at_us = excluded.at_us, seq = excluded.seq"},
    /* One without a reason: there is none any more to keep it. */
    {.kind = RECORD_QUARANTINE, .sql =
     "DELETE FROM quarantine WHERE (source, digest) IN "
     "(SELECT r.source, r.digest {rows} WHERE r.reason IS NULL)"},
    {.kind = RECORD_OWED, .sql =
     "INSERT INTO owed (id, source, stream, item, unit, state, reason, attempts, next_us, "
     "since_us, refused_by, seq) "
     "SELECT r.n, r.source, r.stream, r.item, r.unit, r.state, r.reason, r.attempts, r.next_us, "
     "r.at_us, r.refused_by, {seq} {rows} WHERE r.state IN ('owed', 'dead') "
     "ON CONFLICT (source, stream, item) DO UPDATE SET state = excluded.state, "
     "reason = excluded.reason, attempts = excluded.attempts, next_us = excluded.next_us, "
     "refused_by = excluded.refused_by, seq = excluded.seq"},
    {.kind = RECORD_OWED, .sql =
     "INSERT INTO owed (id, source, stream, item, unit, state, reason, attempts, next_us, "
     "since_us, refused_by, seq) "
     "SELECT r.n, r.source, r.stream, r.item, r.unit, 'owed', r.reason, r.attempts, r.next_us, "
     "r.at_us, r.refused_by, {seq} {rows} WHERE r.state = 'new' "
     "ON CONFLICT (source, stream, item) DO NOTHING"},
    {.kind = RECORD_OWED, .sql =
     "DELETE FROM owed WHERE (source, stream, item) IN "
     "(SELECT r.source, r.stream, r.item {rows} WHERE r.state = 'done')"},
    {.kind = RECORD_GAP, .sql =
     "UPDATE gaps SET closed_us = (SELECT max(r.closed_us) {rows} WHERE r.source = gaps.source "
     "AND r.stream = gaps.stream AND r.from_us <= gaps.from_us AND r.to_us >= gaps.to_us), "
     "seq = {seq} WHERE closed_us IS NULL AND EXISTS (SELECT 1 {rows} "
     "WHERE r.closed_us IS NOT NULL AND r.source = gaps.source AND r.stream = gaps.stream "
     "AND r.from_us <= gaps.from_us AND r.to_us >= gaps.to_us)"},
    {.kind = RECORD_GAP, .sql =
     "INSERT INTO gaps (id, source, stream, from_us, to_us, reason, detected_us, closed_us, seq) "
     "SELECT r.n, r.source, r.stream, r.from_us, r.to_us, r.reason, r.detected_us, r.closed_us, "
     "{seq} {rows} WHERE true "
     "ON CONFLICT (source, stream, from_us, to_us) DO UPDATE SET closed_us = excluded.closed_us, "
     "reason = excluded.reason, detected_us = excluded.detected_us, seq = excluded.seq "
     "WHERE excluded.closed_us IS NULL OR gaps.closed_us IS NULL"},
    {.kind = RECORD_COVERAGE, .each = true, .sql =
     "INSERT INTO coverage (source, stream, lo, hi) SELECT r.source, r.stream, "
     "coalesce((SELECT min(c.lo) FROM coverage c WHERE c.source = r.source "
     "AND c.stream = r.stream AND c.lo < r.lo AND c.hi >= r.lo), r.lo), "
     "coalesce((SELECT max(c.hi) FROM coverage c WHERE c.source = r.source "
     "AND c.stream = r.stream AND c.lo <= r.hi AND c.hi > r.hi), r.hi) {rows} WHERE true "
     "ON CONFLICT (source, stream, lo) DO UPDATE SET hi = excluded.hi "
     "WHERE excluded.hi > coverage.hi"},
    {.kind = RECORD_COVERAGE, .each = true, .sql =
     "DELETE FROM coverage WHERE (source, stream, lo) IN "
     "(SELECT c.source, c.stream, c.lo {rows with} coverage o, coverage c "
     "WHERE o.source = r.source AND o.stream = r.stream AND c.source = r.source "
     "AND c.stream = r.stream AND o.lo < c.lo AND o.hi >= c.hi)"},
    {.kind = RECORD_PROVIDER, .sql =
     "INSERT INTO providers (source, name, state, reason, chosen, updated_us) "
     "SELECT r.source, r.name, r.state, r.reason, r.chosen, r.at_us {rows} WHERE true "
     "ON CONFLICT (source, name) DO UPDATE SET state = excluded.state, "
     "reason = excluded.reason, chosen = excluded.chosen, updated_us = excluded.updated_us"},
    {.kind = RECORD_RESET, .sql =
     "DELETE FROM coverage WHERE EXISTS (SELECT 1 {rows} WHERE r.source = coverage.source "
     "AND (r.stream IS NULL OR r.stream = coverage.stream))"},
    /* The firehose begins live then: what it passes over is missing until histories tell it. */
    {.kind = RECORD_RESET, .sql =
     "INSERT INTO gaps (id, source, stream, from_us, to_us, reason, detected_us, seq) "
     "SELECT r.n, c.source, c.stream, c.position, " GAP_NO_END_SQL
     ", 'its position was forgotten', c.updated_us, {seq} {rows with} cursors c "
     "WHERE r.source = 'jetstream' "
     "AND c.source = r.source AND (r.stream IS NULL OR r.stream = c.stream) AND c.position > 0 "
     "ON CONFLICT (source, stream, from_us, to_us) DO UPDATE SET closed_us = NULL, "
     "seq = excluded.seq"},
    {.kind = RECORD_RESET, .sql =
     "DELETE FROM cursors WHERE EXISTS (SELECT 1 {rows} WHERE r.source = cursors.source "
     "AND (r.stream IS NULL OR r.stream = cursors.stream))"},
    {.kind = RECORD_RESET, .sql =
     "DELETE FROM jetstream_state WHERE EXISTS (SELECT 1 {rows} WHERE r.source = 'jetstream') "
     "AND NOT EXISTS (SELECT 1 FROM cursors c WHERE c.source = 'jetstream' "
     "AND c.position IS NOT NULL)"},
    {.kind = RECORD_RESET, .sql =
     "UPDATE jetstream_state SET last_updated = CURRENT_TIMESTAMP, cursor_time_us = "
     "(SELECT min(c.position) FROM cursors c WHERE c.source = 'jetstream') "
     "WHERE EXISTS (SELECT 1 {rows} WHERE r.source = 'jetstream')"},
    /* Polls go by what stands here. */
    {.kind = RECORD_RESET, .sql =
     "UPDATE poll_state SET last_cursor = NULL WHERE EXISTS (SELECT 1 {rows} "
     "WHERE r.source = 'feed' AND (r.stream IS NULL OR r.stream = poll_state.user_handle "
     "OR EXISTS (SELECT 1 FROM follows f WHERE f.did = r.stream "
     "AND f.handle = poll_state.user_handle)))"},
    {.kind = RECORD_CURSOR, .sql =
     "INSERT INTO cursors (source, stream, state, position, updated_us, seq) "
     "SELECT r.source, r.stream, r.state, r.position, r.at_us, {seq} {rows} WHERE true "
     "ON CONFLICT (source, stream) DO UPDATE SET state = excluded.state, "
     "position = excluded.position, updated_us = excluded.updated_us, seq = excluded.seq"},
    {.kind = RECORD_CURSOR, .sql =
     "INSERT INTO meta (id, cursor, block_number) "
     "SELECT r.stream, coalesce(r.opaque, r.state), r.position {rows} "
     "WHERE r.source = 'content' AND r.position IS NOT NULL "
     "ON CONFLICT (id) DO UPDATE SET cursor = excluded.cursor, "
     "block_number = excluded.block_number"},
    {.kind = RECORD_CURSOR, .sql =
     "INSERT INTO jetstream_state (id, cursor_time_us, last_updated) "
     "SELECT 1, min(c.position), CURRENT_TIMESTAMP FROM cursors c WHERE c.source = 'jetstream' "
     "AND EXISTS (SELECT 1 {rows} WHERE r.source = 'jetstream') "
     "HAVING min(c.position) IS NOT NULL "
     "ON CONFLICT (id) DO UPDATE SET cursor_time_us = excluded.cursor_time_us, "
     "last_updated = excluded.last_updated"},
};
/* clang-format on */

const struct statement_group statements_engine = {statements,
                                                  sizeof statements / sizeof statements[0]};
