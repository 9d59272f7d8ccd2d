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

static const char *made(struct text *out, enum digest_format format)
{
    struct json_doc *doc = json_doc_new(1 << 16, JSON_DEPTH_MAX);
    struct json root;
    struct err err;
    assert_int_equal(json_parse_copy(doc, bytes_of(answer), &root, &err), RC_OK);
    text_clear(out);
    digest_print(root, 24, format, out);
    json_doc_free(doc);
    return text_string(out);
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
                                  "2026-09-21T14:02:00.000Z.\n"));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_text_is_plain),
        cmocka_unit_test(markdown_takes_titles_for_what_they_are),
        cmocka_unit_test(html_has_no_markup_of_strangers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
