/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists of the old way, on both stores: the client names the place itself. With the id of the last
 * row every row comes once, however many share a value, and also when that row is gone; without it
 * the rows of the value count as seen; the other way round a cursor is a condition. */
#include "chance.h"
#include "page_bench.h"
#include "query/list_cursor.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS              80
#define ASCENDING(field)  "[{\"field\":\"" field "\"}]"
#define NULLS_FIRST       "[{\"field\":\"b\",\"direction\":\"desc\",\"nulls\":\"first\"}]"
#define NULLS_LAST        "[{\"field\":\"b\",\"nulls\":\"last\"}]"
#define DESCENDING(field) "[{\"field\":\"" field "\",\"direction\":\"desc\"}]"

struct list {
    struct order order;
    struct list_cursor cursor;
    struct filter *filter;
    struct row_key place;
    struct page page;
    int64_t ids[ROWS];
    size_t count;
    char last_value[64]; /* of the first field of the order, as JSON */
    char last_id[32];
};

static void free_list(struct list *list)
{
    filter_free(list->filter);
    list_cursor_free(&list->cursor);
    row_key_clear(&list->place);
    page_free(&list->page);
    *list = (struct list){0};
}

static void take_items(struct bench *bench, struct list *list)
{
    struct json root, item;
    struct bytes key, id;
    struct text value = {0};
    const char *first = list->order.terms[0].name == NULL ? "id" : list->order.terms[0].name;
    assert_ok(json_parse_copy(bench->doc, text_bytes(&list->page.items), &root, &bench->err));
    list->count = 0;
    for (struct json_walk walk = json_walk(root); json_walk_next(&walk, &key, &item);) {
        assert_true(json_string(json_get(item, "id"), &id));
        assert_true(list->count < ROWS && bytes_to_i64(id, &list->ids[list->count++]));
        snprintf(list->last_id, sizeof list->last_id, "%.*s", (int)id.len, id.data);
        text_clear(&value);
        json_print(json_get(item, first), &value);
        snprintf(list->last_value, sizeof list->last_value, "%s", text_string(&value));
    }
    text_free(&value);
}

/* {"orderBy": ..., "filter": ..., "cursor": ...} as a client of `list` says it. */
static enum rc ask(struct bench *bench, const struct collection *collection, const char *words,
                   size_t limit, struct list *list)
{
    struct json root;
    free_list(list);
    assert_ok(json_parse_copy(bench->doc, bytes_of(words), &root, &bench->err));
    assert_ok(order_parse(collection, json_get(root, "orderBy"), &list->order, &bench->refusal));
    enum rc rc = list_cursor_parse(collection, &list->order, json_get(root, "cursor"),
                                   &list->cursor, &bench->refusal);
    if (rc == RC_OK)
        rc = list_cursor_filter(&list->cursor, collection, json_get(root, "filter"), &list->filter,
                                &bench->refusal);
    if (rc == RC_OK)
        rc = list_cursor_place(&list->cursor, bench->store, collection, &list->order, &list->place,
                               &bench->refusal, &bench->err);
    const struct page_request wanted = {.collection = &things,
                                        .order = &list->order,
                                        .filter = list->filter,
                                        .fence_n = ROWS + 1,
                                        .after = &list->place,
                                        .page_size = limit};
    if (rc == RC_OK)
        rc = list_cursor_fetch(&list->cursor, bench->store, &wanted, &list->page, &bench->refusal,
                               &bench->err);
    if (rc == RC_OK)
        take_items(bench, list);
    return rc;
}

static void fill(struct bench *bench)
{
    struct chance chance = chance_init("list_cursor");
    struct text sql = {0};
    for (int n = 1; n <= ROWS; n++) {
        text_appendf(&sql, "INSERT INTO thing (n, a, b, f) VALUES (%d, %d, '%c', %d.5);", n,
                     (int)chance_below(&chance, 4), 'a' + (int)chance_below(&chance, 3),
                     (int)chance_below(&chance, 3));
        if (n % 7 < 2)
            text_appendf(&sql, "UPDATE thing SET %s = NULL WHERE n = %d;", n % 7 == 0 ? "b" : "f",
                         n);
    }
    page_bench_run(bench, text_string(&sql));
    text_free(&sql);
}

static const char *const orders[] = {
    "[]",
    "[{\"field\":\"a\",\"direction\":\"asc\"}]",
    "[{\"field\":\"a\",\"direction\":\"desc\"},{\"field\":\"b\",\"direction\":\"desc\"}]",
    "[{\"field\":\"b\"}]",
    "[{\"field\":\"id\",\"direction\":\"desc\"}]",
    "[{\"field\":\"b\",\"direction\":\"desc\"}]",
    "[{\"field\":\"b\",\"nulls\":\"last\"}]",
    "[{\"field\":\"f\",\"direction\":\"desc\",\"nulls\":\"first\"},{\"field\":\"b\"}]",
};
static const bool descends[] = {true, false, true, false, true, true, false, true};
static const char *const fields[] = {"a", "a", "a", "b", "id", "b", "b", "f"};
#define ORDERS (sizeof orders / sizeof orders[0])

/* One page after the other, each named by the last row of the one before. */
static void with_the_id_every_row_comes_once_and_in_order(void **state)
{
    struct bench *bench = *state;
    struct list whole = {0}, list = {0};
    char words[512], cursor[256];
    fill(bench);
    for (size_t i = 0; i < ORDERS; i++) {
        snprintf(words, sizeof words, "{\"orderBy\":%s,\"cursor\":null}", orders[i]);
        assert_ok(ask(bench, &things, words, ROWS, &whole));
        assert_int_equal(whole.count, ROWS);
        size_t seen = 0;
        snprintf(cursor, sizeof cursor, "null");
        for (size_t limit = 3; seen < ROWS; limit = 3 + (limit + 4) % 11) {
            snprintf(words, sizeof words, "{\"orderBy\":%s,\"cursor\":%s}", orders[i], cursor);
            assert_ok(ask(bench, &things, words, limit, &list));
            assert_true(list.count > 0 && seen + list.count <= ROWS);
            assert_memory_equal(list.ids, whole.ids + seen, list.count * sizeof list.ids[0]);
            seen += list.count;
            snprintf(cursor, sizeof cursor,
                     "{\"field\":\"%s\",\"value\":%s,\"direction\":\"%s\",\"id\":\"%s\"}",
                     fields[i], list.last_value, descends[i] ? "before" : "after", list.last_id);
        }
        snprintf(words, sizeof words, "{\"orderBy\":%s,\"cursor\":%s}", orders[i], cursor);
        assert_ok(ask(bench, &things, words, ROWS, &list));
        assert_int_equal(list.count, 0);
    }
    free_list(&whole);
    free_list(&list);
}

static int64_t count_of(struct bench *bench, const char *condition)
{
    char sql[128];
    int64_t value;
    snprintf(sql, sizeof sql, "SELECT count(*) FROM thing WHERE %s", condition);
    assert_ok(store_query_int(bench->store, sql, -1, &value, &bench->err));
    return value;
}

static void without_an_id_a_cursor_is_one_side_of_the_value(void **state)
{
    struct bench *bench = *state;
    static const struct {
        const char *order, *filter, *field, *value, *direction, *expected;
    } cases[] = {
        {"[]", "null", "a", "2", "before", "a < 2"},
        {"[]", "{}", "a", "2", "after", "a > 2"},
        {ASCENDING("a"), "null", "a", "2", "after", "a > 2"},
        {ASCENDING("a"), "{\"b\":\"a\"}", "a", "2", "before", "a < 2 AND b = 'a'"},
        /* Two fields: no row's place, but one behind all rows of the value. */
        {"[{\"field\":\"a\"},{\"field\":\"b\"}]", "{\"b\":\"c\"}", "a", "2", "after",
         "a > 2 AND b = 'c'"},
        {DESCENDING("b"), "null", "b", "\"b\"", "before", "(b < 'b' OR b IS NULL)"},
        {"[{\"field\":\"b\",\"direction\":\"desc\"},{\"field\":\"a\"}]", "{}", "b", "\"b\"",
         "before", "(b < 'b' OR b IS NULL)"},
        {ASCENDING("b"), "null", "b", "null", "after", "b IS NOT NULL"},
        {DESCENDING("b"), "{}", "b", "null", "after", "b IS NOT NULL"},
        {DESCENDING("b"), "null", "b", "null", "before", "1 = 0"},
        {ASCENDING("b"), "{}", "b", "null", "before", "1 = 0"},
        /* The other way round, too, those without a value lie on the side where they sort. */
        {ASCENDING("b"), "null", "b", "\"b\"", "before", "(b < 'b' OR b IS NULL)"},
        {ASCENDING("b"), "{\"a\":1}", "b", "\"b\"", "before", "(b < 'b' OR b IS NULL) AND a = 1"},
        {NULLS_LAST, "{}", "b", "\"b\"", "before", "b < 'b'"},
        {NULLS_FIRST, "{}", "b", "\"b\"", "after", "(b > 'b' OR b IS NULL)"},
        {DESCENDING("b"), "{}", "b", "\"b\"", "after", "b > 'b'"},
    };
    struct list list = {0};
    char words[512];
    fill(bench);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        snprintf(words, sizeof words,
                 "{\"orderBy\":%s,\"filter\":%s,\"cursor\":{\"field\":\"%s\",\"value\":%s,"
                 "\"direction\":\"%s\"}}",
                 cases[i].order, cases[i].filter, cases[i].field, cases[i].value,
                 cases[i].direction);
        assert_ok(ask(bench, &things, words, ROWS, &list));
        assert_int_equal(list.count > 0, strcmp(cases[i].expected, "1 = 0") != 0);
        assert_int_equal(list.count, count_of(bench, cases[i].expected));
    }
    free_list(&list);
}

/* However many are asked for: as a sorted list of all of them begins. */
static void one_side_of_a_value_comes_in_the_order_that_was_asked_for(void **state)
{
    struct bench *bench = *state;
    static const struct {
        const char *order, *direction, *expected;
    } cases[] = {{ASCENDING("b"), "before", "(b < 'c' OR b IS NULL)"},
                 {NULLS_FIRST, "after", "(b > 'a' OR b IS NULL)"}};
    struct list whole = {0}, list = {0};
    char words[512];
    fill(bench);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t expected = (size_t)count_of(bench, cases[i].expected);
        snprintf(words, sizeof words, "{\"orderBy\":%s,\"cursor\":null}", cases[i].order);
        assert_ok(ask(bench, &things, words, ROWS, &whole));
        snprintf(words, sizeof words,
                 "{\"orderBy\":%s,\"cursor\":{\"field\":\"b\",\"value\":\"%s\","
                 "\"direction\":\"%s\"}}",
                 cases[i].order, i == 0 ? "c" : "a", cases[i].direction);
        for (size_t limit = 1; limit <= expected + 1; limit++) {
            assert_ok(ask(bench, &things, words, limit, &list));
            assert_int_equal(list.count, limit < expected ? limit : expected);
            assert_int_equal(list.page.has_more, limit < expected);
            assert_memory_equal(list.ids, whole.ids, list.count * sizeof list.ids[0]);
        }
    }
    free_list(&whole);
    free_list(&list);
}

#define AFTER_7(order, id)                                                                         \
    "{\"orderBy\":" order                                                                          \
    ",\"cursor\":{\"field\":\"a\",\"value\":7,\"direction\":\"after\",\"id\":" id "}}"

static void assert_refused(struct bench *bench, const struct collection *collection,
                           const char *words, enum refusal_code code)
{
    struct list list = {0};
    bench->refusal = (struct refusal){0};
    assert_int_equal(ask(bench, collection, words, ROWS, &list), RC_REJECT);
    assert_int_equal(bench->refusal.code, code);
    free_list(&list);
}

/* The row that a client saw last is gone, without a trace: its id is its place among equals. */
static void an_id_that_is_the_ingest_number_leads_on_without_its_row(void **state)
{
    struct bench *bench = *state;
    struct list list = {0};
    page_bench_run(bench, "INSERT INTO thing (n, a) VALUES (10, 7), (12, 7), (13, 8)");
    assert_ok(ask(bench, &things, AFTER_7(ASCENDING("a"), "\"11\""), ROWS, &list));
    assert_true(list.count == 2 && list.ids[0] == 12 && list.ids[1] == 13);
    assert_ok(
        ask(bench, &things,
            "{\"cursor\":{\"field\":\"a\",\"value\":7,\"direction\":\"before\",\"id\":\"11\"}}",
            ROWS, &list));
    assert_true(list.count == 1 && list.ids[0] == 10);
    /* What else it is ordered by is not known. */
    assert_refused(bench, &things, AFTER_7("[{\"field\":\"a\"},{\"field\":\"b\"}]", "\"11\""),
                   REFUSAL_CONFLICT);
    assert_refused(bench, &things, AFTER_7(ASCENDING("a"), "\"x\""), REFUSAL_BAD_REQUEST);
    assert_refused(bench, &things, AFTER_7(ASCENDING("a"), "11"), REFUSAL_BAD_REQUEST);
    assert_refused(bench, &things, AFTER_7(ASCENDING("a"), "\"\""), REFUSAL_BAD_REQUEST);
    free_list(&list);
}

/* A name says nothing of the place: what was kept of a deleted row leads on, or the client is told
 * that nothing does. */
static void a_named_row_leads_on_while_it_is_remembered(void **state)
{
    struct bench *bench = *state;
    static const struct column columns[] = {{"id", COLUMN_TEXT, "t.b", "t.b", false},
                                            {"a", COLUMN_INT, "t.a", "t.a", false}};
    struct collection named = things;
    struct list list = {0};
    named.columns = columns;
    named.column_count = 2;
    named.declared = true;
    named.tombstones = "things.x";
    page_bench_run(bench, "INSERT INTO thing (n, a, b) VALUES (10, 7, 'k'), (12, 7, 'm'), "
                          "(13, 8, 'p')");
    assert_ok(ask(bench, &named, AFTER_7(ASCENDING("a"), "\"k\""), ROWS, &list));
    assert_true(list.count == 2 && list.ids[0] == 12 && list.ids[1] == 13);
    assert_refused(bench, &named, AFTER_7(ASCENDING("a"), "\"l\""), REFUSAL_CONFLICT);
    page_bench_run(bench, "INSERT INTO tombstones (collection, key, rev, n, seq, at_us) "
                          "VALUES ('things.x', 'l', '', 11, 1, 1)");
    assert_ok(ask(bench, &named, AFTER_7(ASCENDING("a"), "\"l\""), ROWS, &list));
    assert_true(list.count == 2 && list.ids[0] == 12 && list.ids[1] == 13);
    assert_refused(bench, &named, AFTER_7("[{\"field\":\"a\"},{\"field\":\"id\"}]", "\"l\""),
                   REFUSAL_CONFLICT);
    /* In the order of the ids themselves the value is the whole place. */
    assert_ok(ask(bench, &named,
                  "{\"orderBy\":[{\"field\":\"id\"}],\"cursor\":{\"field\":\"id\",\"value\":\"n\","
                  "\"direction\":\"after\",\"id\":\"n\"}}",
                  ROWS, &list));
    assert_true(list.count == 1 && list.ids[0] == 13);
    free_list(&list);
}

static void a_cursor_that_says_nothing_is_refused_in_words(void **state)
{
    struct bench *bench = *state;
    static const struct {
        const char *order, *cursor, *words;
    } cases[] = {
        {"[]", "7", "cursor is {"},
        {"[]", "{\"value\":1,\"direction\":\"before\"}", "cursor is {"},
        {"[]", "{\"field\":\"a\",\"value\":1}", "cursor is {"},
        {"[]", "{\"field\":\"a\",\"value\":1,\"direction\":\"behind\"}", "cursor is {"},
        {"[]", "{\"field\":\"b\",\"value\":\"x\",\"direction\":\"before\"}", "first field"},
        {"[]", "{\"field\":\"a\",\"value\":\"x\",\"direction\":\"before\"}", "a"},
        {"[]", "{\"field\":\"a\",\"value\":null,\"direction\":\"before\"}", "found null"},
        {"[]", "{\"field\":\"a\",\"value\":1.5,\"direction\":\"before\"}", "cursor.value"},
        {"[]", "{\"field\":\"a\",\"value\":1,\"direction\":\"after\",\"id\":\"1\"}", "cursor.id"},
    };
    struct list list = {0};
    char words[512];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        snprintf(words, sizeof words, "{\"orderBy\":%s,\"cursor\":%s}", cases[i].order,
                 cases[i].cursor);
        bench->refusal = (struct refusal){0};
        assert_int_equal(ask(bench, &things, words, ROWS, &list), RC_REJECT);
        assert_int_not_equal(bench->refusal.code, REFUSAL_NONE);
        if (strstr(bench->refusal.err.text, cases[i].words) == NULL)
            fail_msg("%s: %s", cases[i].cursor, bench->refusal.err.text);
    }
    free_list(&list);
}

int main(void)
{
#define ON_PAGES(test)                                                                             \
    cmocka_unit_test_setup_teardown(test, page_bench_set_up, page_bench_tear_down)
    const struct CMUnitTest tests[] = {
        ON_PAGES(with_the_id_every_row_comes_once_and_in_order),
        ON_PAGES(without_an_id_a_cursor_is_one_side_of_the_value),
        ON_PAGES(one_side_of_a_value_comes_in_the_order_that_was_asked_for),
        ON_PAGES(an_id_that_is_the_ingest_number_leads_on_without_its_row),
        ON_PAGES(a_named_row_leads_on_while_it_is_remembered),
        ON_PAGES(a_cursor_that_says_nothing_is_refused_in_words),
    };
    return both_stores_run(tests, sizeof tests / sizeof tests[0]);
}
