/* SPDX-License-Identifier: Apache-2.0
 *
 * The page of what is shared, made of what the API answers. */
#include "serve/news_page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NOW_US  INT64_C(1790000000000000) /* 2026-09-21T14:13:20Z */
#define HOUR_US INT64_C(3600000000)

struct sight {
    struct json_doc *doc;
    struct text html;
    struct news_question question;
    struct health_view health;
    struct news_page page;
};

static int set_up(void **state)
{
    struct sight *sight = memory_new_zeroed(1, sizeof *sight);
    sight->doc = json_doc_new(1 << 20, JSON_DEPTH_MAX);
    sight->question = news_question_usual(NOW_US);
    sight->page = (struct news_page){
        .question = &sight->question, .health = &sight->health, .follows_anybody = true};
    *state = sight;
    return 0;
}

static int tear_down(void **state)
{
    struct sight *sight = *state;
    json_doc_free(sight->doc);
    text_free(&sight->html);
    free(sight);
    return 0;
}

static void show(struct sight *sight, const char *answer)
{
    struct err err;
    text_clear(&sight->html);
    assert_int_equal(json_parse_copy(sight->doc, bytes_of(answer), &sight->page.answer, &err),
                     RC_OK);
    news_page_print(&sight->page, &sight->html);
}

static bool says(const struct sight *sight, const char *words)
{
    return strstr(text_string(&sight->html), words) != NULL;
}

#define LINK(title_, url_)                                                                         \
    "{\"id\":\"7\",\"url\":\"" url_ "\",\"title\":" title_ ",\"description\":\"About <b>it</b>\"," \
    "\"image\":null,\"domain\":\"e.example\",\"shares\":4,"                                        \
    "\"first_shared_at\":\"2026-09-21T11:13:20.000Z\",\"why\":\"4 people shared it.\","            \
    "\"sharers\":[{\"did\":\"did:plc:a\",\"handle\":\"ann.example\",\"displayName\":\"Ann\"},"     \
    "{\"did\":\"did:plc:b\",\"handle\":null,\"displayName\":null}],\"posts\":["                    \
    "{\"uri\":\"at://did:plc:a/app.bsky.feed.post/k\",\"did\":\"did:plc:a\",\"displayName\":"      \
    "\"Ann\",\"text\":\"Read <i>this</i>\",\"via\":\"post\","                                      \
    "\"shared_at\":\"2026-09-21T14:12:50.000Z\"},"                                                 \
    "{\"uri\":\"at://did:plc:b/app.bsky.feed.repost/k\",\"did\":\"did:plc:b\",\"text\":null,"      \
    "\"via\":\"repost\",\"shared_at\":\"2026-09-21T13:13:20.000Z\"}]}"
#define WHOLE "\"complete_since\":\"2026-09-20T14:13:20.000Z\",\"gaps\":[]"

static void a_link_is_told_with_its_people_their_words_and_the_reason(void **state)
{
    struct sight *sight = *state;
    show(sight, "{\"links\":[" LINK("\"A title\"", "https://e.example/a?x=1&y=2") "]," WHOLE "}");
    assert_true(says(sight, "<h2><a class=\"title\" href=\"https://e.example/a?x=1&amp;y=2\" "
                            "rel=\"noopener noreferrer ugc\"><bdi>A title</bdi></a></h2>"));
    assert_true(says(sight, "<b>4</b> <span>people</span>"));
    assert_true(says(sight, "href=\"/?domain=e.example\"><bdi>e.example</bdi>"));
    assert_true(
        says(sight, "first seen <time class=\"age\" datetime=\"2026-09-21T11:13:20.000Z\""));
    assert_true(says(sight, ">3 h ago</time>"));
    assert_true(says(sight, "<bdi>About &lt;b&gt;it&lt;/b&gt;</bdi>"));
    assert_true(says(sight, "href=\"/?author=did:plc:a\" data-did=\"did:plc:a\" "
                            "title=\"ann.example\"><bdi>Ann</bdi></a>, "));
    assert_true(says(sight, "<bdi>did:plc:b</bdi></a> and 2 more"));
    assert_true(says(sight, "<p class=\"why\">4 people shared it.</p>"));
    assert_true(says(sight, "href=\"https://bsky.app/profile/did:plc:a/post/k\""));
    assert_true(says(sight, "<bdi>Read &lt;i&gt;this&lt;/i&gt;</bdi>"));
    assert_true(says(sight, " reposted it <span class=\"when\">"));
}

static void hostile_titles_and_addresses_are_shown_as_text(void **state)
{
    struct sight *sight = *state;
    show(sight, "{\"links\":[" LINK("\"<script>alert(1)</script>\"",
                                    "javascript:alert(1)") "]," WHOLE "}");
    assert_true(says(sight, "<h2><a class=\"title\"><bdi>&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert_false(says(sight, "<script>alert"));
    assert_false(says(sight, "href=\"javascript"));
    show(sight, "{\"links\":[" LINK("\"\\u202egnp.exe\"", "https://e.example/") "]," WHOLE "}");
    assert_true(says(sight, "<bdi>\xe2\x80\xaegnp.exe</bdi>"));
    struct text answer = {0};
    char word[10001];
    memset(word, 'w', 10000);
    word[10000] = '\0';
    text_appendf(&answer, "{\"links\":[{\"id\":\"1\",\"title\":\"%s\",\"url\":\"%s\"}]}", word,
                 word);
    show(sight, text_string(&answer));
    assert_true(says(sight, "www\xe2\x80\xa6</bdi>"));
    assert_true(sight->html.len < 10000);
    text_free(&answer);
}

static void a_page_that_says_nothing_has_a_title_of_its_address(void **state)
{
    struct sight *sight = *state;
    show(sight, "{\"links\":[" LINK(
                    "null", "https://www.e.example/news/the-tide-turns.html") "]," WHOLE "}");
    assert_true(says(sight, "<h2><a class=\"title\" "
                            "href=\"https://www.e.example/news/the-tide-turns.html\" "
                            "rel=\"noopener noreferrer ugc\"><bdi>e.example: the tide turns</bdi>"
                            "</a></h2><p class=\"address\"><bdi>"
                            "https://www.e.example/news/the-tide-turns.html</bdi></p>"));
    show(sight, "{\"links\":[" LINK("\"\"", "https://e.example/%3Cscript%3E") "]," WHOLE "}");
    assert_true(says(sight, "<bdi>e.example: &lt;script&gt;</bdi>"));
    show(sight, "{\"links\":[" LINK("\"A title\"", "https://e.example/") "]," WHOLE "}");
    assert_false(says(sight, "class=\"address\""));
}

#define PICTURED(image_)                                                                           \
    "{\"links\":[{\"id\":\"7\",\"title\":\"A\",\"url\":\"https://e.example/\",\"image\":" image_   \
    "}]," WHOLE "}"

static void a_picture_comes_from_here_or_not_at_all(void **state)
{
    struct sight *sight = *state;
    show(sight, PICTURED("\"https://e.example/i.png\""));
    assert_false(says(sight, "pictured"));
    sight->question.pictures = true;
    show(sight, PICTURED("\"https://e.example/i.png\""));
    assert_true(says(sight, "<article class=\"link pictured\""));
    assert_true(says(sight, "<img class=\"picture\" src=\"/image/7-"));
    assert_true(says(sight, "\" alt=\"\" width=\"160\" height=\"90\" loading=\"lazy\" "
                            "decoding=\"async\">"));
    assert_false(says(sight, "i.png"));
    show(sight, PICTURED("null"));
    assert_false(says(sight, "pictured"));
}

#define PERSON(did_)                                                                               \
    "{\"did\":\"" did_ "\",\"displayName\":\"Ann\",\"avatar\":\"https://e.example/a\"}"
#define SHARED_BY(did_)                                                                            \
    "{\"links\":[{\"id\":\"7\",\"title\":\"A\",\"url\":\"https://e.example/"                       \
    "\",\"sharers\":[" PERSON(did_) "],\"posts\":[" PERSON(did_) "]}]," WHOLE "}"

static void a_portrait_covers_the_letter_and_comes_from_here_or_not_at_all(void **state)
{
    struct sight *sight = *state;
    show(sight, SHARED_BY("did:plc:a"));
    assert_false(says(sight, "portrait"));
    sight->question.pictures = true;
    show(sight, SHARED_BY("did:plc:a"));
    assert_true(says(sight, "aria-hidden=\"true\">A<img class=\"portrait\" "
                            "src=\"/image/did:plc:a-"));
    assert_true(says(sight, "\" alt=\"\" width=\"24\" height=\"24\" loading=\"lazy\" "
                            "decoding=\"async\" data-stead=\"A\"></span>"));
    const char *first = strstr(text_string(&sight->html), "portrait");
    assert_non_null(strstr(first + 1, "<p class=\"by\"><span class=\"face"));
    assert_non_null(strstr(strstr(first, "class=\"by\""), "portrait"));
    assert_false(says(sight, "e.example/a"));
    show(sight, SHARED_BY("did:web:a/../b?c"));
    assert_false(says(sight, "portrait"));
}

static void the_page_says_how_far_it_can_be_trusted(void **state)
{
    struct sight *sight = *state;
    show(sight, "{\"links\":[]," WHOLE "}");
    assert_true(says(sight, "Complete for all of this time."));
    show(sight, "{\"links\":[],\"complete_since\":\"2026-09-21T14:02:00.000Z\",\"gaps\":[{},{}]}");
    assert_true(says(sight, "Complete since <time class=\"clock\" "
                            "datetime=\"2026-09-21T14:02:00.000Z\">14:02 UTC</time>; "
                            "2 gaps are being filled."));
    show(sight, "{\"links\":[]," WHOLE ",\"truncated\":true}");
    assert_true(says(sight, "all of this time. Of all links the 1000000 most shared "));
    sight->health.backfill_queue_depth = 3;
    show(sight, "{\"links\":[]," WHOLE "}");
    assert_true(
        says(sight, "class=\"standing\" role=\"status\">What was read is complete for all "));
    snprintf(sight->health.reasons[0], HEALTH_REASON_TEXT_MAX, "no event for 4 <min>");
    sight->health.reason_count = 1;
    show(sight, "{\"links\":[]," WHOLE "}");
    assert_true(says(sight, "the histories of 3 accounts are being read."));
    assert_true(says(sight, "This page may be behind:</p><ul><li><bdi>no event for 4 &lt;min&gt;"));
    assert_true(
        says(sight, "class=\"standing\" role=\"status\">What was read is complete for all "));
}

static void a_stream_that_is_away_is_not_called_complete(void **state)
{
    struct sight *sight = *state;
    sight->health.away_us = 20 * INT64_C(1000000);
    show(sight, "{\"links\":[]," WHOLE "}");
    assert_true(says(sight, "class=\"standing good\""));
    sight->health.away_us = 100 * INT64_C(1000000);
    show(sight, "{\"links\":[]," WHOLE "}");
    assert_true(says(sight,
                     "class=\"standing\" role=\"status\">Complete for all of this time until "
                     "<time class=\"clock\" datetime=\"2026-09-21T14:11:40.000Z\">14:11 UTC"
                     "</time>; nothing new has been heard since."));
}

static void an_empty_page_says_why_and_what_else_there_is(void **state)
{
    struct sight *sight = *state;
    sight->question.links.hours = 6;
    sight->question.links.min_shares = 5;
    snprintf(sight->question.links.q, TRENDING_Q_MAX, "\"><b>");
    show(sight, "{\"links\":[]," WHOLE "}");
    assert_true(says(sight, "Nobody has shared a link that fits this view."));
    assert_true(says(sight, "<a href=\"/?min_shares=5&amp;q=%22%3E%3Cb%3E\">Look at the last 24"));
    assert_true(says(sight, "<a href=\"/?hours=6&amp;min_shares=5\">Show everything"));
    assert_true(says(sight, "value=\"&quot;&gt;&lt;b&gt;\""));
    sight->page.follows_anybody = false;
    sight->question.links.q[0] = '\0';
    show(sight, "{\"links\":[]," WHOLE "}");
    assert_true(says(sight, "No account is configured yet"));
    sight->page.turned_off = true;
    show(sight, "{\"links\":[]," WHOLE "}");
    assert_true(says(sight, "News are turned off"));
    assert_true(says(sight, "<code>bluesky.mode</code>"));
    assert_false(says(sight, "bluesky.actors"));
    assert_false(says(sight, "Complete"));
    sight->page.turned_off = false;
    sight->page.follows_anybody = true;
    sight->health.backfill_queue_depth = 3;
    show(sight, "{\"links\":[]," WHOLE "}");
    assert_true(says(sight, "Nothing yet: the histories of the accounts are still being read."));
}

static void every_control_is_a_link_or_a_form_that_holds_the_view(void **state)
{
    struct sight *sight = *state;
    sight->question.links.hours = 6;
    sight->question.links.sort = TRENDING_RECENT;
    sight->question.dense = true;
    sight->question.only = NEWS_ONLY_UNREAD | NEWS_ONLY_NEW;
    snprintf(sight->question.links.domain, TRENDING_NAME_MAX, "e.example");
    show(sight, "{\"links\":[]," WHOLE "}");
    assert_true(says(sight, "<body class=\"news dense\">"));
    assert_true(says(sight, "href=\"/?hours=168&amp;sort=recent&amp;domain=e.example&amp;"
                            "layout=dense&amp;show=unread-new\" title=\"last 7 days\">7 d</a>"));
    assert_true(says(sight, "title=\"last 6 hours\" aria-current=\"true\">6 h</a>"));
    assert_true(says(sight, "href=\"/?hours=6&amp;domain=e.example&amp;layout=dense&amp;"
                            "show=unread-new\">Most shared"));
    assert_true(says(sight, "name=\"show\" value=\"unread-new\""));
    assert_true(says(sight, "name=\"domain\" value=\"e.example\""));
    assert_true(says(sight, "href=\"/feed.xml?hours=6&amp;sort=recent&amp;domain=e.example&amp;"
                            "layout=dense&amp;show=unread-new\""));
    assert_true(says(sight, "class=\"without\">all sites</a>"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_link_is_told_with_its_people_their_words_and_the_reason,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(hostile_titles_and_addresses_are_shown_as_text, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_page_that_says_nothing_has_a_title_of_its_address, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            a_portrait_covers_the_letter_and_comes_from_here_or_not_at_all, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_picture_comes_from_here_or_not_at_all, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_page_says_how_far_it_can_be_trusted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_stream_that_is_away_is_not_called_complete, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_empty_page_says_why_and_what_else_there_is, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(every_control_is_a_link_or_a_form_that_holds_the_view,
                                        set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
