/* SPDX-License-Identifier: Apache-2.0 */
#include "query/order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct json_doc *doc;

static int set_up(void **state)
{
    (void)state;
    doc = json_doc_new(65536, JSON_DEPTH_MAX);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    json_doc_free(doc);
    return 0;
}

static const struct collection *posts(void)
{
    const struct collection *found = collection_find(bytes_of("posts"));
    assert_non_null(found);
    return found;
}

static enum rc parse(const char *text, struct order *order, struct refusal *refusal)
{
    struct json root;
    struct err err;
    *refusal = (struct refusal){0};
    assert_int_equal(json_parse_copy(doc, bytes_of(text), &root, &err), RC_OK);
    return order_parse(posts(), root, order, refusal);
}

static void expect_refusal(const char *text, enum refusal_code code)
{
    struct order order;
    struct refusal refusal;
    assert_int_equal(parse(text, &order, &refusal), RC_REJECT);
    assert_string_equal(refusal_name(refusal.code), refusal_name(code));
    assert_true(refusal.err.text[0] != '\0');
}

static void every_order_ends_in_the_ingest_number_in_the_last_direction(void **state)
{
    struct order order;
    struct refusal refusal;
    (void)state;
    const char *text = "[{\"field\":\"actorDid\",\"direction\":\"desc\"},{\"field\":\"sharedAt\"}]";
    assert_int_equal(parse(text, &order, &refusal), RC_OK);
    assert_int_equal(order.count, 3);
    assert_string_equal(order.terms[0].sql, "a.did");
    assert_true(order.terms[0].desc);
    assert_false(order.terms[1].desc);
    assert_string_equal(order.terms[2].sql, "t.n");
    assert_false(order.terms[2].desc);
    assert_null(order.terms[2].name);
}

static void left_out_null_and_empty_give_the_collections_order(void **state)
{
    static const char *const texts[] = {"null", "[]"};
    struct order order;
    struct refusal refusal;
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(parse(texts[i], &order, &refusal), RC_OK);
        assert_int_equal(order.count, 2);
        assert_string_equal(order.terms[0].sql, "t.shared_us");
        assert_true(order.terms[0].desc && order.terms[1].desc);
    }
    assert_int_equal(order_parse(posts(), (struct json){0}, &order, &refusal), RC_OK);
    assert_string_equal(order.terms[0].name, "sharedAt");
}

static void what_follows_the_ingest_number_decides_nothing(void **state)
{
    struct order order;
    struct refusal refusal;
    (void)state;
    assert_int_equal(
        parse("[{\"field\":\"id\",\"direction\":\"asc\"},{\"field\":\"text\"}]", &order, &refusal),
        RC_OK);
    assert_int_equal(order.count, 1);
    assert_string_equal(order.terms[0].sql, "t.n");
}

static void a_wrong_order_is_refused_by_name(void **state)
{
    (void)state;
    expect_refusal("\"sharedAt\"", REFUSAL_BAD_ORDER);
    expect_refusal("{}", REFUSAL_BAD_ORDER);
    expect_refusal("[\"sharedAt\"]", REFUSAL_BAD_ORDER);
    expect_refusal("[{\"direction\":\"asc\"}]", REFUSAL_BAD_ORDER);
    expect_refusal("[{\"field\":7}]", REFUSAL_BAD_ORDER);
    expect_refusal("[{\"field\":\"sharedAt\",\"direction\":\"up\"}]", REFUSAL_BAD_ORDER);
    expect_refusal("[{\"field\":\"sharedAt\",\"direction\":null}]", REFUSAL_BAD_ORDER);
    expect_refusal("[{\"field\":\"sharedAt\"},{\"field\":\"sharedAt\"}]", REFUSAL_BAD_ORDER);
    expect_refusal("[{\"field\":\"sharedAt\",\"nulls\":\"lowest\"}]", REFUSAL_BAD_ORDER);
    expect_refusal("[{\"field\":\"sharedAt\",\"nulls\":null}]", REFUSAL_BAD_ORDER);
    expect_refusal("[{\"field\":\"uri\"}]", REFUSAL_BAD_ORDER);
    expect_refusal("[{\"field\":\"shared_us\"}]", REFUSAL_UNKNOWN_FIELD);
    expect_refusal("[{\"field\":\"t.n; DROP TABLE post\"}]", REFUSAL_UNKNOWN_FIELD);
    expect_refusal("[{\"field\":\"id\"},{\"field\":\"nope\"}]", REFUSAL_UNKNOWN_FIELD);
    expect_refusal("[1,2,3,4,5,6,7,8,9]", REFUSAL_BAD_ORDER);
}

static bool indexed(const char *text, uint64_t fixed)
{
    struct order order;
    struct refusal refusal;
    assert_int_equal(parse(text, &order, &refusal), RC_OK);
    return order_index(posts(), &order, fixed) != NULL;
}

static void an_index_serves_its_own_fields_in_one_direction(void **state)
{
    (void)state;
    assert_true(indexed("[]", 0));
    assert_true(indexed("[{\"field\":\"sharedAt\",\"direction\":\"asc\"}]", 0));
    assert_true(indexed("[{\"field\":\"id\",\"direction\":\"desc\"}]", 0));
    assert_true(indexed("[{\"field\":\"sharedAt\"},{\"field\":\"id\"}]", 0));
    assert_false(
        indexed("[{\"field\":\"sharedAt\"},{\"field\":\"id\",\"direction\":\"desc\"}]", 0));
    assert_false(indexed("[{\"field\":\"text\"}]", 0));
    assert_false(indexed("[{\"field\":\"sharedAt\"},{\"field\":\"text\"}]", 0));
    int text = collection_column(posts(), bytes_of("text"));
    assert_true(indexed("[{\"field\":\"sharedAt\"},{\"field\":\"text\"}]", UINT64_C(1) << text));
}

static void every_built_in_collection_has_an_index_for_its_own_order(void **state)
{
    static const char *const names[] = {"posts", "gaps", "owed", "quarantine"};
    struct order order;
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        const struct collection *collection = collection_find(bytes_of(names[i]));
        assert_non_null(collection);
        order_default(collection, &order);
        assert_non_null(order_index(collection, &order, 0));
        assert_string_equal(order.terms[order.count - 1].sql, collection->n);
        assert_int_equal(collection->page_size, 100);
        assert_string_equal(collection->columns[0].name, "id");
    }
    assert_null(collection_find(bytes_of("post")));
    assert_null(collection_find(bytes_of("")));
}

static void null_is_lowest_and_text_is_compared_by_bytes(void **state)
{
    const struct order up = {.terms = {{.sql = "t.a"}}, .count = 1};
    const struct order down = {.terms = {{.sql = "t.a", .desc = true}}, .count = 1};
    const struct field values[] = {field_null(FIELD_TEXT),    field_text(bytes_of("")),
                                   field_text(bytes_of("A")), field_text(bytes_of("Aa")),
                                   field_text(bytes_of("a")), field_text(bytes_of("\xc3\xa4"))};
    const struct field numbers[] = {field_null(FIELD_INT), field_int(INT64_MIN),
                                    field_real(-0.5),      field_int(0),
                                    field_real(0.25),      field_int(INT64_MAX)};
    (void)state;
    for (size_t i = 0; i < 6; i++) {
        for (size_t j = 0; j < 6; j++) {
            int wanted = (i > j) - (i < j);
            int got = row_key_compare(&up, &values[i], &values[j]);
            assert_int_equal((got > 0) - (got < 0), wanted);
            got = row_key_compare(&down, &values[i], &values[j]);
            assert_int_equal((got > 0) - (got < 0), -wanted);
            got = row_key_compare(&up, &numbers[i], &numbers[j]);
            assert_int_equal((got > 0) - (got < 0), wanted);
        }
    }
}

static void nulls_go_where_they_are_told_to(void **state)
{
    static const char *const directions[] = {"asc", "desc"}, *const ends[] = {"first", "last"};
    const struct field null = field_null(FIELD_TEXT), value = field_text(bytes_of("a"));
    struct order order;
    struct refusal refusal;
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct text text = {0};
        text_appendf(&text, "[{\"field\":\"text\",\"direction\":\"%s\",\"nulls\":\"%s\"}]",
                     directions[i / 2], ends[i % 2]);
        assert_int_equal(parse(text_string(&text), &order, &refusal), RC_OK);
        assert_int_equal(order_term_ends_in_nulls(&order.terms[0]), i % 2 == 1);
        order.count = 1;
        assert_int_equal(row_key_compare(&order, &null, &value) > 0, i % 2 == 1);
        assert_int_equal(row_key_compare(&order, &value, &null) > 0, i % 2 == 0);
        text_free(&text);
    }
}

/* An index has its NULLs lowest; where there are none it does not matter. */
static void an_index_serves_nulls_at_its_own_end_only(void **state)
{
    struct order order;
    const struct collection *links = collection_find(bytes_of("links"));
    (void)state;
    int domain = collection_column(links, bytes_of("domain"));
    order = (struct order){.terms = {{.sql = "t.domain",
                                      .name = "domain",
                                      .column = (uint8_t)domain,
                                      .nullable = true},
                                     {.sql = "t.id"}},
                           .count = 2};
    assert_non_null(order_index(links, &order, 0));
    order.terms[0].nulls_high = true;
    assert_null(order_index(links, &order, 0));
    assert_true(indexed("[{\"field\":\"sharedAt\",\"nulls\":\"last\"}]", 0));
}

static void a_place_outlives_the_row_it_was_taken_from(void **state)
{
    struct row_key key = {0}, other = {0};
    char *text = memory_copy_string("hello");
    const struct field parts[] = {field_text(bytes_of(text)), field_null(FIELD_TEXT), field_int(7)};
    (void)state;
    assert_true(row_key_set(&key, parts, 3));
    memset(text, 'x', 5);
    free(text);
    assert_true(bytes_equal_string(key.parts[0].b, "hello"));
    row_key_move(&other, &key);
    assert_int_equal(key.count, 0);
    assert_true(bytes_equal_string(other.parts[0].b, "hello"));
    assert_true(row_key_set(&other, other.parts, 3)); /* of itself */
    assert_true(bytes_equal_string(other.parts[0].b, "hello"));
    row_key_clear(&other);
    assert_int_equal(other.count, 0);
}

static void a_place_that_is_too_long_is_refused(void **state)
{
    struct row_key key = {0};
    char *text = memory_new(ROW_KEY_BYTES_MAX + 1);
    (void)state;
    memset(text, 'x', ROW_KEY_BYTES_MAX + 1);
    struct field part = field_text(bytes_make(text, ROW_KEY_BYTES_MAX));
    assert_true(row_key_set(&key, &part, 1));
    part.b.len++;
    assert_false(row_key_set(&key, &part, 1));
    assert_int_equal(key.count, 0);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_order_ends_in_the_ingest_number_in_the_last_direction),
        cmocka_unit_test(left_out_null_and_empty_give_the_collections_order),
        cmocka_unit_test(what_follows_the_ingest_number_decides_nothing),
        cmocka_unit_test(a_wrong_order_is_refused_by_name),
        cmocka_unit_test(an_index_serves_its_own_fields_in_one_direction),
        cmocka_unit_test(every_built_in_collection_has_an_index_for_its_own_order),
        cmocka_unit_test(null_is_lowest_and_text_is_compared_by_bytes),
        cmocka_unit_test(nulls_go_where_they_are_told_to),
        cmocka_unit_test(an_index_serves_nulls_at_its_own_end_only),
        cmocka_unit_test(a_place_outlives_the_row_it_was_taken_from),
        cmocka_unit_test(a_place_that_is_too_long_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
