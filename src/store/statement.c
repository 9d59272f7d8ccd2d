/* SPDX-License-Identifier: Apache-2.0 */
#include "store/statement.h"

#include "store/commit.h"
#include "store/row_table.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

/* What others refer to comes first, cursors last. */
static const struct statement_group *const groups[] = {
    &statements_accounts, &statements_posts,     &statements_links,   &statements_cards,
    &statements_pictures, &statements_shares,    &statements_follows, &statements_backfill,
    &statements_ledger,   &statements_content,   &statements_rows,    &statements_retention,
    &statements_engine,   &statements_gap_sweep,
};
#define GROUP_COUNT (sizeof groups / sizeof groups[0])

static size_t count_constant(void)
{
    size_t count = 0;
    for (size_t i = 0; i < GROUP_COUNT; i++)
        count += groups[i]->count;
    assert(count <= STATEMENTS_MAX);
    return count;
}

size_t statement_count(const struct row_tables *declared)
{
    return count_constant() + (declared == NULL ? 0 : declared->count * ROW_TABLE_STATEMENTS);
}

const struct statement *statement_at(const struct row_tables *declared, size_t which)
{
    size_t group = 0;
    assert(which < statement_count(declared));
    while (group < GROUP_COUNT && which >= groups[group]->count)
        which -= groups[group++]->count;
    if (group < GROUP_COUNT)
        return &groups[group]->statements[which];
    return &declared->items[which / ROW_TABLE_STATEMENTS]->statements[which % ROW_TABLE_STATEMENTS];
}

static bool concerns(const struct statement *statement, const struct record *record)
{
    if (statement->has != 0 && record->fields[statement->has].null)
        return false;
    if (statement->only == NULL)
        return true;
    const struct field *field = &record->fields[statement->only->field];
    return !field->null && field->i == statement->only->value;
}

static bool follows_any(uint32_t after, const struct commit *commit)
{
    for (enum record_id id = 0; id < RECORD_ID_COUNT; id++)
        if ((after >> id & 1) != 0 && commit->begin[id] < commit->begin[id + 1])
            return true;
    return false;
}

size_t statement_choose(const struct statement *statement, const struct commit *commit,
                        const struct record **chosen)
{
    size_t count = 0;
    if (statement->after != 0) {
        chosen[0] = NULL;
        return follows_any(statement->after, commit) ? 1 : 0;
    }
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
        size_t len = strspn(at + 2, "abcdefghijklmnopqrstuvwxyz_0123456789");
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

static const char *array_type(const struct statement *statement, uint8_t field)
{
    static const char *const names[] = {[FIELD_INT] = "int8[]",
                                        [FIELD_TEXT] = "text[]",
                                        [FIELD_BLOB] = "bytea[]",
                                        [FIELD_REAL] = "float8[]"};
    if (field == PARAM_N)
        return names[FIELD_INT];
    if (statement->columns != NULL && field >= ROW_COLUMNS)
        return names[statement->columns[field - ROW_COLUMNS]];
    return names[record_kinds[statement->kind].field_types[field]];
}

/* `{rows}` for PostgreSQL. */
static void append_arrays(const struct statement *statement, struct text *sql,
                          const uint8_t *params, size_t count)
{
    const struct record_kind *kind = &record_kinds[statement->kind];
    text_append_string(sql, "FROM (SELECT ");
    for (size_t i = 0; i < count; i++)
        text_appendf(sql, "%sunnest($%zu::%s) AS %s", i > 0 ? ", " : "", i + 1,
                     array_type(statement, params[i]), field_name(kind, params[i]));
    text_append_string(sql, ") AS r");
}

/* `{time EXPRESSION}` from its first brace to its last. */
static const char *append_time(const char *at, enum dialect dialect, struct text *sql)
{
    const char *expression = at + 6, *end = strchr(at, '}');
    assert(end != NULL);
    int len = (int)(end - expression);
    if (dialect == DIALECT_SQLITE)
        text_appendf(sql, "strftime('%%Y-%%m-%%d %%H:%%M:%%f', (%.*s) / 1000000.0, 'unixepoch')",
                     len, expression);
    else
        text_appendf(sql, "(timestamp 'epoch' + (%.*s) * interval '1 microsecond')", len,
                     expression);
    return end + 1;
}

/* `{json EXPRESSION}` from its first brace to its last. */
static const char *append_json(const char *at, enum dialect dialect, struct text *sql)
{
    const char *expression = at + 6, *end = strchr(at, '}');
    assert(end != NULL);
    text_appendf(sql,
                 dialect == DIALECT_SQLITE ? "json_quote(%.*s)"
                                           : "coalesce(to_json(%.*s)::text, 'null')",
                 (int)(end - expression), expression);
    return end + 1;
}

/* `{member KEY EXPRESSION}` from its first brace to its last. A member that is null is one. */
static const char *append_member(const char *at, enum dialect dialect, struct text *sql)
{
    const char *key = at + 8, *end = strchr(at, '}');
    assert(end != NULL);
    int len = (int)strcspn(key, " ");
    const char *expression = key + len + 1;
    assert(expression < end);
    int rest = (int)(end - expression);
    if (dialect == DIALECT_SQLITE)
        text_appendf(sql, "json_type(%.*s, '$.\"%.*s\"') IS NOT NULL", rest, expression, len, key);
    else
        text_appendf(sql, "((%.*s)::json -> '%.*s') IS NOT NULL", rest, expression, len, key);
    return end + 1;
}

/* `{by INDEX}` from its first brace to its last. */
static const char *append_index(const char *at, enum dialect dialect, struct text *sql)
{
    const char *index = at + 4, *end = strchr(at, '}');
    assert(end != NULL);
    if (dialect == DIALECT_SQLITE)
        text_appendf(sql, "INDEXED BY %.*s", (int)(end - index), index);
    return end + 1;
}

/* Appends what stands at `at` and returns what follows it. */
static const char *expand_one(const char *at, const struct statement *statement,
                              enum dialect dialect, struct text *sql, const uint8_t *params,
                              size_t fields)
{
    bool with = strncmp(at, "{rows with}", 11) == 0;
    if (with || strncmp(at, "{rows}", 6) == 0) {
        if (dialect == DIALECT_POSTGRES)
            append_arrays(statement, sql, params, fields);
        else
            text_appendf(sql, "FROM " STATEMENT_ROWS_PREFIX "%s r",
                         record_kinds[statement->kind].name);
        if (with)
            text_append_string(sql, " CROSS JOIN"); /* SQLite: the records are the outer loop */
        return at + (with ? 11 : 6);
    }
    if (strncmp(at, "{seq}", 5) == 0) {
        text_appendf(sql, dialect == DIALECT_SQLITE ? "?1" : "$%zu::int8", fields + 1);
        return at + 5;
    }
    if (strncmp(at, "{time ", 6) == 0)
        return append_time(at, dialect, sql);
    if (strncmp(at, "{json ", 6) == 0)
        return append_json(at, dialect, sql);
    if (strncmp(at, "{member ", 8) == 0)
        return append_member(at, dialect, sql);
    if (strncmp(at, "{by ", 4) == 0)
        return append_index(at, dialect, sql);
    text_append_char(sql, *at);
    return at + 1;
}

size_t statement_expand(const struct statement *statement, enum dialect dialect, struct text *sql,
                        uint8_t params[STATEMENT_PARAMS_MAX])
{
    size_t fields = collect_fields(statement, params);
    text_clear(sql);
    for (const char *at = statement->sql; *at != '\0';)
        at = expand_one(at, statement, dialect, sql, params, fields);
    if (dialect == DIALECT_SQLITE)
        fields = 0;
    if (strstr(statement->sql, "{seq}") == NULL)
        return fields;
    params[fields] = PARAM_SEQ;
    return fields + 1;
}
