/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void expect_tame(const char *words, unsigned width_max, const char *tame)
{
    struct text out = {0};
    table_tame(&out, bytes_of(words), width_max);
    assert_string_equal(text_string(&out), tame);
    text_free(&out);
}

static void what_strangers_wrote_cannot_steer_a_terminal(void **state)
{
    (void)state;
    expect_tame("plain, grün, 日本", 0, "plain, grün, 日本");
    expect_tame("a\033[2Jb\nc\td\177e", 0, "a?[2Jb?c?d?e");
    expect_tame("a\xc2\x9b"
                "2Jb",
                0, "a?2Jb"); /* the one-character form of ESC [ */
    expect_tame("\xc2\xa0", 0, "\xc2\xa0");
    expect_tame("\xc2", 0, "\xc2");
    expect_tame("grünes", 4, "grün…");
    expect_tame("grün", 4, "grün");
}

static void titles_of_strangers_cannot_steer_a_terminal_either(void **state)
{
    static const struct table_column columns[] = {{"a\033[2Jb", "a", TABLE_TEXT, 8},
                                                  {"as long as they like", "b", TABLE_TEXT, 8}};
    struct table table;
    struct text out = {0};
    (void)state;
    table_init(&table, columns, 2);
    table_add(&table, bytes_of("one"));
    table_add(&table, bytes_of("two"));
    table_print(&table, true, true, &out);
    assert_string_equal(text_string(&out), "\033[1ma?[2Jb  as long \xe2\x80\xa6\n"
                                           "\033[0mone     two\n");
    table_deinit(&table);
    text_free(&out);
}

static void columns_are_as_wide_as_they_need_to_be(void **state)
{
    static const struct table_column columns[] = {{"NAME", "name", TABLE_TEXT, 6},
                                                  {"N", "n", TABLE_NUMBER, 0},
                                                  {"AT", "at", TABLE_TIME, 0},
                                                  {"WHY", "why", TABLE_TEXT, 0}};
    struct json_doc *doc = json_doc_new(4096, JSON_DEPTH_MAX);
    struct table table;
    struct text out = {0};
    struct json root;
    struct err err;
    (void)state;
    table_init(&table, columns, 4);
    assert_int_equal(
        json_parse_copy(doc,
                        bytes_of("[{\"name\":\"größer\",\"n\":5,\"at\":"
                                 "\"2026-11-15T06:44:56.123456Z\",\"why\":true},"
                                 "{\"name\":\"a longer one\",\"n\":12345,\"why\":\"\"}]"),
                        &root, &err),
        RC_OK);
    table_add_item(&table, json_at(root, 0));
    table_add_item(&table, json_at(root, 1));
    table_print(&table, true, false, &out);
    assert_string_equal(text_string(&out), "NAME         N  AT                   WHY\n"
                                           "größer       5  2026-11-15 06:44:56  yes\n"
                                           "a long…  12345  -\n");
    table_deinit(&table);
    text_free(&out);
    json_doc_free(doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_strangers_wrote_cannot_steer_a_terminal),
        cmocka_unit_test(titles_of_strangers_cannot_steer_a_terminal_either),
        cmocka_unit_test(columns_are_as_wide_as_they_need_to_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
