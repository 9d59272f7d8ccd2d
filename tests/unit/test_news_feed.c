/* SPDX-License-Identifier: Apache-2.0
 *
 * What is shared, for programs that read feeds: an item that was read stays one. */
#include "serve/news_feed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NOW_US INT64_C(1790000000000000)

static void print(const char *answer, struct text *rss, struct text *json)
{
    struct json_doc *doc = json_doc_new(1 << 16, JSON_DEPTH_MAX);
    struct news_question question = news_question_usual(NOW_US);
    struct news_feed feed = {.question = &question, .origin = "http://127.0.0.1:8080"};
    struct err err;
    assert_int_equal(json_parse_copy(doc, bytes_of(answer), &feed.answer, &err), RC_OK);
    news_feed_print_rss(&feed, rss);
    news_feed_print_json(&feed, json);
    json_doc_free(doc);
}

static void assert_named(const char *answer, const char *guid)
{
    struct text rss = {0}, json = {0}, words = {0};
    print(answer, &rss, &json);
    text_appendf(&words, "<guid isPermaLink=\"false\">%s</guid>", guid);
    assert_non_null(strstr(text_string(&rss), text_string(&words)));
    text_clear(&words);
    text_appendf(&words, "\"id\":\"%s\"", guid);
    assert_non_null(strstr(text_string(&json), text_string(&words)));
    text_free(&rss);
    text_free(&json);
    text_free(&words);
}

#define OTHER(id_) "{\"id\":\"" id_ "\",\"url\":\"https://b.example/\",\"shares\":2}"
#define STORY(id_, others_)                                                                        \
    "{\"links\":[{\"id\":\"" id_ "\",\"url\":\"https://a.example/\",\"title\":\"A story\","        \
    "\"shares\":3,\"first_shared_at\":\"2026-09-21T11:13:20.000Z\",\"also\":[" others_ "]}]}"

/* Which of its articles leads changes with every share. */
static void a_story_keeps_its_name_whichever_article_leads(void **state)
{
    (void)state;
    assert_named(STORY("7", ""), "tidemark:link:7");
    assert_named(STORY("7", OTHER("12")), "tidemark:link:7");
    assert_named(STORY("12", OTHER("7")), "tidemark:link:7");
    assert_named(STORY("100", OTHER("12") "," OTHER("7")), "tidemark:link:7");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_story_keeps_its_name_whichever_article_leads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
