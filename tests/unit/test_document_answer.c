/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/byte_range.h"
#include "serve/document_type.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* ---- ranges ---- */

struct asked {
    const char *header;
    bool part, there;
    int64_t at, len;
};

/* Of ten bytes. */
static void one_range_is_understood_and_all_else_is_everything(void **state)
{
    static const struct asked all[] = {
        {NULL, false, true, 0, 10},
        {"bytes=0-0", true, true, 0, 1},
        {"bytes=2-5", true, true, 2, 4},
        {"bytes=2-", true, true, 2, 8},
        {"bytes=2-99999999999999999", true, true, 2, 8},
        {"bytes=-3", true, true, 7, 3},
        {"bytes=-30", true, true, 0, 10},
        {"bytes=10-", true, false, 0, 0},
        {"bytes=10-12", true, false, 0, 0},
        {"bytes=-0", true, false, 0, 0},
        {"bytes=5-2", false, true, 0, 10},
        {"bytes=-", false, true, 0, 10},
        {"bytes=", false, true, 0, 10},
        {"bytes=1-2,4-5", false, true, 0, 10},
        {"bytes=--3", false, true, 0, 10},
        {"bytes=+1-2", false, true, 0, 10},
        {"bytes=1-2 ", false, true, 0, 10},
        {"bytes=99999999999999999999-", false, true, 0, 10},
        {"lines=1-2", false, true, 0, 10},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        int64_t at = -1, len = -1;
        struct byte_range range = byte_range_parse(bytes_of(all[i].header));
        assert_int_equal(range.kind != BYTE_RANGE_ALL, all[i].part);
        assert_int_equal(byte_range_resolve(&range, 10, &at, &len), all[i].there);
        if (all[i].there) {
            assert_int_equal(at, all[i].at);
            assert_int_equal(len, all[i].len);
        }
    }
}

static void nothing_has_no_range_but_all_of_it(void **state)
{
    int64_t at, len;
    (void)state;
    struct byte_range all = byte_range_parse(BYTES_ABSENT),
                      last = byte_range_parse(bytes_of("bytes=-1"));
    assert_true(byte_range_resolve(&all, 0, &at, &len));
    assert_int_equal(len, 0);
    assert_false(byte_range_resolve(&last, 0, &at, &len));
}

/* ---- types ---- */

static const char *type_of(const char *head, size_t len, bool cut)
{
    return document_type_of(bytes_make(head, len), cut);
}

static void nothing_a_browser_runs_is_ever_named(void **state)
{
    static const char *const texts[] = {"<!doctype html><script>alert(1)</script>",
                                        "<svg xmlns='http://www.w3.org/2000/svg'/>",
                                        "%PDF-1.7 text",
                                        "[a link](https://example.org)",
                                        "{prose}",
                                        "  words"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_string_equal(type_of(texts[i], strlen(texts[i]), false),
                            "text/plain; charset=utf-8");
}

static void types_are_what_the_first_bytes_prove(void **state)
{
    (void)state;
    assert_string_equal(type_of(" {\"a\":1}", 8, false), "application/json");
    assert_string_equal(type_of("{}", 2, false), "application/json");
    assert_string_equal(type_of("[\n{", 3, true), "application/json");
    assert_string_equal(type_of("\x89PNG\r\n\x1a\n...", 11, true), "image/png");
    assert_string_equal(type_of("\xff\xd8\xff\xe0", 4, true), "image/jpeg");
    assert_string_equal(type_of("GIF89a", 6, true), "image/gif");
    assert_string_equal(type_of("RIFF....WEBPVP8 ", 16, true), "image/webp");
    assert_string_equal(type_of("\0\0\0\x1c"
                                "ftypavif",
                                12, true),
                        "image/avif");
    assert_string_equal(type_of("\0\0\0\x1c"
                                "ftypheic",
                                12, true),
                        "application/octet-stream");
    assert_string_equal(type_of("<svg xmlns=\"a\">", 15, true), "text/plain; charset=utf-8");
    assert_string_equal(type_of("RIFF\1...WAVE", 12, true), "application/octet-stream");
    assert_string_equal(type_of("GRC2\0\1", 6, true), "application/octet-stream");
    assert_string_equal(type_of("", 0, false), "application/octet-stream");
    assert_string_equal(type_of("{\"a\":\"\xff\"}", 8, false), "application/octet-stream");
}

static void a_head_may_end_within_a_character(void **state)
{
    (void)state;
    assert_string_equal(type_of("caf\xc3", 4, true), "text/plain; charset=utf-8");
    assert_string_equal(type_of("caf\xc3", 4, false), "application/octet-stream");
    assert_string_equal(type_of("\xf0\x9f\x8c", 3, true), "text/plain; charset=utf-8");
    assert_string_equal(type_of("\xf0\x9f(", 3, true), "application/octet-stream");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_range_is_understood_and_all_else_is_everything),
        cmocka_unit_test(nothing_has_no_range_but_all_of_it),
        cmocka_unit_test(nothing_a_browser_runs_is_ever_named),
        cmocka_unit_test(types_are_what_the_first_bytes_prove),
        cmocka_unit_test(a_head_may_end_within_a_character),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
