/* SPDX-License-Identifier: Apache-2.0 */
#include "query/seek.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct column columns[] = {
    {"id", COLUMN_ID, "t.n", "t.n", false},
    {"a", COLUMN_INT, "t.a", "t.a", false},
    {"b", COLUMN_TEXT, "t.b", "t.b", true},
    {"c", COLUMN_TEXT, "j.c", "j.c", false},
};
static const struct collection collection = {
    .name = "things",
    .table = "thing t",
    .joins = "JOIN other j ON j.id = t.other",
    .n = "t.n",
    .columns = columns,
    .column_count = 4,
    .page_size = 10,
};

static struct seek_sql sql;

static size_t count(const char *words)
{
    size_t found = 0;
    for (const char *at = text_string(&sql.text); (at = strstr(at, words)) != NULL; at++)
        found++;
    return found;
}

static void build(const struct order *order, const struct row_key *after, struct where where)
{
    const struct seek seek = {.collection = &collection,
                              .order = order,
                              .where = where,
                              .fence_n = 77,
                              .after = after,
                              .rows_max = 11};
    seek_build(&seek, &sql);
    assert_int_equal(count("OFFSET"), 0);
    assert_int_equal(count(" OR "), 0);
}

static int tear_down(void **state)
{
    (void)state;
    seek_sql_free(&sql);
    return 0;
}

static const struct order plain = {
    .terms = {{.sql = "t.a", .name = "a", .column = 1, .desc = true}, {.sql = "t.n", .desc = true}},
    .count = 2};

static void the_first_page_has_a_fence_and_no_place(void **state)
{
    (void)state;
    build(&plain, NULL, (struct where){0});
    assert_int_equal(count("UNION ALL"), 0);
    assert_int_equal(count("WHERE t.n < ?1 ORDER BY t.a DESC, t.n DESC LIMIT 11"), 1);
    assert_int_equal(sql.param_count, 1);
    assert_int_equal(sql.params[0].i, 77);
}

/* R004-41: the key predicate stands in every page after the first. */
static void ties_and_what_lies_beyond_are_one_comparison(void **state)
{
    const struct field parts[] = {field_int(5), field_int(42)};
    struct row_key after = {0};
    (void)state;
    assert_true(row_key_set(&after, parts, 2));
    build(&plain, &after, (struct where){0});
    assert_int_equal(count("UNION ALL"), 0);
    assert_int_equal(count("WHERE (t.a, t.n) < (?2, ?3) AND t.n < ?1 ORDER BY t.a DESC, t.n DESC "
                           "LIMIT 11"),
                     1);
    assert_int_equal(sql.param_count, 3);
    row_key_clear(&after);
}

static void fields_that_go_the_same_way_are_compared_together(void **state)
{
    const struct order up = {.terms = {{.sql = "t.a", .name = "a", .column = 1},
                                       {.sql = "j.c", .name = "c", .column = 3},
                                       {.sql = "t.n"}},
                             .count = 3};
    const struct field parts[] = {field_int(5), field_text(bytes_of("c")), field_int(42)};
    struct row_key after = {0};
    (void)state;
    assert_true(row_key_set(&after, parts, 3));
    build(&up, &after, (struct where){0});
    assert_int_equal(count("UNION ALL"), 0);
    assert_int_equal(count("WHERE (t.a, j.c, t.n) > (?2, ?3, ?4) AND"), 1);
    row_key_clear(&after);
}

static const struct order mixed = {
    .terms = {{.sql = "t.b", .name = "b", .column = 2, .desc = true, .nullable = true},
              {.sql = "t.a", .name = "a", .column = 1},
              {.sql = "t.n"}},
    .count = 3};

static void going_down_nulls_come_last_in_a_seek_of_their_own(void **state)
{
    const struct field parts[] = {field_text(bytes_of("x")), field_int(1), field_int(2)};
    struct row_key after = {0};
    (void)state;
    assert_true(row_key_set(&after, parts, 3));
    build(&mixed, &after, (struct where){0});
    assert_int_equal(count("UNION ALL"), 1);
    assert_int_equal(count("WHERE t.b = ?2 AND (t.a, t.n) > (?3, ?4) AND"), 1);
    assert_int_equal(count("WHERE t.b < ?2 AND"), 1);
    assert_int_equal(count("IS NULL"), 0);
    assert_int_equal(count("ORDER BY t.b DESC NULLS LAST, t.a, t.n LIMIT 11"), 2);
    /* What is left of all rungs, by the columns that all of them begin with. */
    assert_int_equal(count(" r2 ORDER BY 1 DESC NULLS LAST, 2, 3 LIMIT 11"), 1);
    struct seek rest = {
        .collection = &collection, .order = &mixed, .fence_n = 77, .after = &after, .rows_max = 11};
    assert_true(seek_leaves_nulls(&rest));
    rest.nulls = true;
    assert_false(seek_leaves_nulls(&rest));
    seek_build(&rest, &sql);
    assert_int_equal(count("UNION ALL"), 0);
    assert_int_equal(count("WHERE t.b IS NULL AND t.n < ?1 ORDER BY"), 1);
    assert_int_equal(sql.param_count, 1);
    row_key_clear(&after);
}

static const struct order down = {
    .terms = {{.sql = "t.a", .name = "a", .column = 1, .desc = true},
              {.sql = "t.b", .name = "b", .column = 2, .desc = true, .nullable = true},
              {.sql = "t.n", .desc = true}},
    .count = 3};

static void a_null_within_a_run_has_its_rung_too(void **state)
{
    const struct field parts[] = {field_int(1), field_text(bytes_of("x")), field_int(2)};
    struct row_key after = {0};
    (void)state;
    assert_true(row_key_set(&after, parts, 3));
    build(&down, &after, (struct where){0});
    assert_int_equal(count("UNION ALL"), 1);
    assert_int_equal(count("WHERE (t.a, t.b, t.n) < (?2, ?3, ?4) AND"), 1);
    assert_int_equal(count("WHERE t.a = ?2 AND t.b IS NULL AND"), 1);
    row_key_clear(&after);
}

static void after_a_null_going_down_only_its_equals_are_left(void **state)
{
    const struct field parts[] = {field_null(FIELD_TEXT), field_int(1), field_int(2)};
    struct row_key after = {0};
    (void)state;
    assert_true(row_key_set(&after, parts, 3));
    build(&mixed, &after, (struct where){0});
    assert_int_equal(count("UNION ALL"), 0);
    assert_int_equal(count("WHERE t.b IS NULL AND (t.a, t.n) > (?2, ?3) AND"), 1);
    assert_int_equal(sql.param_count, 3);
    row_key_clear(&after);
}

static void going_up_everything_follows_a_null(void **state)
{
    const struct order up = {
        .terms = {{.sql = "t.b", .name = "b", .column = 2, .nullable = true}, {.sql = "t.n"}},
        .count = 2};
    const struct field parts[] = {field_null(FIELD_TEXT), field_int(2)};
    struct row_key after = {0};
    (void)state;
    assert_true(row_key_set(&after, parts, 2));
    build(&up, &after, (struct where){0});
    assert_int_equal(count("WHERE t.b IS NULL AND t.n > ?2 AND"), 1);
    assert_int_equal(count("WHERE t.b IS NOT NULL AND"), 1);
    assert_int_equal(count("ORDER BY t.b NULLS FIRST, t.n"), 2);
    row_key_clear(&after);
}

static void a_condition_keeps_its_own_parameters_in_every_rung(void **state)
{
    const struct field given[] = {field_text(bytes_of("x")), field_int(9)};
    const struct where where = {
        .sql = "j.c = ?1 AND t.a > ?2", .params = given, .count = 2, .joined = true};
    const struct field parts[] = {field_text(bytes_of("y")), field_int(5), field_int(42)};
    struct row_key after = {0};
    (void)state;
    assert_true(row_key_set(&after, parts, 3));
    build(&mixed, &after, where);
    assert_int_equal(count("AND t.n < ?3 AND (j.c = ?1 AND t.a > ?2)"), 2);
    assert_int_equal(count("JOIN other j"), 2); /* each rung reads it */
    assert_int_equal(sql.param_count, 6);
    row_key_clear(&after);
    const struct seek seek = {
        .collection = &collection, .where = where, .fence_n = 4, .rows_max = 101};
    seek_build_count(&seek, &sql);
    assert_int_equal(count("LIMIT 101"), 1);
    assert_int_equal(sql.param_count, 3);
}

static void build_rung(const struct order *order, const struct row_key *after, size_t rung)
{
    const struct seek seek = {
        .collection = &collection, .order = order, .fence_n = 77, .after = after, .rows_max = 11};
    assert_true(seek_build_rung(&seek, rung, &sql));
    assert_int_equal(count("UNION"), 0);
}

static void a_rung_alone_reads_whole_rows_and_binds_only_its_own(void **state)
{
    const struct field parts[] = {field_int(5), field_int(42)};
    struct row_key after = {0};
    (void)state;
    assert_true(row_key_set(&after, parts, 2));
    build_rung(&plain, &after, 0);
    assert_string_equal(text_string(&sql.text),
                        "SELECT t.a, t.n, t.n, t.a, t.b, j.c FROM thing t JOIN other j ON j.id = "
                        "t.other WHERE t.a = ?2 AND t.n < ?3 AND t.n < ?1 ORDER BY t.a DESC, t.n "
                        "DESC LIMIT 11");
    assert_int_equal(sql.param_count, 3);
    build_rung(&plain, &after, 1);
    assert_int_equal(count("WHERE t.a < ?2 AND t.n < ?1 ORDER BY t.a DESC, t.n DESC LIMIT 11"), 1);
    assert_int_equal(sql.param_count, 2);
    build_rung(&plain, NULL, 0);
    assert_int_equal(count("WHERE t.n < ?1 ORDER BY"), 1);
    row_key_clear(&after);
}

/* Taken together, what is beyond (a, b) would come before and after what has no b. */
static void rungs_that_are_asked_apart_come_in_the_order_of_their_rows(void **state)
{
    static const char *const places[] = {
        "WHERE t.a = ?2 AND t.b = ?3 AND t.n < ?4 AND t.n < ?1",
        "WHERE t.a = ?2 AND t.b < ?3 AND t.n < ?1",
        "WHERE t.a = ?2 AND t.b IS NULL AND t.n < ?1",
        "WHERE t.a < ?2 AND t.n < ?1",
    };
    const struct field parts[] = {field_int(1), field_text(bytes_of("x")), field_int(2)};
    struct row_key after = {0};
    (void)state;
    assert_true(row_key_set(&after, parts, 3));
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        build_rung(&down, &after, i);
        assert_int_equal(count(places[i]), 1);
    }
    const struct seek seek = {
        .collection = &collection, .order = &down, .fence_n = 77, .after = &after, .rows_max = 11};
    assert_false(seek_build_rung(&seek, sizeof places / sizeof places[0], &sql));
    row_key_clear(&after);
}

static void a_copied_condition_owns_its_values(void **state)
{
    char *text = memory_copy_string("value"), *words = memory_copy_string("t.b = ?1");
    const struct field given[] = {field_text(bytes_of(text)), field_null(FIELD_TEXT)};
    (void)state;
    struct where copy = where_copy((struct where){.sql = words, .params = given, .count = 2});
    memset(text, 'x', 5);
    free(text);
    free(words);
    assert_string_equal(copy.sql, "t.b = ?1");
    assert_true(bytes_equal_string(copy.params[0].b, "value"));
    assert_true(copy.params[1].null);
    where_free(&copy);
    copy = where_copy((struct where){0});
    assert_null(copy.sql);
    where_free(&copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_page_has_a_fence_and_no_place),
        cmocka_unit_test(ties_and_what_lies_beyond_are_one_comparison),
        cmocka_unit_test(fields_that_go_the_same_way_are_compared_together),
        cmocka_unit_test(going_down_nulls_come_last_in_a_seek_of_their_own),
        cmocka_unit_test(a_null_within_a_run_has_its_rung_too),
        cmocka_unit_test(after_a_null_going_down_only_its_equals_are_left),
        cmocka_unit_test(going_up_everything_follows_a_null),
        cmocka_unit_test(a_condition_keeps_its_own_parameters_in_every_rung),
        cmocka_unit_test(a_rung_alone_reads_whole_rows_and_binds_only_its_own),
        cmocka_unit_test(rungs_that_are_asked_apart_come_in_the_order_of_their_rows),
        cmocka_unit_test(a_copied_condition_owns_its_values),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
