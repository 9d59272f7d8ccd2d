/* SPDX-License-Identifier: Apache-2.0
 *
 * The digest: three formats of one answer, and strangers' words in them. */
#include "cli/digest_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const char answer[] =
    "{\"links\":[{\"title\":\"A [good] *title*\",\"url\":\"https://e.example/a_(b)?x=1&y=2\","
    "\"description\":\"About <b>\",\"shares\":3,\"sharers\":[{\"displayName\":\"Ann\"},"
    "{\"handle\":\"bo.example\"}],\"also\":[{\"domain\":\"f.example\"}]},"
    "{\"title\":\"\\u001b[31m<script>\",\"url\":\"javascript:alert(1)\",\"shares\":1,"
    "\"sharers\":[{\"did\":\"did:plc:c\"}],\"also\":[]}],"
    "\"complete_since\":\"2026-09-21T14:02:00.000Z\",\"gaps\":[{}]}";

/* 2026-09-21T20:00:00Z */
#define NOW_US INT64_C(1790020800000000)

static const char *made_of(const char *words, struct text *out, enum digest_format format)
{
    struct json_doc *doc = json_doc_new(1 << 16, JSON_DEPTH_MAX);
    struct digest digest = {.hours = 24, .now_us = NOW_US};
    struct err err;
    assert_int_equal(json_parse_copy(doc, bytes_of(words), &digest.answer, &err), RC_OK);
    text_clear(out);
    digest_print(&digest, format, out);
    json_doc_free(doc);
    return text_string(out);
}

static const char *made(struct text *out, enum digest_format format)
{
    return made_of(answer, out, format);
}

static void the_text_is_plain(void **state)
{
    (void)state;
    struct text out = {0};
    const char *words = made(&out, DIGEST_TEXT);
    assert_non_null(strstr(words,
                           "What was shared in the last 24 hours: 2 stories\n\n 1. A [good] "
                           "*title*\n    https://e.example/a_(b)?x=1&y=2\n    3 people: Ann, "
                           "bo.example and 1 more; also at f.example\n"));
    assert_null(strchr(words, '\033'));
    assert_non_null(strstr(words, "\n1 gap in this time is still being filled; complete since "
                                  "2026-09-21 14:02 UTC.\n"));
    text_free(&out);
}

static void markdown_takes_titles_for_what_they_are(void **state)
{
    (void)state;
    struct text out = {0};
    const char *words = made(&out, DIGEST_MARKDOWN);
    assert_non_null(strstr(words, "# What was shared"));
    assert_non_null(
        strstr(words, "1. [A \\[good\\] \\*title\\*](<https://e.example/a_(b)?x=1&y=2>)"));
    assert_non_null(strstr(words, "\\<script\\>"));
    assert_null(strstr(words, "](<javascript"));
    text_free(&out);
}

static void html_has_no_markup_of_strangers(void **state)
{
    (void)state;
    struct text out = {0};
    const char *words = made(&out, DIGEST_HTML);
    assert_non_null(strstr(words, "<a href=\"https://e.example/a_(b)?x=1&amp;y=2\"><bdi>A [good]"));
    assert_non_null(strstr(words, "&lt;script&gt;"));
    assert_null(strstr(words, "<script"));
    assert_null(strstr(words, "href=\"javascript"));
    assert_non_null(strstr(words, "About &lt;b&gt;"));
    text_free(&out);
}

static void what_is_known_to_be_missing_is_said_at_the_end(void **state)
{
    (void)state;
    static const char unread[] =
        "{\"links\":[],\"complete_since\":\"2026-09-21T19:58:00.000001Z\",\"gaps\":[]}";
    static const char whole[] =
        "{\"links\":[],\"complete_since\":\"2026-09-20T20:00:00.000Z\",\"gaps\":[]}";
    static const char unknown[] = "{\"links\":[],\"complete_since\":null,\"gaps\":[]}";
    static const char cut[] = "{\"links\":[],\"complete_since\":\"2026-09-20T19:59:59.000Z\","
                              "\"truncated\":true,\"gaps\":[]}";
    struct text out = {0};
    assert_non_null(strstr(made_of(unread, &out, DIGEST_TEXT),
                           "\nNot all of this time has been read yet; complete since "
                           "2026-09-21 19:59 UTC.\n"));
    assert_non_null(strstr(made_of(unread, &out, DIGEST_HTML), "<p>Not all of this time"));
    assert_non_null(strstr(made_of(unread, &out, DIGEST_MARKDOWN), "\nNot all of this time"));
    assert_string_equal(made_of(whole, &out, DIGEST_TEXT),
                        "What was shared in the last 24 hours: 0 stories\n");
    assert_non_null(
        strstr(made_of(unknown, &out, DIGEST_TEXT), "\nNot all of this time has been read yet.\n"));
    assert_string_equal(made_of(cut, &out, DIGEST_TEXT),
                        "What was shared in the last 24 hours: 0 stories\n\nThere were more links "
                        "than are looked at; those that the fewest people shared are left out.\n");
    text_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_text_is_plain),
        cmocka_unit_test(markdown_takes_titles_for_what_they_are),
        cmocka_unit_test(html_has_no_markup_of_strangers),
        cmocka_unit_test(what_is_known_to_be_missing_is_said_at_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
