/* SPDX-License-Identifier: Apache-2.0
 *
 * Markup whose texts come from strangers: they stay texts. */
#include "base/markup.h"
#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct text out;

static int empty(void **state)
{
    (void)state;
    text_free(&out);
    out = (struct text){0};
    return 0;
}

static void elements_nest_and_void_ones_have_no_end(void **state)
{
    (void)state;
    struct markup markup;
    markup_init(&markup, &out, MARKUP_HTML);
    markup_begin_class(&markup, "p", "a");
    markup_string(&markup, "x");
    markup_begin(&markup, "br");
    markup_end(&markup, "br");
    markup_leaf(&markup, "b", "y");
    markup_begin(&markup, "details");
    markup_attr_flag(&markup, "open", true);
    markup_attr_flag(&markup, "hidden", false);
    markup_attr_i64(&markup, "data-n", -7);
    markup_end(&markup, "details");
    markup_textf(&markup, "%d & more", 3);
    markup_end(&markup, "p");
    assert_string_equal(text_string(&out),
                        "<!doctype html>\n<p class=\"a\">x<br><b>y</b>"
                        "<details open=\"\" data-n=\"-7\"></details>3 &amp; more</p>");
}

static void xml_closes_what_is_empty(void **state)
{
    (void)state;
    struct markup markup;
    markup_init(&markup, &out, MARKUP_XML);
    markup_begin(&markup, "rss");
    markup_begin(&markup, "link");
    markup_end(&markup, "link");
    markup_leaf(&markup, "link", "x");
    markup_end(&markup, "rss");
    assert_string_equal(text_string(&out), "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                                           "<rss><link/><link>x</link></rss>");
}

static void what_a_stranger_writes_stays_text(void **state)
{
    (void)state;
    static const struct {
        const char *given, *written;
    } cases[] = {
        {"<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"},
        {"\"' onload='x", "&quot;&#39; onload=&#39;x"},
        {"a\tb\nc", "a\tb\nc"},
        {"bell\a del\x7f esc\x1b[0m", "bell\xef\xbf\xbd del\xef\xbf\xbd esc\xef\xbf\xbd[0m"},
        {"caf\xc3\xa9 \xf0\x9f\x8c\x8a", "caf\xc3\xa9 \xf0\x9f\x8c\x8a"},
        {"cut \xe2\x82", "cut \xef\xbf\xbd"},
        {"half \xed\xa0\x80 pair", "half \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd pair"},
        {"overlong \xc0\xbc", "overlong \xef\xbf\xbd\xef\xbf\xbd"},
        {"\xef\xbf\xbe \xef\xbf\xbf", "\xef\xbf\xbd \xef\xbf\xbd"},
        {"&amp;", "&amp;amp;"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        text_clear(&out);
        markup_escape(&out, bytes_of(cases[i].given));
        assert_string_equal(text_string(&out), cases[i].written);
    }
    text_clear(&out);
    markup_escape(&out, bytes_make("a\0b", 3));
    assert_string_equal(text_string(&out), "a\xef\xbf\xbd"
                                           "b");
}

static void a_strangers_text_is_isolated_and_cut_between_characters(void **state)
{
    (void)state;
    struct markup markup;
    markup_init_part(&markup, &out, MARKUP_HTML);
    /* U+202E turns everything after it around. */
    markup_stranger(&markup,
                    bytes_of("\xe2\x80\xae"
                             "gnp.exe"),
                    64);
    markup_stranger(&markup, bytes_of("ab\xc3\xa9"), 3);
    assert_string_equal(text_string(&out), "<bdi>\xe2\x80\xae"
                                           "gnp.exe</bdi><bdi>ab\xe2\x80\xa6</bdi>");
    assert_int_equal(utf8_cut(bytes_of("ab\xc3\xa9"), 4).len, 4);
    assert_int_equal(utf8_cut(bytes_of("\xc3\xa9"), 1).len, 0);
    char room[4] = "xyz";
    utf8_copy(bytes_of("ab\xc3\xa9"), room, sizeof room);
    assert_string_equal(room, "ab");
    utf8_copy(BYTES_ABSENT, room, sizeof room);
    assert_string_equal(room, "");
}

static void only_addresses_of_the_web_are_followed(void **state)
{
    (void)state;
    static const char *const refused[] = {"javascript:alert(1)", "data:text/html,x",
                                          "//evil.example",      " https://e.example",
                                          "ftp://e.example",     ""};
    struct markup markup;
    markup_init_part(&markup, &out, MARKUP_HTML);
    markup_begin(&markup, "a");
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        assert_false(markup_attr_url(&markup, "href", bytes_of(refused[i])));
    assert_false(markup_attr_url(&markup, "href", BYTES_ABSENT));
    assert_true(markup_attr_url(&markup, "href", bytes_of("https://e.example/?a=1&b=\"")));
    markup_end(&markup, "a");
    assert_string_equal(text_string(&out), "<a href=\"https://e.example/?a=1&amp;b=&quot;\"></a>");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(elements_nest_and_void_ones_have_no_end, empty),
        cmocka_unit_test_teardown(xml_closes_what_is_empty, empty),
        cmocka_unit_test_teardown(what_a_stranger_writes_stays_text, empty),
        cmocka_unit_test_teardown(a_strangers_text_is_isolated_and_cut_between_characters, empty),
        cmocka_unit_test_teardown(only_addresses_of_the_web_are_followed, empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
