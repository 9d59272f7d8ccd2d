/* SPDX-License-Identifier: Apache-2.0 */
#include "source/ledger_aside.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct json_doc *doc;

static int make_doc(void **state)
{
    (void)state;
    doc = json_doc_new(1 << 16, JSON_DEPTH_MAX);
    return 0;
}

static int free_doc(void **state)
{
    (void)state;
    json_doc_free(doc);
    return 0;
}

static struct ledger_aside write_and_read(const struct ledger_aside *aside,
                                          char custom[CURSOR_EXTRA_MAX + 1])
{
    ledger_aside_write(aside, custom);
    return ledger_aside_read(doc, custom);
}

static void assert_nothing(struct ledger_aside aside)
{
    assert_int_equal(aside.top, -1);
    assert_int_equal(aside.waits, -1);
    assert_int_equal(aside.total, -1);
    assert_int_equal(aside.hold_ms, -1);
    assert_int_equal(aside.parts.len, 0);
}

static void what_was_written_is_read(void **state)
{
    char custom[CURSOR_EXTRA_MAX + 1];
    struct ledger_aside aside = {.top = 812, .waits = -1, .total = -1, .hold_ms = -1};
    (void)state;
    struct ledger_aside read = write_and_read(&aside, custom);
    assert_string_equal(custom, "{\"top\":812,\"waits\":-1}");
    assert_int_equal(read.top, 812);
    assert_int_equal(read.waits, -1);
    assert_int_equal(read.total, -1);
    aside = (struct ledger_aside){
        .top = -1, .waits = -1, .total = 0, .hold_ms = 9, .parts = bytes_of("0123456789abcdef")};
    read = write_and_read(&aside, custom);
    assert_string_equal(custom, "{\"total\":0,\"hold\":9,\"parts\":\"0123456789abcdef\"}");
    assert_int_equal(read.top, -1);
    assert_int_equal(read.total, 0);
    assert_int_equal(read.hold_ms, 9);
    assert_true(bytes_equal_string(read.parts, "0123456789abcdef"));
}

static void nothing_leaves_nothing(void **state)
{
    char custom[CURSOR_EXTRA_MAX + 1] = "{\"top\":1}";
    struct ledger_aside none = ledger_aside_none();
    (void)state;
    assert_nothing(write_and_read(&none, custom));
    assert_string_equal(custom, "");
}

static void what_cannot_be_read_is_not_there(void **state)
{
    static const char *const words[] = {
        "", "{", "[]", "7", "{\"top\":\"812\",\"parts\":3}", "{\"top\":1.5,\"total\":null}"};
    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        assert_nothing(ledger_aside_read(doc, words[i]));
}

static void as_many_parts_as_may_be_have_room_beside_the_rest(void **state)
{
    static char marks[LEDGER_ASIDE_PARTS_MAX];
    char custom[CURSOR_EXTRA_MAX + 1];
    (void)state;
    memset(marks, 'a', sizeof marks);
    const struct ledger_aside full = {.top = INT64_MAX,
                                      .waits = INT64_MAX,
                                      .total = INT64_MAX,
                                      .hold_ms = INT64_MAX,
                                      .parts = bytes_make(marks, sizeof marks)};
    struct ledger_aside read = write_and_read(&full, custom);
    assert_int_equal(read.top, INT64_MAX);
    assert_int_equal(read.total, INT64_MAX);
    assert_int_equal(read.parts.len, sizeof marks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_read),
        cmocka_unit_test(nothing_leaves_nothing),
        cmocka_unit_test(what_cannot_be_read_is_not_there),
        cmocka_unit_test(as_many_parts_as_may_be_have_room_beside_the_rest),
    };
    return cmocka_run_group_tests(tests, make_doc, free_doc);
}
