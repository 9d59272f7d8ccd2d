/* SPDX-License-Identifier: Apache-2.0
 *
 * Random filters over random rows, judged four ways: by SQL on each store, by the product's C, and
 * by a model that reads the JSON itself and knows nothing of tests and groups. */
#include "both_stores.h"
#include "chance.h"
#include "filter_model.h"
#include "query/filter.h"
#include "store/store.h"

#include <string.h>

#include <cmocka.h>

#define ROWS    96
#define COLUMNS 10
#define FILTERS 4000

struct rows {
    struct field values[ROWS][COLUMNS];
    bool matched[ROWS]; /* by SQL */
};

struct bench {
    struct fixture fixture;
    struct store *store;
    struct json_doc *doc;
    struct chance chance;
    struct rows rows;
    struct err err;
};

static uint64_t answers[2][FILTERS]; /* which rows matched, by store */
static size_t matches_total;

/* ---- what there is ---- */

static const struct column columns[COLUMNS] = {
    {"id", COLUMN_ID, "t.n", "t.n", false},
    {"name", COLUMN_TEXT, "t.name", "t.name", true},
    {"size", COLUMN_INT, "t.size", "t.size", true},
    {"at", COLUMN_TIME, "t.at_us", "t.at_us", true},
    {"open", COLUMN_BOOL, "t.open", "t.open", false},
    {"score", COLUMN_FLOAT, "t.score", "t.score", true},
    {"more", COLUMN_JSON, "t.more", NULL, true},
    {"raw", COLUMN_BYTES, "t.raw", NULL, true},
    {"label", COLUMN_TEXT, "CASE WHEN t.open = 1 THEN t.name || 'a' ELSE 'A' END", NULL, true},
    {"owner", COLUMN_TEXT, "o.name", NULL, true},
};
static const struct collection things = {
    .name = "things",
    .table = "thing t",
    .joins = "LEFT JOIN owner o ON o.id = t.owner",
    .n = "t.n",
    .columns = columns,
    .column_count = COLUMNS,
    .page_size = 10,
};

struct value {
    const char *json, *sqlite, *postgres; /* no words for PostgreSQL: the same */
};

static const struct value texts[] = {
    {"\"\"", "''", NULL},
    {"\"a\"", "'a'", NULL},
    {"\"A\"", "'A'", NULL},
    {"\"aa\"", "'aa'", NULL},
    {"\"ab\"", "'ab'", NULL},
    {"\"a'b\"", "'a''b'", NULL},
    {"\"%\"", "'%'", NULL},
    {"\"a_b\"", "'a_b'", NULL},
    {"\"\\\\\"", "'\\'", NULL},
    {"\"?1\"", "'?1'", NULL},
    {"\"\x7f\"", "'\x7f'", NULL},
    {"\"\xc3\xa4\"", "'\xc3\xa4'", NULL},
    {"\"Z\"", "'Z'", NULL},
    {"\"z \"", "'z '", NULL},
    {"\"1\"", "'1'", NULL},
    {"\"1.0\"", "'1.0'", NULL},
    {"\"e\xcc\x81\"", "'e\xcc\x81'", NULL},
    {"\"\xef\xbf\xbd\"", "'\xef\xbf\xbd'", NULL},
    {"\"\xf0\x9f\x8c\x8a\"", "'\xf0\x9f\x8c\x8a'", NULL},
    {"\"\xf4\x8f\xbf\xbf\"", "'\xf4\x8f\xbf\xbf'", NULL},
};
static const struct value wholes[] = {
    {"0", "0", NULL},
    {"1", "1", NULL},
    {"-1", "-1", NULL},
    {"2", "2", NULL},
    {"9007199254740992", "9007199254740992", NULL},
    {"9007199254740993", "9007199254740993", NULL},
    {"9223372036854775806", "9223372036854775806", NULL},
    {"9223372036854775807", "9223372036854775807", NULL},
    {"-9223372036854775808", "-9223372036854775808", NULL},
};
/* Only compared with, never stored. */
static const struct value fractions[] = {
    {"0.5", NULL, NULL},
    {"-0.5", NULL, NULL},
    {"1.0", NULL, NULL},
    {"1e300", NULL, NULL},
    {"-1e300", NULL, NULL},
    {"9223372036854775808", NULL, NULL},
    {"18446744073709551615", NULL, NULL},
    {"9007199254740993.0", NULL, NULL},
    {"-9223372036854775809.0", NULL, NULL},
    {"9.223372036854775e18", NULL, NULL},
};
static const struct value reals[] = {
    {"0", "0.0", NULL},
    {"-0.0", "-0.0", NULL},
    {"1", "1.0", NULL},
    {"0.1", "0.1", NULL},
    {"-1.5", "-1.5", NULL},
    {"9007199254740993", "9007199254740992.0", NULL},
    {"1.7976931348623157e308", "1.7976931348623157e308", NULL},
    {"-1.7976931348623157e308", "-1.7976931348623157e308", NULL},
    {"5e-324", "5e-324", "'5e-324'::float8"},
    {"2.2250738585072014e-308", "2.2250738585072014e-308", NULL},
    {"1e308", "9e999", "'Infinity'::float8"},
};
static const struct value times[] = {
    {"\"1970-01-01T00:00:00Z\"", "0", NULL},
    {"\"1970-01-01T00:00:00.000001Z\"", "1", NULL},
    {"\"1969-12-31T23:59:59.999999Z\"", "-1", NULL},
    {"\"2026-01-31T10:00:00+01:00\"", "1769850000000000", NULL},
    {"\"9999-12-31T23:59:59.999999Z\"", "253402300799999999", NULL},
    {"\"0000-01-01T00:00:00Z\"", "-62167219200000000", NULL},
};
static const struct value bytes_values[] = {
    {"\"\"", "X''", "'\\x'::bytea"},
    {"\"a\"", "X'61'", "'\\x61'::bytea"},
    {"\"ab\"", "X'6162'", "'\\x6162'::bytea"},
    {"\"\x7f\"", "X'61ff00'", "'\\x61ff00'::bytea"},
    {"\"\xc3\xa4\"", "X'c3a4'", "'\\xc3a4'::bytea"},
    {"\"b\"", "X'00'", "'\\x00'::bytea"},
    {"\"aa\"", "X'80'", "'\\x80'::bytea"},
};
static const struct value flags[] = {{"true", "1", NULL}, {"false", "0", NULL}};
static const struct value ids[] = {{"\"1\"", NULL, NULL},
                                   {"\"9\"", NULL, NULL},
                                   {"\"10\"", NULL, NULL},
                                   {"\"-5\"", NULL, NULL},
                                   {"\"9223372036854775807\"", NULL, NULL}};

#define POOL(values)                                                                               \
    {                                                                                              \
        values, sizeof(values) / sizeof(values)[0]                                                 \
    }
static const struct pool {
    const struct value *values;
    size_t count;
} pools[] = {
    [COLUMN_ID] = POOL(ids),     [COLUMN_TEXT] = POOL(texts),         [COLUMN_INT] = POOL(wholes),
    [COLUMN_TIME] = POOL(times), [COLUMN_BOOL] = POOL(flags),         [COLUMN_FLOAT] = POOL(reals),
    [COLUMN_JSON] = POOL(texts), [COLUMN_BYTES] = POOL(bytes_values),
};
static const struct pool halves = POOL(fractions);

static const struct value *choose(struct bench *bench, const struct pool *pool)
{
    return &pool->values[chance_below(&bench->chance, (uint32_t)pool->count)];
}

static void append_literal(struct bench *bench, enum column_type type, bool nullable,
                           struct text *sql)
{
    const struct value *value = choose(bench, &pools[type]);
    bool postgres = both_stores_kind == FIXTURE_POSTGRES && value->postgres != NULL;
    bool null = chance_below(&bench->chance, 5) == 0 && nullable;
    text_appendf(sql, ", %s", null ? "NULL" : postgres ? value->postgres : value->sqlite);
}

static void run(struct bench *bench, const char *sql)
{
    if (bench->store->ops->script(bench->store, sql, &bench->err) != RC_OK)
        fail_msg("%s", bench->err.text);
}

static void make_tables(struct bench *bench)
{
    static const char *const sql[] = {
        [FIXTURE_SQLITE] = "CREATE TABLE owner (id INTEGER PRIMARY KEY, name TEXT);"
                           "CREATE TABLE thing (n INTEGER PRIMARY KEY, name TEXT, size INTEGER, "
                           "at_us INTEGER, open INTEGER NOT NULL, score REAL, more TEXT, raw BLOB, "
                           "owner INTEGER)",
        [FIXTURE_POSTGRES] =
            "CREATE TABLE owner (id BIGINT PRIMARY KEY, name TEXT COLLATE \"C\");"
            "CREATE TABLE thing (n BIGINT PRIMARY KEY, name TEXT COLLATE \"C\", size BIGINT, "
            "at_us BIGINT, open BIGINT NOT NULL, score DOUBLE PRECISION, more TEXT COLLATE \"C\", "
            "raw BYTEA, owner BIGINT)",
    };
    static const enum column_type types[] = {COLUMN_TEXT,  COLUMN_INT,  COLUMN_TIME, COLUMN_BOOL,
                                             COLUMN_FLOAT, COLUMN_JSON, COLUMN_BYTES};
    struct text rows = {0};
    run(bench, sql[both_stores_kind]);
    for (int i = 0; i < 4; i++) {
        text_appendf(&rows, "INSERT INTO owner VALUES (%d", i);
        append_literal(bench, COLUMN_TEXT, true, &rows);
        text_append_string(&rows, ");");
    }
    for (int i = 0; i < ROWS; i++) {
        text_appendf(&rows, "INSERT INTO thing VALUES (%d", i);
        for (size_t k = 0; k < sizeof types / sizeof types[0]; k++)
            append_literal(bench, types[k], types[k] != COLUMN_BOOL, &rows);
        text_appendf(&rows, ", %d);", (int)chance_below(&bench->chance, 6));
    }
    run(bench, text_string(&rows));
    text_free(&rows);
}

static bool take_row(void *arg, const struct field *values, size_t count)
{
    struct rows *rows = arg;
    assert_int_equal(count, COLUMNS);
    struct field *row = rows->values[values[0].i];
    for (size_t i = 0; i < count; i++) {
        row[i] = values[i];
        if (row_key_has_bytes(&row[i])) {
            char *copy = memory_new(row[i].b.len + 1);
            memcpy(copy, row[i].b.data, row[i].b.len);
            row[i].b.data = copy;
        }
    }
    return true;
}

static void read_rows(struct bench *bench)
{
    struct text sql = {0};
    for (size_t i = 0; i < COLUMNS; i++)
        text_appendf(&sql, "%s%s", i == 0 ? "SELECT " : ", ", columns[i].sql);
    text_appendf(&sql, " FROM %s %s", things.table, things.joins);
    if (store_query(bench->store, text_string(&sql), NULL, 0, take_row, &bench->rows,
                    &bench->err) != RC_OK)
        fail_msg("%s", bench->err.text);
    text_free(&sql);
}

/* ---- random filters ---- */

static void append_operand(struct bench *bench, const struct column *column, bool equality,
                           struct text *json)
{
    bool half = column->type == COLUMN_INT && !equality && chance_below(&bench->chance, 3) == 0;
    text_append_string(json, choose(bench, half ? &halves : &pools[column->type])->json);
}

static void append_list(struct bench *bench, const struct column *column, struct text *json)
{
    uint32_t count = chance_below(&bench->chance, 4);
    text_append_char(json, '[');
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0)
            text_append_char(json, ',');
        if (chance_below(&bench->chance, 5) == 0)
            text_append_string(json, "null");
        else
            append_operand(bench, column, true, json);
    }
    text_append_char(json, ']');
}

static const char *const operators[] = {"$exists", "$isNull", "$eq",       "$ne",
                                        "$in",     "$nin",    "$gt",       "$gte",
                                        "$lt",     "$lte",    "$contains", "$prefix"};

static void append_operators(struct bench *bench, const struct column *column, unsigned depth,
                             struct text *json)
{
    bool text = column->type == COLUMN_TEXT || column->type == COLUMN_BYTES;
    uint32_t known = column->type == COLUMN_JSON ? 2 : text ? 12 : 10;
    uint32_t count = 1 + chance_below(&bench->chance, 2);
    text_append_char(json, '{');
    for (uint32_t i = 0; i < count; i++) {
        text_append_string(json, i > 0 ? "," : "");
        if (depth < 4 && chance_below(&bench->chance, 8) == 0) {
            text_append_string(json, "\"$not\":");
            append_operators(bench, column, depth + 1, json);
            continue;
        }
        uint32_t which = chance_below(&bench->chance, known);
        text_appendf(json, "\"%s\":", operators[which]);
        if (which < 2)
            text_append_string(json, chance_below(&bench->chance, 2) ? "true" : "false");
        else if (which == 4 || which == 5)
            append_list(bench, column, json);
        else
            append_operand(bench, column, which < 4, json);
    }
    text_append_char(json, '}');
}

static void append_filter(struct bench *bench, unsigned depth, struct text *json)
{
    uint32_t shape = chance_below(&bench->chance, depth < 4 ? 10 : 6);
    text_append_char(json, '{');
    if (shape == 6) {
        text_append_string(json, "\"$not\":");
        append_filter(bench, depth + 1, json);
    } else if (shape > 6) {
        text_appendf(json, "\"%s\":[", shape == 7 ? "$and" : "$or");
        for (uint32_t i = 1 + chance_below(&bench->chance, 3); i > 0; i--) {
            append_filter(bench, depth + 1, json);
            text_append_string(json, i > 1 ? "," : "]");
        }
    }
    for (uint32_t i = shape >= 6 ? 0 : 1 + chance_below(&bench->chance, 2); i > 0; i--) {
        const struct column *column = &columns[chance_below(&bench->chance, COLUMNS)];
        uint32_t way = chance_below(&bench->chance, 6);
        text_appendf(json, "\"%s\":", column->name);
        if (way == 0)
            text_append_string(json, "null");
        else if (way == 1 && column->type != COLUMN_JSON)
            append_operand(bench, column, true, json);
        else
            append_operators(bench, column, depth, json);
        text_append_string(json, i > 1 ? "," : "");
    }
    text_append_char(json, '}');
}

/* ---- the comparison ---- */

static bool take_match(void *arg, const struct field *values, size_t count)
{
    struct rows *rows = arg;
    assert_int_equal(count, 1);
    rows->matched[values[0].i] = true;
    return true;
}

static void ask_store(struct bench *bench, const struct filter *filter, const char *json)
{
    struct where where = filter_where(filter);
    struct text sql = {0};
    text_appendf(&sql, "SELECT t.n FROM %s %s WHERE %s", things.table, things.joins, where.sql);
    memset(bench->rows.matched, 0, sizeof bench->rows.matched);
    if (store_query(bench->store, text_string(&sql), where.params, where.count, take_match,
                    &bench->rows, &bench->err) != RC_OK)
        fail_msg("%s: %s", json, bench->err.text);
    text_free(&sql);
}

static void compare(struct bench *bench, size_t which, struct text *text)
{
    struct filter *filter;
    struct refusal refusal;
    struct json json;
    text_clear(text);
    append_filter(bench, 0, text);
    if (json_parse_copy(bench->doc, text_bytes(text), &json, &bench->err) != RC_OK)
        fail_msg("%s: %s", text_string(text), bench->err.text);
    if (filter_parse(&things, json, &filter, &refusal) != RC_OK)
        fail_msg("%s: %s", text_string(text), refusal.err.text);
    ask_store(bench, filter, text_string(text));
    answers[both_stores_kind][which] = 0;
    for (size_t i = 0; i < ROWS; i++) {
        const struct field *row = bench->rows.values[i];
        bool sql = bench->rows.matched[i], wanted = filter_model_matches(&things, row, json);
        bool here = filter_matches(filter, row);
        if (sql != wanted || here != wanted)
            fail_msg("%s: row %zu: SQL %d, C %d, model %d\n%s", text_string(text), i, sql, here,
                     wanted, filter_where(filter).sql);
        answers[both_stores_kind][which] = answers[both_stores_kind][which] * 31 + wanted;
        matches_total += wanted;
    }
    filter_free(filter);
}

static void the_stores_and_the_program_judge_alike(void **state)
{
    struct bench *bench = *state;
    struct text text = {0};
    for (size_t i = 0; i < FILTERS; i++)
        compare(bench, i, &text);
    text_free(&text);
}

static int set_up(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);
    bench->chance = chance_init("filter_agree");
    fixture_open(&bench->fixture, both_stores_kind);
    if (store_open(bench->fixture.url, STORE_WRITE, &bench->store, &bench->err) != RC_OK)
        fail_msg("%s", bench->err.text);
    bench->doc = json_doc_new(1 << 20, JSON_DEPTH_MAX);
    make_tables(bench);
    read_rows(bench);
    *state = bench;
    both_stores_executed++;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t k = 0; k < COLUMNS; k++) {
            union {
                const char *borrowed;
                void *owned;
            } bytes = {row_key_has_bytes(&bench->rows.values[i][k])
                           ? bench->rows.values[i][k].b.data
                           : NULL};
            free(bytes.owned);
        }
    }
    json_doc_free(bench->doc);
    store_close(bench->store);
    fixture_close(&bench->fixture);
    free(bench);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_stores_and_the_program_judge_alike, set_up, tear_down),
    };
    int failed = both_stores_run(tests, sizeof tests / sizeof tests[0]);
    if (memcmp(answers[0], answers[1], sizeof answers[0]) != 0) {
        printf("the two stores matched different rows\n");
        failed++;
    }
    printf("filter_agree: %d filters, %zu of %d rows matched\n", FILTERS, matches_total,
           2 * FILTERS * ROWS);
    return failed;
}
