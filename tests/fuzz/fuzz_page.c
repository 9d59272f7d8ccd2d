/* SPDX-License-Identifier: Apache-2.0
 *
 * Any address of the page, and after a line feed any answer to it: a parameter is refused with a
 * sentence, or the view has exactly one address, which reads back as the same view, and the page
 * that is made of the answer has only elements of its own. */
#include "base/json.h"
#include "serve/news_page.h"
#include "serve/news_question.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define NOW_US     INT64_C(1790000000000000)
#define ANSWER_MAX (1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* As a server decodes a parameter, in place. */
static void decode(char *at)
{
    char *out = at;
    for (; *at != '\0'; at++) {
        if (*at == '%' && digit(at[1]) >= 0 && digit(at[2]) >= 0) {
            *out++ = (char)(digit(at[1]) * 16 + digit(at[2]));
            at += 2;
        } else {
            *out++ = *at == '+' ? ' ' : *at;
        }
    }
    *out = '\0';
}

/* Reads what follows the question mark; `query` is changed. */
static enum rc read_query(char *query, struct news_question *question, struct refusal *refusal)
{
    refusal->code = REFUSAL_NONE;
    for (char *rest = query, *part; (part = strsep(&rest, "&")) != NULL;) {
        char *value = strchr(part, '=');
        if (*part == '\0')
            continue;
        if (value != NULL) {
            *value++ = '\0';
            decode(value);
        }
        decode(part);
        news_question_take(question, part, value, refusal);
    }
    return refusal->code == REFUSAL_NONE ? RC_OK : RC_REJECT;
}

/* ---- the page ---- */

static void check_link(const char *value, size_t len)
{
    struct bytes address = bytes_make(value, len);
    assert(bytes_starts_with(address, "/") || bytes_starts_with(address, "#") ||
           bytes_starts_with(address, "http://") || bytes_starts_with(address, "https://"));
}

/* Walks the attributes of a tag and returns what follows it. */
static const char *check_attributes(const char *at)
{
    while (*at == ' ') {
        const char *name = ++at;
        at += strspn(at, "abcdefghijklmnopqrstuvwxyz-");
        struct bytes word = bytes_make(name, (size_t)(at - name));
        assert(word.len > 0 && !bytes_starts_with(word, "on") &&
               !bytes_equal_string(word, "style"));
        if (*at != '=')
            continue;
        assert(at[1] == '"');
        const char *value = at + 2;
        at = strchr(value, '"');
        assert(at != NULL);
        if (bytes_equal_string(word, "href"))
            check_link(value, (size_t)(at - value));
        at++;
    }
    assert(*at == '>');
    return at + 1;
}

static bool stands_alone(struct bytes name)
{
    static const char *const all[] = {"img", "input", "link", "meta"};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (bytes_equal_string(name, all[i]))
            return true;
    return false;
}

/* What strangers wrote ends no element and begins none: all that there are nest. */
static void check_markup(const char *html)
{
    static const char doctype[] = "<!doctype html>", letters[] = "abcdefghijklmnopqrstuvwxyz123456";
    struct bytes open[MARKUP_DEPTH_MAX];
    size_t depth = 0;
    assert(strncmp(html, doctype, sizeof doctype - 1) == 0);
    for (const char *at = html + sizeof doctype - 1; (at = strchr(at, '<')) != NULL;) {
        bool ends = at[1] == '/';
        at += 1 + ends;
        struct bytes name = bytes_make(at, strspn(at, letters));
        assert(name.len > 0);
        at = check_attributes(at + name.len);
        if (ends) {
            assert(depth > 0);
            depth--;
            assert(bytes_compare(open[depth], name) == 0);
        } else if (!stands_alone(name)) {
            assert(depth < MARKUP_DEPTH_MAX);
            open[depth++] = name;
        }
    }
    assert(depth == 0);
}

/* An answer that does not parse is one without links. */
static void check_page(const struct news_question *question, struct bytes given)
{
    struct health_view health = {.last_event_us_ago = -1, .cursor_time_us = -1};
    static struct json_doc *doc;
    static struct text out;
    struct json answer = {0};
    struct err err;
    if (doc == NULL)
        doc = json_doc_new(ANSWER_MAX, JSON_DEPTH_MAX);
    text_clear(&out);
    if (json_parse_copy(doc, given, &answer, &err) != RC_OK)
        answer = (struct json){0};
    const struct news_page page = {.question = question, .answer = answer, .health = &health};
    news_page_print(&page, &out);
    check_markup(text_string(&out));
}

/* ---- the address ---- */

static void check_address(const struct news_question *question)
{
    struct news_question again = news_question_usual(NOW_US);
    struct refusal refusal;
    struct text first = {0}, second = {0};
    news_question_print(question, "/", &first);
    char *query = strdup(text_string(&first) + 1);
    enum rc rc = read_query(query + (*query == '?'), &again, &refusal);
    assert(rc == RC_OK);
    news_question_print(&again, "/", &second);
    assert(strcmp(text_string(&first), text_string(&second)) == 0);
    for (const char *at = text_string(&first); *at != '\0'; at++)
        assert(*at > ' ' && *at < 0x7f && strchr("\"'<>\\", *at) == NULL);
    free(query);
    text_free(&first);
    text_free(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct news_question question = news_question_usual(NOW_US);
    struct refusal refusal;
    const uint8_t *feed = size == 0 ? NULL : memchr(data, '\n', size);
    size_t len = feed == NULL ? size : (size_t)(feed - data);
    struct bytes answer =
        feed == NULL ? bytes_of("") : bytes_make((const char *)feed + 1, size - len - 1);
    char *query = strndup((const char *)data, len);
    if (read_query(query, &question, &refusal) == RC_OK) {
        check_address(&question);
        check_page(&question, answer);
    } else {
        assert(refusal.err.text[0] != '\0');
    }
    free(query);
    return 0;
}
