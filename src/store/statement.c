/* SPDX-License-Identifier: Apache-2.0 */
#include "store/statement.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#define POST_KEY "r.did || '/' || r.collection || '/' || r.rkey"
#define POST_OF_RECORD                                                                             \
    "JOIN actors a ON a.did = r.did "                                                              \
    "JOIN post p ON p.actor = a.id AND p.collection = r.collection AND p.rkey = r.rkey "

/* clang-format off */
const struct statement statements[] = {
    {RECORD_POST, false,
     "INSERT INTO actors (id, did) SELECT r.n, r.did FROM {rows} WHERE r.op = 0 "
     "ON CONFLICT (did) DO NOTHING"},
    {RECORD_POST, false,
     "INSERT INTO tombstones (collection, key, rev, n, seq, at_us) "
     "SELECT 'posts', " POST_KEY ", r.rev, p.n, {seq}, r.shared_us "
     "FROM {rows} LEFT JOIN actors a ON a.did = r.did "
     "LEFT JOIN post p ON p.actor = a.id AND p.collection = r.collection AND p.rkey = r.rkey "
     "WHERE r.op = 1 "
     "ON CONFLICT (collection, key) DO UPDATE SET rev = excluded.rev, "
     "n = coalesce(excluded.n, tombstones.n), seq = excluded.seq, at_us = excluded.at_us "
     "WHERE excluded.rev > tombstones.rev"},
    {RECORD_POST, false,
     "DELETE FROM post WHERE n IN (SELECT p.n FROM {rows} " POST_OF_RECORD
     "WHERE r.op = 1 AND (p.rev IS NULL OR p.rev <= r.rev))"},
    {RECORD_POST, false,
     "INSERT INTO post (n, seq, actor, collection, rkey, kind, rev, shared_us, created_us, body, "
     "subject) "
     "SELECT r.n, {seq}, a.id, r.collection, r.rkey, r.kind, r.rev, r.shared_us, r.created_us, "
     "r.body, r.subject "
     "FROM {rows} JOIN actors a ON a.did = r.did "
     "WHERE r.op = 0 AND NOT EXISTS (SELECT 1 FROM tombstones t WHERE t.collection = 'posts' "
     "AND t.key = " POST_KEY " AND t.rev >= r.rev) "
     "ON CONFLICT (actor, collection, rkey) DO UPDATE SET seq = excluded.seq, rev = excluded.rev, "
     "kind = excluded.kind, created_us = excluded.created_us, body = excluded.body, "
     "subject = excluded.subject, shared_us = CASE WHEN excluded.shared_us < post.shared_us "
     "THEN excluded.shared_us ELSE post.shared_us END "
     "WHERE post.rev IS NULL OR excluded.rev > post.rev"},
    {RECORD_ACCOUNT, false,
     "INSERT INTO actors (id, did, active, status, status_us) "
     "SELECT r.n, r.did, r.active, r.status, r.at_us FROM {rows} WHERE true "
     "ON CONFLICT (did) DO UPDATE SET active = excluded.active, status = excluded.status, "
     "status_us = excluded.status_us "
     "WHERE actors.status_us IS NULL OR excluded.status_us > actors.status_us"},
    {RECORD_IDENTITY, false,
     "INSERT INTO actors (id, did, handle, handle_us) "
     "SELECT r.n, r.did, r.handle, r.at_us FROM {rows} WHERE true "
     "ON CONFLICT (did) DO UPDATE SET handle = excluded.handle, handle_us = excluded.handle_us "
     "WHERE actors.handle_us IS NULL OR excluded.handle_us > actors.handle_us"},
    {RECORD_QUARANTINE, false,
     "INSERT INTO quarantine (id, source, provider, digest, raw, size, reason, at_us, seq) "
     "SELECT r.n, r.source, r.provider, r.digest, r.raw, r.size, r.reason, r.at_us, {seq} "
     "FROM {rows} WHERE true ON CONFLICT (source, digest) DO UPDATE SET "
     "times = quarantine.times + 1, at_us = excluded.at_us, seq = excluded.seq"},
    {RECORD_OWED, false,
     "INSERT INTO owed (id, source, stream, item, unit, state, reason, attempts, next_us, "
     "since_us, refused_by, seq) "
     "SELECT r.n, r.source, r.stream, r.item, r.unit, r.state, r.reason, r.attempts, r.next_us, "
     "r.at_us, r.refused_by, {seq} FROM {rows} WHERE r.state IN ('owed', 'dead') "
     "ON CONFLICT (source, stream, item) DO UPDATE SET state = excluded.state, "
     "reason = excluded.reason, attempts = excluded.attempts, next_us = excluded.next_us, "
     "refused_by = excluded.refused_by, seq = excluded.seq"},
    {RECORD_OWED, false,
     "INSERT INTO owed (id, source, stream, item, unit, state, reason, attempts, next_us, "
     "since_us, refused_by, seq) "
     "SELECT r.n, r.source, r.stream, r.item, r.unit, 'owed', r.reason, r.attempts, r.next_us, "
     "r.at_us, r.refused_by, {seq} FROM {rows} WHERE r.state = 'new' "
     "ON CONFLICT (source, stream, item) DO NOTHING"},
    {RECORD_OWED, false,
     "DELETE FROM owed WHERE EXISTS (SELECT 1 FROM {rows} WHERE r.state = 'done' "
     "AND r.source = owed.source AND r.stream = owed.stream AND r.item = owed.item)"},
    {RECORD_GAP, false,
     "INSERT INTO gaps (id, source, stream, from_us, to_us, reason, detected_us, closed_us, seq) "
     "SELECT r.n, r.source, r.stream, r.from_us, r.to_us, r.reason, r.detected_us, r.closed_us, "
     "{seq} FROM {rows} WHERE true "
     "ON CONFLICT (source, stream, from_us, to_us) DO UPDATE SET closed_us = excluded.closed_us, "
     "reason = excluded.reason, seq = excluded.seq"},
    {RECORD_COVERAGE, true,
     "INSERT INTO coverage (source, stream, lo, hi) SELECT r.source, r.stream, "
     "coalesce((SELECT min(c.lo) FROM coverage c WHERE c.source = r.source "
     "AND c.stream = r.stream AND c.lo < r.lo AND c.hi >= r.lo), r.lo), "
     "coalesce((SELECT max(c.hi) FROM coverage c WHERE c.source = r.source "
     "AND c.stream = r.stream AND c.lo <= r.hi AND c.hi > r.hi), r.hi) FROM {rows} WHERE true "
     "ON CONFLICT (source, stream, lo) DO UPDATE SET hi = excluded.hi "
     "WHERE excluded.hi > coverage.hi"},
    {RECORD_COVERAGE, true,
     "DELETE FROM coverage WHERE EXISTS (SELECT 1 FROM {rows} JOIN coverage o "
     "ON o.source = r.source AND o.stream = r.stream WHERE o.source = coverage.source "
     "AND o.stream = coverage.stream AND o.lo < coverage.lo AND o.hi >= coverage.hi)"},
    {RECORD_PROVIDER, false,
     "INSERT INTO providers (source, name, state, health, updated_us) "
     "SELECT r.source, r.name, r.state, r.health, r.at_us FROM {rows} WHERE true "
     "ON CONFLICT (source, name) DO UPDATE SET state = excluded.state, "
     "health = excluded.health, updated_us = excluded.updated_us"},
    {RECORD_RESET, false,
     "DELETE FROM coverage WHERE EXISTS (SELECT 1 FROM {rows} WHERE r.source = coverage.source "
     "AND (r.stream IS NULL OR r.stream = coverage.stream))"},
    {RECORD_RESET, false,
     "DELETE FROM cursors WHERE EXISTS (SELECT 1 FROM {rows} WHERE r.source = cursors.source "
     "AND (r.stream IS NULL OR r.stream = cursors.stream))"},
    {RECORD_CURSOR, false,
     "INSERT INTO cursors (source, stream, state, position, updated_us, seq) "
     "SELECT r.source, r.stream, r.state, r.position, r.at_us, {seq} FROM {rows} WHERE true "
     "ON CONFLICT (source, stream) DO UPDATE SET state = excluded.state, "
     "position = excluded.position, updated_us = excluded.updated_us, seq = excluded.seq"},
    {RECORD_CURSOR, false,
     "INSERT INTO jetstream_state (id, cursor_time_us, last_updated) "
     "SELECT 1, min(c.position), CURRENT_TIMESTAMP FROM cursors c WHERE c.source = 'jetstream' "
     "AND EXISTS (SELECT 1 FROM {rows} WHERE r.source = 'jetstream') "
     "HAVING min(c.position) IS NOT NULL "
     "ON CONFLICT (id) DO UPDATE SET cursor_time_us = excluded.cursor_time_us, "
     "last_updated = excluded.last_updated"},
};
/* clang-format on */
const size_t statement_count = sizeof statements / sizeof statements[0];

static uint8_t find_field(const struct record_kind *kind, struct bytes name)
{
    if (bytes_equal_string(name, "n"))
        return PARAM_N;
    uint8_t i = 0;
    while (i < kind->field_count && !bytes_equal_string(name, kind->field_names[i]))
        i++;
    assert(i < kind->field_count); /* else the statement names what its kind does not have */
    return i;
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

static void append_rows(const struct statement *statement, enum dialect dialect, struct text *sql,
                        const uint8_t *params, size_t count)
{
    const struct record_kind *kind = &record_kinds[statement->kind];
    text_append_string(sql, dialect == DIALECT_SQLITE ? "(SELECT " : "unnest(");
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            text_append_string(sql, ", ");
        if (dialect == DIALECT_SQLITE)
            text_appendf(sql, "?%zu AS %s", i + 1, field_name(kind, params[i]));
        else
            text_appendf(sql, "$%zu::%s", i + 1, array_type(kind, params[i]));
    }
    text_append_string(sql, dialect == DIALECT_SQLITE ? ") r" : ") AS r(");
    for (size_t i = 0; dialect == DIALECT_POSTGRES && i < count; i++)
        text_appendf(sql, "%s%s", i > 0 ? ", " : "", field_name(kind, params[i]));
    if (dialect == DIALECT_POSTGRES)
        text_append_char(sql, ')');
}

size_t statement_expand(const struct statement *statement, enum dialect dialect, struct text *sql,
                        uint8_t params[STATEMENT_PARAMS_MAX])
{
    size_t fields = collect_fields(statement, params);
    size_t count = fields;
    text_clear(sql);
    for (const char *at = statement->sql; *at != '\0';) {
        if (strncmp(at, "{rows}", 6) == 0) {
            append_rows(statement, dialect, sql, params, fields);
            at += 6;
        } else if (strncmp(at, "{seq}", 5) == 0) {
            if (count == fields)
                params[count++] = PARAM_SEQ;
            text_appendf(sql, dialect == DIALECT_SQLITE ? "?%zu" : "$%zu::int8", fields + 1);
            at += 5;
        } else {
            text_append_char(sql, *at++);
        }
    }
    return count;
}
