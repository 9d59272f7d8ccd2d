/* SPDX-License-Identifier: Apache-2.0 */
#include "store/statement.h"

#include "store/commit.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#define POST_KEY "r.did || '/' || r.collection || '/' || r.rkey"
#define POST_OF_RECORD                                                                             \
    "a.did = r.did AND p.actor = a.id AND p.collection = r.collection AND p.rkey = r.rkey"

static const struct condition put = {POST_OP, POST_OP_PUT}, removal = {POST_OP, POST_OP_DELETE};

/* clang-format off */
const struct statement statements[] = {
    {RECORD_POST, &put, false,
     "INSERT INTO actors (id, did) SELECT r.n, r.did {rows} WHERE true "
     "ON CONFLICT (did) DO NOTHING"},
    {RECORD_POST, &removal, false,
     "INSERT INTO tombstones (collection, key, rev, n, seq, at_us) "
     "SELECT 'posts', " POST_KEY ", r.rev, "
     "(SELECT p.n FROM actors a, post p WHERE " POST_OF_RECORD "), {seq}, r.shared_us "
     "{rows} WHERE NOT EXISTS (SELECT 1 FROM actors a, post p WHERE " POST_OF_RECORD
     " AND p.rev > r.rev) "
     "ON CONFLICT (collection, key) DO UPDATE SET rev = excluded.rev, "
     "n = coalesce(excluded.n, tombstones.n), seq = excluded.seq, at_us = excluded.at_us "
     "WHERE excluded.rev > tombstones.rev"},
    {RECORD_POST, &removal, false,
     "DELETE FROM post WHERE n IN (SELECT p.n {rows with} actors a, post p "
     "WHERE " POST_OF_RECORD " AND (p.rev IS NULL OR p.rev <= r.rev))"},
    {RECORD_POST, &put, false,
     "INSERT INTO post (n, seq, actor, collection, rkey, kind, rev, shared_us, created_us, body, "
     "subject) "
     "SELECT r.n, {seq}, a.id, r.collection, r.rkey, r.kind, r.rev, r.shared_us, r.created_us, "
     "r.body, r.subject {rows with} actors a "
     "WHERE a.did = r.did AND NOT EXISTS (SELECT 1 FROM tombstones t WHERE t.collection = 'posts' "
     "AND t.key = " POST_KEY " AND t.rev >= r.rev) "
     "ON CONFLICT (actor, collection, rkey) DO UPDATE SET seq = excluded.seq, rev = excluded.rev, "
     "kind = excluded.kind, created_us = excluded.created_us, body = excluded.body, "
     "subject = excluded.subject, shared_us = CASE WHEN excluded.shared_us < post.shared_us "
     "THEN excluded.shared_us ELSE post.shared_us END "
     "WHERE post.rev IS NULL OR excluded.rev > post.rev"},
    {RECORD_ACCOUNT, NULL, false,
     "INSERT INTO actors (id, did, active, status, status_us) "
     "SELECT r.n, r.did, r.active, r.status, r.at_us {rows} WHERE true "
     "ON CONFLICT (did) DO UPDATE SET active = excluded.active, status = excluded.status, "
     "status_us = excluded.status_us "
     "WHERE actors.status_us IS NULL OR excluded.status_us >= actors.status_us"},
    {RECORD_IDENTITY, NULL, false,
     "INSERT INTO actors (id, did, handle, handle_us) "
     "SELECT r.n, r.did, r.handle, r.at_us {rows} WHERE true "
     "ON CONFLICT (did) DO UPDATE SET handle = excluded.handle, handle_us = excluded.handle_us "
     "WHERE actors.handle_us IS NULL OR excluded.handle_us >= actors.handle_us"},
    {RECORD_DOCUMENT, NULL, false,
     "INSERT INTO ipfs_cache (n, seq, uri, data, is_errored, block, space) "
     "SELECT r.n, {seq}, r.uri, r.data, r.whole = 0, r.block, r.space {rows} WHERE true "
     "ON CONFLICT (uri) DO UPDATE SET data = excluded.data, is_errored = excluded.is_errored, "
     "seq = excluded.seq WHERE ipfs_cache.is_errored AND NOT excluded.is_errored"},
    {RECORD_QUARANTINE, NULL, false,
     "INSERT INTO quarantine (id, source, provider, digest, raw, size, reason, at_us, seq) "
     "SELECT r.n, r.source, r.provider, r.digest, r.raw, r.size, r.reason, r.at_us, {seq} "
     "{rows} WHERE true ON CONFLICT (source, digest) DO UPDATE SET "
     "times = quarantine.times + 1, at_us = excluded.at_us, seq = excluded.seq"},
    {RECORD_OWED, NULL, false,
     "INSERT INTO owed (id, source, stream, item, unit, state, reason, attempts, next_us, "
     "since_us, refused_by, seq) "
     "SELECT r.n, r.source, r.stream, r.item, r.unit, r.state, r.reason, r.attempts, r.next_us, "
     "r.at_us, r.refused_by, {seq} {rows} WHERE r.state IN ('owed', 'dead') "
     "ON CONFLICT (source, stream, item) DO UPDATE SET state = excluded.state, "
     "reason = excluded.reason, attempts = excluded.attempts, next_us = excluded.next_us, "
     "refused_by = excluded.refused_by, seq = excluded.seq"},
    {RECORD_OWED, NULL, false,
     "INSERT INTO owed (id, source, stream, item, unit, state, reason, attempts, next_us, "
     "since_us, refused_by, seq) "
     "SELECT r.n, r.source, r.stream, r.item, r.unit, 'owed', r.reason, r.attempts, r.next_us, "
     "r.at_us, r.refused_by, {seq} {rows} WHERE r.state = 'new' "
     "ON CONFLICT (source, stream, item) DO NOTHING"},
    {RECORD_OWED, NULL, false,
     "DELETE FROM owed WHERE (source, stream, item) IN "
     "(SELECT r.source, r.stream, r.item {rows} WHERE r.state = 'done')"},
    {RECORD_GAP, NULL, false,
     "UPDATE gaps SET closed_us = (SELECT max(r.closed_us) {rows} WHERE r.source = gaps.source "
     "AND r.stream = gaps.stream AND r.from_us <= gaps.from_us AND r.to_us >= gaps.to_us), "
     "seq = {seq} WHERE closed_us IS NULL AND EXISTS (SELECT 1 {rows} "
     "WHERE r.closed_us IS NOT NULL AND r.source = gaps.source AND r.stream = gaps.stream "
     "AND r.from_us <= gaps.from_us AND r.to_us >= gaps.to_us)"},
    {RECORD_GAP, NULL, false,
     "INSERT INTO gaps (id, source, stream, from_us, to_us, reason, detected_us, closed_us, seq) "
     "SELECT r.n, r.source, r.stream, r.from_us, r.to_us, r.reason, r.detected_us, r.closed_us, "
     "{seq} {rows} WHERE true "
     "ON CONFLICT (source, stream, from_us, to_us) DO UPDATE SET closed_us = excluded.closed_us, "
     "reason = excluded.reason, seq = excluded.seq"},
    {RECORD_COVERAGE, NULL, true,
     "INSERT INTO coverage (source, stream, lo, hi) SELECT r.source, r.stream, "
     "coalesce((SELECT min(c.lo) FROM coverage c WHERE c.source = r.source "
     "AND c.stream = r.stream AND c.lo < r.lo AND c.hi >= r.lo), r.lo), "
     "coalesce((SELECT max(c.hi) FROM coverage c WHERE c.source = r.source "
     "AND c.stream = r.stream AND c.lo <= r.hi AND c.hi > r.hi), r.hi) {rows} WHERE true "
     "ON CONFLICT (source, stream, lo) DO UPDATE SET hi = excluded.hi "
     "WHERE excluded.hi > coverage.hi"},
    {RECORD_COVERAGE, NULL, true,
     "DELETE FROM coverage WHERE (source, stream, lo) IN "
     "(SELECT c.source, c.stream, c.lo {rows with} coverage o, coverage c "
     "WHERE o.source = r.source AND o.stream = r.stream AND c.source = r.source "
     "AND c.stream = r.stream AND o.lo < c.lo AND o.hi >= c.hi)"},
    {RECORD_PROVIDER, NULL, false,
     "INSERT INTO providers (source, name, state, reason, chosen, updated_us) "
     "SELECT r.source, r.name, r.state, r.reason, r.chosen, r.at_us {rows} WHERE true "
     "ON CONFLICT (source, name) DO UPDATE SET state = excluded.state, "
     "reason = excluded.reason, chosen = excluded.chosen, updated_us = excluded.updated_us"},
    {RECORD_PRUNE, NULL, false,
     "DELETE FROM tombstones WHERE (collection, key) IN (SELECT t.collection, t.key {rows with} "
     "tombstones t WHERE t.at_us < r.tombstones_us ORDER BY t.at_us LIMIT 500)"},
    {RECORD_PRUNE, NULL, false,
     "DELETE FROM gaps WHERE id IN (SELECT g.id {rows with} gaps g "
     "WHERE g.closed_us < r.gaps_us ORDER BY g.closed_us LIMIT 500)"},
    {RECORD_RESET, NULL, false,
     "DELETE FROM coverage WHERE EXISTS (SELECT 1 {rows} WHERE r.source = coverage.source "
     "AND (r.stream IS NULL OR r.stream = coverage.stream))"},
    {RECORD_RESET, NULL, false,
     "DELETE FROM cursors WHERE EXISTS (SELECT 1 {rows} WHERE r.source = cursors.source "
     "AND (r.stream IS NULL OR r.stream = cursors.stream))"},
    {RECORD_RESET, NULL, false,
     "DELETE FROM jetstream_state WHERE EXISTS (SELECT 1 {rows} WHERE r.source = 'jetstream') "
     "AND NOT EXISTS (SELECT 1 FROM cursors c WHERE c.source = 'jetstream' "
     "AND c.position IS NOT NULL)"},
    {RECORD_RESET, NULL, false,
     "UPDATE jetstream_state SET last_updated = CURRENT_TIMESTAMP, cursor_time_us = "
     "(SELECT min(c.position) FROM cursors c WHERE c.source = 'jetstream') "
     "WHERE EXISTS (SELECT 1 {rows} WHERE r.source = 'jetstream')"},
    {RECORD_CURSOR, NULL, false,
     "INSERT INTO cursors (source, stream, state, position, updated_us, seq) "
     "SELECT r.source, r.stream, r.state, r.position, r.at_us, {seq} {rows} WHERE true "
     "ON CONFLICT (source, stream) DO UPDATE SET state = excluded.state, "
     "position = excluded.position, updated_us = excluded.updated_us, seq = excluded.seq"},
    {RECORD_CURSOR, NULL, false,
     "INSERT INTO meta (id, cursor, block_number) SELECT r.stream, r.state, r.position {rows} "
     "WHERE r.source = 'content' AND r.position IS NOT NULL "
     "ON CONFLICT (id) DO UPDATE SET cursor = excluded.cursor, "
     "block_number = excluded.block_number"},
    {RECORD_CURSOR, NULL, false,
     "INSERT INTO jetstream_state (id, cursor_time_us, last_updated) "
     "SELECT 1, min(c.position), CURRENT_TIMESTAMP FROM cursors c WHERE c.source = 'jetstream' "
     "AND EXISTS (SELECT 1 {rows} WHERE r.source = 'jetstream') "
     "HAVING min(c.position) IS NOT NULL "
     "ON CONFLICT (id) DO UPDATE SET cursor_time_us = excluded.cursor_time_us, "
     "last_updated = excluded.last_updated"},
};
/* clang-format on */
const size_t statement_count = sizeof statements / sizeof statements[0];

static bool concerns(const struct statement *statement, const struct record *record)
{
    if (statement->only == NULL)
        return true;
    const struct field *field = &record->fields[statement->only->field];
    return !field->null && field->i == statement->only->value;
}

size_t statement_choose(const struct statement *statement, const struct commit *commit,
                        const struct record **chosen)
{
    size_t count = 0;
    for (size_t i = commit->begin[statement->kind]; i < commit->begin[statement->kind + 1]; i++)
        if (concerns(statement, commit->records[i]))
            chosen[count++] = commit->records[i];
    return count;
}

static uint8_t find_field(const struct record_kind *kind, struct bytes name)
{
    if (bytes_equal_string(name, "n"))
        return PARAM_N;
    uint8_t at = 0;
    while (at < kind->field_count && !bytes_equal_string(name, kind->field_names[at]))
        at++;
    assert(at < kind->field_count);
    return at;
}

/* Collects, in order of first use, the fields that the statement reads. */
static size_t collect_fields(const struct statement *statement, uint8_t *params)
{
    const struct record_kind *kind = &record_kinds[statement->kind];
    size_t count = 0;
    for (const char *at = statement->sql; (at = strstr(at, "r.")) != NULL; at += 2) {
        if (at > statement->sql && (isalnum((unsigned char)at[-1]) || at[-1] == '_'))
            continue;
        size_t len = strspn(at + 2, "abcdefghijklmnopqrstuvwxyz_");
        uint8_t field = find_field(kind, bytes_make(at + 2, len));
        if (count == 0 || memchr(params, field, count) == NULL) {
            assert(count + 1 < STATEMENT_PARAMS_MAX);
            params[count++] = field;
        }
    }
    return count;
}

static const char *field_name(const struct record_kind *kind, uint8_t field)
{
    return field == PARAM_N ? "n" : kind->field_names[field];
}

static const char *array_type(const struct record_kind *kind, uint8_t field)
{
    static const char *const names[] = {[FIELD_INT] = "int8[]",
                                        [FIELD_TEXT] = "text[]",
                                        [FIELD_BLOB] = "bytea[]",
                                        [FIELD_REAL] = "float8[]"};
    return field == PARAM_N ? "int8[]" : names[kind->field_types[field]];
}

/* `{rows}` for PostgreSQL. */
static void append_arrays(const struct record_kind *kind, struct text *sql, const uint8_t *params,
                          size_t count)
{
    text_append_string(sql, "FROM unnest(");
    for (size_t i = 0; i < count; i++)
        text_appendf(sql, "%s$%zu::%s", i > 0 ? ", " : "", i + 1, array_type(kind, params[i]));
    text_append_string(sql, ") AS r(");
    for (size_t i = 0; i < count; i++)
        text_appendf(sql, "%s%s", i > 0 ? ", " : "", field_name(kind, params[i]));
    text_append_char(sql, ')');
}

/* Appends what stands at `at` and returns what follows it. */
static const char *expand_one(const char *at, const struct record_kind *kind, enum dialect dialect,
                              struct text *sql, const uint8_t *params, size_t fields)
{
    bool with = strncmp(at, "{rows with}", 11) == 0;
    if (with || strncmp(at, "{rows}", 6) == 0) {
        if (dialect == DIALECT_POSTGRES)
            append_arrays(kind, sql, params, fields);
        else
            text_appendf(sql, "FROM " STATEMENT_ROWS_PREFIX "%s r", kind->name);
        if (with)
            text_append_string(sql, " CROSS JOIN"); /* SQLite: the records are the outer loop */
        return at + (with ? 11 : 6);
    }
    if (strncmp(at, "{seq}", 5) == 0) {
        text_appendf(sql, dialect == DIALECT_SQLITE ? "?1" : "$%zu::int8", fields + 1);
        return at + 5;
    }
    text_append_char(sql, *at);
    return at + 1;
}

size_t statement_expand(const struct statement *statement, enum dialect dialect, struct text *sql,
                        uint8_t params[STATEMENT_PARAMS_MAX])
{
    size_t fields = collect_fields(statement, params);
    text_clear(sql);
    for (const char *at = statement->sql; *at != '\0';)
        at = expand_one(at, &record_kinds[statement->kind], dialect, sql, params, fields);
    if (dialect == DIALECT_SQLITE)
        fields = 0;
    if (strstr(statement->sql, "{seq}") == NULL)
        return fields;
    params[fields] = PARAM_SEQ;
    return fields + 1;
}
