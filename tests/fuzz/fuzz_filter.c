/* SPDX-License-Identifier: Apache-2.0
 *
 * Any JSON: it is refused with a sentence, or SQLite reads the SQL made of it, matches the same
 * rows as the C evaluation does, and the filter reads back from its own JSON. */
#include "base/arena.h"
#include "fixture.h"
#include "query/filter.h"
#include "store/store.h"
#include "thing_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_MAX ((size_t)1 << 20)
#define ROWS      3
#define COLUMNS   (THING_VALUE_COUNT + 3)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct column columns[COLUMNS] = {
    THING_NUMBER,
    THING_VALUES,
    {"r", COLUMN_BYTES, "t.r", NULL, true},
    {"m", COLUMN_TEXT, "CASE WHEN t.b = 1 THEN t.s ELSE 'x' END", NULL, true},
};
static const struct collection things = {
    THING_TABLE,
    .columns = columns,
    .column_count = COLUMNS,
    .page_size = 10,
};
static const struct field rows[ROWS][COLUMNS] = {
    {{.type = FIELD_INT, .i = 0},
     {.type = FIELD_TEXT, .b = {"abc", 3}},
     {.type = FIELD_INT, .i = INT64_MAX},
     {.type = FIELD_INT, .i = 0},
     {.type = FIELD_INT, .i = 1},
     {.type = FIELD_REAL, .d = 0.5},
     {.type = FIELD_TEXT, .b = {"{}", 2}},
     {.type = FIELD_BLOB, .b = {"a\0b", 3}},
     {.type = FIELD_TEXT, .b = {"abc", 3}}},
    {{.type = FIELD_INT, .i = 1},
     {.type = FIELD_TEXT, .b = {"", 0}},
     {.type = FIELD_INT, .i = INT64_MIN},
     {.type = FIELD_INT, .i = -1},
     {.type = FIELD_INT, .i = 0},
     {.type = FIELD_REAL, .d = -1e308},
     {.type = FIELD_TEXT, .null = true},
     {.type = FIELD_BLOB, .b = {"", 0}},
     {.type = FIELD_TEXT, .b = {"x", 1}}},
    {{.type = FIELD_INT, .i = 2},
     {.type = FIELD_TEXT, .null = true},
     {.type = FIELD_TEXT, .null = true},
     {.type = FIELD_TEXT, .null = true},
     {.type = FIELD_INT, .i = 1},
     {.type = FIELD_TEXT, .null = true},
     {.type = FIELD_TEXT, .null = true},
     {.type = FIELD_TEXT, .null = true},
     {.type = FIELD_TEXT, .null = true}},
};

static struct fixture fixture;
static struct store *store;
static struct json_doc *doc;

static void close_all(void)
{
    store_close(store);
    json_doc_free(doc);
    fixture_close(&fixture);
}

static void open_all(void)
{
    struct err err;
    doc = json_doc_new(BYTES_MAX, JSON_DEPTH_MAX);
    fixture_open(&fixture, FIXTURE_SQLITE);
    enum rc rc = store_open(fixture.url, STORE_WRITE, &store, &err);
    assert(rc == RC_OK);
    rc = store->ops->script(
        store,
        "CREATE TABLE thing (n INTEGER PRIMARY KEY, s TEXT, i INTEGER, t INTEGER, b INTEGER, "
        "f REAL, j TEXT, r BLOB);"
        "INSERT INTO thing VALUES (0, 'abc', 9223372036854775807, 0, 1, 0.5, '{}', X'610062'),"
        "(1, '', -9223372036854775808, -1, 0, -1e308, NULL, X''),"
        "(2, NULL, NULL, NULL, 1, NULL, NULL, NULL)",
        &err);
    assert(rc == RC_OK);
    atexit(close_all);
}

static bool take_match(void *arg, const struct field *values, size_t count)
{
    bool *matched = arg;
    assert(count == 1);
    matched[values[0].i] = true;
    return true;
}

static void check_sql(const struct filter *filter)
{
    struct where where = filter_where(filter);
    struct text sql = {0};
    struct err err;
    bool matched[ROWS] = {false};
    assert(where.count <= WHERE_PARAMS_MAX);
    text_appendf(&sql, "SELECT t.n FROM %s WHERE %s", things.table, where.sql);
    enum rc rc =
        store_query(store, text_string(&sql), where.params, where.count, take_match, matched, &err);
    assert(rc == RC_OK);
    for (size_t i = 0; i < ROWS; i++)
        assert(matched[i] == filter_matches(filter, rows[i]));
    text_free(&sql);
}

static void check_again(const struct filter *filter)
{
    struct filter *again;
    struct refusal refusal;
    struct json json;
    struct err err;
    enum rc rc = json_parse_copy(doc, filter_json(filter), &json, &err);
    assert(rc == RC_OK);
    rc = filter_parse(&things, json, &again, &refusal);
    assert(rc == RC_OK && again != NULL);
    assert(strcmp(filter_where(again).sql, filter_where(filter).sql) == 0);
    assert(filter_fixed(again) == filter_fixed(filter));
    filter_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct filter *filter;
    struct refusal refusal = {0};
    struct json json;
    struct err err;
    if (store == NULL)
        open_all();
    if (json_parse_copy(doc, bytes_make(data, size), &json, &err) != RC_OK)
        return 0;
    enum rc rc = filter_parse(&things, json, &filter, &refusal);
    if (rc != RC_OK) {
        assert(rc == RC_REJECT && filter == NULL);
        assert(refusal.code != REFUSAL_NONE && refusal.err.text[0] != '\0');
    } else if (filter != NULL) {
        check_sql(filter);
        check_again(filter);
    }
    filter_free(filter);
    return 0;
}
