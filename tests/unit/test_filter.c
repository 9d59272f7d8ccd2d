/* SPDX-License-Identifier: Apache-2.0 */
#include "query/filter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct column columns[] = {
    {"id", COLUMN_ID, "t.n", "t.n", false},
    {"name", COLUMN_TEXT, "t.name", "t.name", true},
    {"size", COLUMN_INT, "t.size", "t.size", true},
    {"at", COLUMN_TIME, "t.at_us", "t.at_us", true},
    {"open", COLUMN_BOOL, "t.open", "t.open", false},
    {"score", COLUMN_FLOAT, "t.score", "t.score", true},
    {"more", COLUMN_JSON, "t.more", NULL, true},
    {"raw", COLUMN_BYTES, "t.raw", NULL, true},
    {"kind", COLUMN_TEXT, "CASE t.kind WHEN 0 THEN 'a' ELSE 'b' END", "t.kind", false},
    {"owner", COLUMN_TEXT, "o.name", "o.name", false},
};
static const struct collection collection = {
    .name = "things",
    .table = "thing t",
    .joins = "JOIN owner o ON o.id = t.owner",
    .n = "t.n",
    .columns = columns,
    .column_count = sizeof columns / sizeof columns[0],
    .page_size = 10,
};

static struct json_doc *doc;
static struct refusal refusal;

static int set_up(void **state)
{
    (void)state;
    doc = json_doc_new(1 << 20, JSON_DEPTH_MAX);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    json_doc_free(doc);
    return 0;
}

static enum rc parse_bytes(struct bytes text, struct filter **filter)
{
    struct json root;
    struct err err;
    refusal = (struct refusal){0};
    assert_int_equal(json_parse_copy(doc, text, &root, &err), RC_OK);
    return filter_parse(&collection, root, filter, &refusal);
}

static struct filter *parse(const char *text)
{
    struct filter *filter;
    if (parse_bytes(bytes_of(text), &filter) != RC_OK)
        fail_msg("%s: %s", text, refusal.err.text);
    return filter;
}

static void expect_sql(const char *text, const char *sql)
{
    struct filter *filter = parse(text);
    assert_string_equal(filter_where(filter).sql, sql);
    filter_free(filter);
}

/* ---- what is refused ---- */

static void expect_refusal(const char *text, enum refusal_code code, const char *words)
{
    struct filter *filter;
    if (parse_bytes(bytes_of(text), &filter) != RC_REJECT)
        fail_msg("%s was taken", text);
    assert_null(filter);
    if (refusal.code != code || strstr(refusal.err.text, words) == NULL)
        fail_msg("%s: %s %s", text, refusal_name(refusal.code), refusal.err.text);
}

static void a_name_that_is_unknown_is_refused(void **state)
{
    (void)state;
    expect_refusal("{\"nope\":1}", REFUSAL_UNKNOWN_FIELD, "things has no field \"nope\"");
    expect_refusal("{\"nmae\":1}", REFUSAL_UNKNOWN_FIELD,
                   "no field \"nmae\" (did you mean name?); its fields are id, ");
    expect_refusal("{\"t.n\":1}", REFUSAL_UNKNOWN_FIELD, "no field \"t.n\"");
    expect_refusal("{\"\":1}", REFUSAL_UNKNOWN_FIELD, "no field \"\"");
    expect_refusal("{\"name\":{\"$like\":\"a\"}}", REFUSAL_UNKNOWN_OPERATOR,
                   "name: there is no operator \"$like\"");
    expect_refusal("{\"name\":{\"a\":1}}", REFUSAL_UNKNOWN_OPERATOR, "no operator \"a\"");
    expect_refusal("{\"$nor\":[]}", REFUSAL_UNKNOWN_OPERATOR, "no operator \"$nor\"");
    expect_refusal("{\"$and\":[{\"name\":\"a\"},{\"x; DROP TABLE thing\":1}]}",
                   REFUSAL_UNKNOWN_FIELD, "x; DROP");
}

static void a_value_of_another_type_is_refused_with_what_was_found(void **state)
{
    static const char *const cases[][2] = {
        {"{\"name\":7}", "name $eq: expected text, found a number 7"},
        {"{\"name\":[\"a\"]}", "name $eq: expected text, found a list"},
        {"{\"name\":{}}", "name $eq: expected text, found an object"},
        {"{\"name\":{\"$in\":\"a\"}}", "name $in: expected a list, found text \"a\""},
        {"{\"name\":{\"$in\":[\"a\",true]}}", "expected text, found a boolean true"},
        {"{\"name\":{\"$gt\":null}}", "name $gt: expected text, found null"},
        {"{\"id\":7}", "id $eq: expected an id, digits as text, found a number 7"},
        {"{\"id\":\"seven\"}", "found text \"seven\""},
        {"{\"id\":\"9223372036854775808\"}", "expected an id"},
        {"{\"size\":\"7\"}", "size $eq: expected a number, found text \"7\""},
        {"{\"size\":2.5}", "expected a whole number of 64 bits, found a number 2.5"},
        {"{\"size\":{\"$ne\":18446744073709551615}}", "expected a whole number of 64 bits"},
        {"{\"score\":\"NaN\"}", "score $eq: expected a number, found text \"NaN\""},
        {"{\"at\":1700000000}", "at $eq: expected a time as \"2026-01-31T09:00:00Z\""},
        {"{\"at\":{\"$lt\":\"yesterday\"}}", "at $lt: expected a time"},
        {"{\"open\":1}", "open $eq: expected true or false, found a number 1"},
        {"{\"more\":{\"$eq\":\"a\"}}", "more $eq: expected $exists or $isNull"},
        {"{\"raw\":{\"$prefix\":7}}", "raw $prefix: expected text"},
        {"{\"size\":{\"$prefix\":\"7\"}}", "size $prefix: expected a field of text"},
        {"{\"name\":{\"$exists\":1}}", "name $exists: expected true or false, found a number 1"},
        {"{\"name\":{\"$isNull\":null}}", "name $isNull: expected true or false, found null"},
        {"{\"name\":{\"$not\":\"a\"}}", "name $not: expected operators"},
        {"{\"name\":{\"$not\":{}}}", "name $not: expected operators"},
        {"{\"$and\":[]}", "$and: expected a list with at least one filter"},
        {"{\"$or\":{\"name\":\"a\"}}", "$or: expected a list"},
        {"{\"$or\":[{}]}", "expected fields"},
        {"{\"$not\":[]}", "expected fields"},
        {"[]", "expected fields"},
        {"\"name\"", "expected fields"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_refusal(cases[i][0], REFUSAL_BAD_FILTER, cases[i][1]);
}

static void expect_bound(const char *before, const char *repeated, const char *after, size_t most,
                         const char *words)
{
    for (size_t extra = 0; extra < 2; extra++) {
        struct text text = {0};
        struct filter *filter;
        text_append_string(&text, before);
        for (size_t i = 0; i < most + extra; i++)
            text_appendf(&text, "%s%s", i > 0 ? "," : "", repeated);
        text_append_string(&text, after);
        enum rc rc = parse_bytes(text_bytes(&text), &filter);
        assert_int_equal(rc, extra == 0 ? RC_OK : RC_REJECT);
        if (extra == 1)
            assert_non_null(strstr(refusal.err.text, words));
        filter_free(filter);
        text_free(&text);
    }
}

static void what_is_too_much_is_refused(void **state)
{
    struct text text = {0};
    struct filter *filter;
    (void)state;
    expect_bound("{\"name\":{\"$in\":[", "\"a\"", "]}}", WHERE_PARAMS_MAX, "256 values");
    expect_bound("{\"$or\":[", "{\"name\":null}", "]}", FILTER_NODES_MAX / 2 - 1, "512 conditions");
    for (size_t i = 0; i < FILTER_DEPTH_MAX - 1; i++)
        text_append_string(&text, "{\"$not\":");
    text_append_string(&text, "{\"name\":\"a\"}");
    for (size_t i = 0; i < FILTER_DEPTH_MAX - 1; i++)
        text_append_char(&text, '}');
    assert_int_equal(parse_bytes(text_bytes(&text), &filter), RC_OK);
    filter_free(filter);
    text_append_char(&text, '}');
    struct text deeper = {0};
    text_appendf(&deeper, "{\"$not\":%s", text_string(&text));
    expect_refusal(text_string(&deeper), REFUSAL_BAD_FILTER, "more than 16 levels");
    text_clear(&text);
    text_append_string(&text, "{\"name\":\"");
    for (size_t i = 0; i <= FILTER_BYTES_MAX; i++)
        text_append_char(&text, 'x');
    text_append_string(&text, "\"}");
    expect_refusal(text_string(&text), REFUSAL_BAD_FILTER, "65536 bytes of values");
    text_free(&text);
    text_free(&deeper);
}

/* ---- how it is asked of a store ---- */

static void values_are_parameters_and_names_are_the_collections(void **state)
{
    struct filter *filter = parse("{\"name\":\"' OR 1=1 --\",\"size\":{\"$gt\":1,\"$lte\":9}}");
    struct where where = filter_where(filter);
    (void)state;
    assert_string_equal(where.sql, "(t.name = ?1 AND (t.size > ?2 AND t.size <= ?3))");
    assert_int_equal(where.count, 3);
    assert_true(bytes_equal_string(where.params[0].b, "' OR 1=1 --"));
    assert_int_equal(where.params[2].i, 9);
    assert_false(where.joined);
    filter_free(filter);
}

static void a_negation_never_meets_a_null(void **state)
{
    (void)state;
    expect_sql("{\"name\":{\"$ne\":\"a\"}}", "((t.name) IS NULL OR t.name <> ?1)");
    expect_sql("{\"$not\":{\"name\":\"a\",\"size\":{\"$lt\":1}}}",
               "(((t.name) IS NULL OR t.name <> ?1) OR ((t.size) IS NULL OR t.size >= ?2))");
    expect_sql("{\"owner\":{\"$nin\":[\"a\",\"b\"]}}", "o.name NOT IN (?1, ?2)");
    expect_sql("{\"name\":{\"$nin\":[null,\"b\"]}}",
               "(((t.name) IS NULL OR t.name <> ?1) AND (t.name) IS NOT NULL)");
}

static void what_is_made_of_columns_is_compared_by_bytes(void **state)
{
    (void)state;
    expect_sql("{\"kind\":{\"$gt\":\"a\"}}",
               "(CASE t.kind WHEN 0 THEN 'a' ELSE 'b' END) COLLATE \"C\" > ?1");
    expect_sql("{\"owner\":{\"$gt\":\"a\"}}", "o.name > ?1");
}

static void nothing_at_all_matches_every_row(void **state)
{
    static const char *const texts[] = {"null", "{}"};
    struct filter *filter;
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        assert_null(parse(texts[i]));
        assert_int_equal(filter_parse(&collection, (struct json){0}, &filter, &refusal), RC_OK);
        assert_null(filter);
    }
    assert_null(filter_where(NULL).sql);
    assert_true(filter_matches(NULL, NULL));
    assert_int_equal(filter_fixed(NULL), 0);
    assert_null(filter_json(NULL).data);
    filter_free(NULL);
}

static void it_keeps_the_json_it_was_made_of(void **state)
{
    struct filter *filter = parse(" { \"name\" : { \"$in\" : [ \"a\", null ] } } ");
    (void)state;
    assert_true(bytes_equal_string(filter_json(filter), "{\"name\":{\"$in\":[\"a\",null]}}"));
    filter_free(filter);
}

static uint64_t fixed(const char *text)
{
    struct filter *filter = parse(text);
    uint64_t bits = filter_fixed(filter);
    filter_free(filter);
    return bits;
}

static void an_equality_that_always_holds_pins_its_field(void **state)
{
    (void)state;
    assert_int_equal(fixed("{\"name\":\"a\",\"size\":{\"$gt\":1}}"), 1u << 1);
    assert_int_equal(fixed("{\"$and\":[{\"name\":\"a\"},{\"size\":{\"$in\":[3]}}]}"), 3u << 1);
    assert_int_equal(fixed("{\"$not\":{\"$not\":{\"name\":\"a\"}}}"), 1u << 1);
    assert_int_equal(fixed("{\"$not\":{\"name\":{\"$ne\":\"a\"}}}"), 1u << 1);
    assert_int_equal(fixed("{\"$or\":[{\"name\":\"a\"},{\"size\":1}]}"), 0);
    assert_int_equal(fixed("{\"name\":{\"$ne\":\"a\"}}"), 0);
    assert_int_equal(fixed("{\"name\":{\"$in\":[\"a\",\"b\"]}}"), 0);
    assert_int_equal(fixed("{\"name\":null}"), 0);
    assert_int_equal(fixed("{\"kind\":\"a\"}"), 0); /* its index is over something else */
}

/* ---- how it is judged here ---- */

static struct field row[10];

static void set_row(void)
{
    row[0] = field_int(7);
    row[1] = field_text(bytes_of("na\xc3\xafve"));
    row[2] = field_int(3);
    row[3] = field_int(1000000);
    row[4] = field_int(1);
    row[5] = field_real(0.5);
    row[6] = field_text(bytes_of("{}"));
    row[7] = field_blob(bytes_make("a\0b", 3));
    row[8] = field_text(bytes_of("a"));
    row[9] = field_text(bytes_of(""));
}

static void expect_match(const char *text, bool wanted)
{
    struct filter *filter = parse(text);
    if (filter_matches(filter, row) != wanted)
        fail_msg("%s: %s", text, wanted ? "does not match" : "matches");
    filter_free(filter);
}

static void each_type_is_compared_as_it_is_written(void **state)
{
    static const char *const yes[] = {
        "{\"id\":\"7\"}",
        "{\"id\":{\"$gt\":\"6\",\"$lt\":\"10\"}}",
        "{\"name\":{\"$prefix\":\"na\xc3\xaf\"}}",
        "{\"name\":{\"$contains\":\"\xc3\xafv\"}}",
        "{\"name\":{\"$contains\":\"\"}}",
        "{\"name\":{\"$gt\":\"naz\"}}",
        "{\"size\":3.0}",
        "{\"size\":{\"$gt\":2.5,\"$lt\":3.5}}",
        "{\"size\":{\"$lt\":1e300,\"$gt\":-1e300}}",
        "{\"size\":{\"$lt\":18446744073709551615}}",
        "{\"at\":\"1970-01-01T00:00:01Z\"}",
        "{\"at\":{\"$lt\":\"1970-01-01T01:00:02+01:00\"}}",
        "{\"open\":true}",
        "{\"open\":{\"$gt\":false}}",
        "{\"score\":{\"$in\":[1,0.5]}}",
        "{\"score\":{\"$gte\":0}}",
        "{\"more\":{\"$exists\":true}}",
        "{\"raw\":{\"$prefix\":\"a\"}}",
        "{\"raw\":{\"$contains\":\"b\"}}",
        "{\"owner\":\"\"}",
        "{\"owner\":{\"$prefix\":\"\"}}",
        "{\"name\":{\"$nin\":[]}}",
        "{\"$or\":[{\"size\":4},{\"open\":true}]}",
        "{\"$not\":{\"size\":4}}",
        "{\"size\":{\"$not\":{\"$gt\":1,\"$lt\":3}}}",
    };
    (void)state;
    set_row();
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++) {
        struct text turned = {0};
        text_appendf(&turned, "{\"$not\":%s}", yes[i]);
        expect_match(yes[i], true);
        expect_match(text_string(&turned), false);
        text_free(&turned);
    }
    expect_match("{\"name\":{\"$in\":[]}}", false);
    expect_match("{\"size\":{\"$gt\":3.5}}", false);
    expect_match("{\"size\":{\"$gt\":1e300}}", false);
}

static void null_meets_no_comparison(void **state)
{
    (void)state;
    set_row();
    row[1] = row[2] = row[5] = field_null(FIELD_TEXT);
    expect_match("{\"name\":null}", true);
    expect_match("{\"name\":{\"$isNull\":true}}", true);
    expect_match("{\"name\":{\"$exists\":false}}", true);
    expect_match("{\"name\":{\"$in\":[\"a\",null]}}", true);
    expect_match("{\"name\":{\"$nin\":[\"a\",null]}}", false);
    expect_match("{\"name\":{\"$ne\":null}}", false);
    expect_match("{\"name\":{\"$ne\":\"a\"}}", true);
    expect_match("{\"name\":{\"$nin\":[\"a\"]}}", true);
    expect_match("{\"size\":{\"$not\":{\"$gt\":1}}}", true);
    expect_match("{\"size\":{\"$lt\":1}}", false);
    expect_match("{\"size\":{\"$lt\":1e300}}", false);
    expect_match("{\"score\":{\"$gte\":-1}}", false);
    expect_match("{\"name\":{\"$contains\":\"\"}}", false);
    expect_match("{\"name\":{\"$prefix\":\"a\"}}", false);
}

static void a_prefix_ends_with_the_next_character(void **state)
{
    static const char *const prefixes[] = {"a",
                                           "a\x7f",
                                           "\xc3\xaf",
                                           "\xdf\xbf",
                                           "\xed\x9f\xbf",
                                           "\xef\xbf\xbf",
                                           "a\xf4\x8f\xbf\xbf",
                                           "\xf4\x8f\xbf\xbf"};
    static const char *const tails[] = {"", "a", "\x7f", "\xc2\x80", "\xf4\x8f\xbf\xbf"};
    (void)state;
    set_row();
    for (size_t i = 0; i < 8; i++) {
        for (size_t j = 0; j < 8 * 5; j++) {
            struct text text = {0}, value = {0};
            struct bytes prefix = bytes_of(prefixes[i]);
            text_appendf(&value, "%s%s", prefixes[j / 5], tails[j % 5]);
            text_appendf(&text, "{\"name\":{\"$prefix\":\"%s\"}}", prefixes[i]);
            row[1] = field_text(text_bytes(&value));
            expect_match(text_string(&text), value.len >= prefix.len &&
                                                 memcmp(value.data, prefix.data, prefix.len) == 0);
            text_free(&text);
            text_free(&value);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_that_is_unknown_is_refused),
        cmocka_unit_test(a_value_of_another_type_is_refused_with_what_was_found),
        cmocka_unit_test(what_is_too_much_is_refused),
        cmocka_unit_test(values_are_parameters_and_names_are_the_collections),
        cmocka_unit_test(a_negation_never_meets_a_null),
        cmocka_unit_test(what_is_made_of_columns_is_compared_by_bytes),
        cmocka_unit_test(nothing_at_all_matches_every_row),
        cmocka_unit_test(it_keeps_the_json_it_was_made_of),
        cmocka_unit_test(an_equality_that_always_holds_pins_its_field),
        cmocka_unit_test(each_type_is_compared_as_it_is_written),
        cmocka_unit_test(null_meets_no_comparison),
        cmocka_unit_test(a_prefix_ends_with_the_next_character),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
