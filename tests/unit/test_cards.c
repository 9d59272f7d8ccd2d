/* SPDX-License-Identifier: Apache-2.0
 *
 * Pages behind links, on a scripted machine: who is asked when, and what is stored of it. */
#include "owed_bench.h"
#include "source/cards.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SECOND OWED_BENCH_SECOND
#define HTML   "content-type: text/html; charset=utf-8\r\n"
#define PAGE                                                                                       \
    "<html><head><meta property=og:title content='A title'><meta property=og:description "         \
    "content='Words'><meta property=og:image content='/i.png'></head><body>"

struct desk {
    struct owed_bench bench;
    struct cards *cards;
};

static int set_up(void **state)
{
    struct desk *desk = calloc(1, sizeof *desk);
    owed_bench_init(&desk->bench);
    desk->cards =
        cards_new(&desk->bench.env, &(struct cards_settings){.per_host_ms = 1000, .in_flight = 4});
    cards_start(desk->cards);
    *state = desk;
    return 0;
}

static int tear_down(void **state)
{
    struct desk *desk = *state;
    desk->bench.hold_commits = false;
    cards_stop(desk->cards);
    owed_bench_pass(&desk->bench, SECOND);
    assert_true(cards_stopped(desk->cards));
    cards_free(desk->cards);
    owed_bench_deinit(&desk->bench);
    free(desk);
    return 0;
}

static void owe(struct desk *desk, const char *url)
{
    owed_bench_add(&desk->bench, url, url);
}

static void expect_state(struct desk *desk, const char *item, const char *state)
{
    assert_string_equal(owed_bench_find(&desk->bench, item)->state, state);
}

static void expect_stored(struct desk *desk, const char *words)
{
    if (strstr(text_string(&desk->bench.committed), words) == NULL)
        fail_msg("%s is not in %s", words, text_string(&desk->bench.committed));
}

static void expect_not_stored(struct desk *desk, const char *words)
{
    if (strstr(text_string(&desk->bench.committed), words) != NULL)
        fail_msg("%s is in %s", words, text_string(&desk->bench.committed));
}

static void redirect(struct desk *desk, const char *from, int status, const char *to)
{
    char headers[512];
    snprintf(headers, sizeof headers, "location: %s\r\n", to);
    owed_bench_answer(owed_bench_sent_to(&desk->bench, from), status, headers, "");
}

static void a_page_gives_its_link_a_card(void **state)
{
    struct desk *desk = *state;
    owed_bench_add(&desk->bench, "https://nytimes.com/x",
                   "https://www.nytimes.com/x?unlocked_article_code=1");
    owed_bench_pass(&desk->bench, SECOND / 2);
    struct owed_bench_sent *sent =
        owed_bench_sent_to(&desk->bench, "https://www.nytimes.com/x?unlocked");
    assert_true(sent->stranger);
    assert_int_equal(sent->redirects_max, 0); /* each is a request of its own */
    assert_int_equal(sent->total_ms_max, 10000);
    owed_bench_answer(sent, 200, HTML, PAGE);
    expect_state(desk, "https://nytimes.com/x", "owed"); /* until it is committed */
    owed_bench_pass(&desk->bench, SECOND / 2);
    expect_state(desk, "https://nytimes.com/x", "done");
    expect_stored(desk, "\"url\":\"https://nytimes.com/x\"");
    expect_stored(desk, "\"title\":\"A title\",\"description\":\"Words\","
                        "\"image_url\":\"https://www.nytimes.com/i.png\",\"same_as\":null");
    owed_bench_pass(&desk->bench, 10 * SECOND);
    assert_int_equal(desk->bench.sent_count, 1);
}

static void a_shortener_stands_for_where_it_leads(void **state)
{
    struct desk *desk = *state;
    owe(desk, "https://bit.ly/abc");
    owed_bench_pass(&desk->bench, SECOND / 10);
    redirect(desk, "https://bit.ly/abc", 302, "https://buff.ly/def");
    owed_bench_pass(&desk->bench, SECOND / 10);
    redirect(desk, "https://buff.ly/def", 302, "http://www.a.example/story?utm_source=b");
    owed_bench_pass(&desk->bench, SECOND / 10);
    /* what the article itself then does with its readers is another matter */
    redirect(desk, "http://www.a.example/story", 302, "https://consent.a.example/ask?for=story");
    owed_bench_pass(&desk->bench, SECOND / 10);
    owed_bench_answer(owed_bench_sent_to(&desk->bench, "https://consent.a.example/"), 200, HTML,
                      PAGE);
    owed_bench_pass(&desk->bench, SECOND / 10);
    expect_state(desk, "https://bit.ly/abc", "done");
    expect_stored(desk, "\"same_as\":\"https://a.example/story\"");
    expect_stored(desk, "\"same_reader_url\":\"http://www.a.example/story\"");
    expect_not_stored(desk, "A title");
}

static void a_shortener_is_known_although_the_article_turns_us_away(void **state)
{
    struct desk *desk = *state;
    owe(desk, "https://bit.ly/abc");
    owed_bench_pass(&desk->bench, SECOND / 10);
    redirect(desk, "https://bit.ly/abc", 301, "https://a.example/story");
    owed_bench_pass(&desk->bench, SECOND / 10);
    owed_bench_answer(owed_bench_sent_to(&desk->bench, "https://a.example/"), 403, "", "");
    owed_bench_pass(&desk->bench, SECOND / 10);
    expect_state(desk, "https://bit.ly/abc", "done");
    expect_stored(desk, "\"same_as\":\"https://a.example/story\"");
}

static void a_page_is_believed_about_itself_but_not_about_others(void **state)
{
    struct desk *desk = *state;
    static const struct {
        const char *link, *page, *same_as;
    } cases[] = {
        {"https://a.example/1", "<link rel=canonical href='/one'>", "https://a.example/one"},
        {"https://b.example/1", "<meta property=og:url content='https://b.example/one'>",
         "https://b.example/one"},
        {"https://c.example/1", "<link rel=canonical href='https://other.example/one'>", NULL},
        {"https://d.example/1", "<link rel=canonical href='/'>", NULL},
    };
    for (size_t i = 0; i < 4; i++) {
        owe(desk, cases[i].link);
        owed_bench_pass(&desk->bench, SECOND);
        text_clear(&desk->bench.committed);
        owed_bench_answer(owed_bench_sent_to(&desk->bench, cases[i].link), 200, HTML,
                          cases[i].page);
        owed_bench_pass(&desk->bench, SECOND);
        expect_state(desk, cases[i].link, "done");
        if (cases[i].same_as == NULL)
            expect_stored(desk, "\"same_as\":null");
        else
            expect_stored(desk, cases[i].same_as);
    }
}

static void only_a_move_for_good_within_a_site_is_believed(void **state)
{
    struct desk *desk = *state;
    static const struct {
        const char *link, *to, *same_as;
        int status;
    } cases[] = {
        {"https://a.example/1", "https://a.example/one", "https://a.example/one", 301},
        {"https://b.example/1", "https://b.example/login", NULL, 302},
        {"https://c.example/1", "https://other.example/one", NULL, 301},
        {"https://d.example/1", "https://d.example/", NULL, 301},
    };
    for (size_t i = 0; i < 4; i++) {
        owe(desk, cases[i].link);
        owed_bench_pass(&desk->bench, SECOND);
        text_clear(&desk->bench.committed);
        redirect(desk, cases[i].link, cases[i].status, cases[i].to);
        owed_bench_pass(&desk->bench, 2 * SECOND);
        owed_bench_answer(owed_bench_sent_to(&desk->bench, cases[i].to), 200, HTML, PAGE);
        owed_bench_pass(&desk->bench, SECOND);
        if (cases[i].same_as == NULL)
            expect_stored(desk, "\"same_as\":null");
        else
            expect_stored(desk, cases[i].same_as);
    }
}

/* Answers whatever is asked at once, for so long. */
static void serve(struct desk *desk, int64_t us)
{
    for (int64_t passed = 0; passed < us; passed += SECOND / 20) {
        for (size_t i = 0; i < desk->bench.sent_count; i++)
            if (desk->bench.sent[i].done != NULL)
                owed_bench_answer(&desk->bench.sent[i], 200, HTML, PAGE);
        owed_bench_pass(&desk->bench, SECOND / 20);
    }
}

static void a_host_is_asked_once_a_second_and_keeps_nobody_else_waiting(void **state)
{
    struct desk *desk = *state;
    char url[64];
    for (int i = 0; i < 600; i++) {
        snprintf(url, sizeof url, "https://a.example/%d", i);
        owe(desk, url);
    }
    owe(desk, "https://b.example/late"); /* behind more than fits into memory */
    serve(desk, 15 * SECOND);
    expect_state(desk, "https://b.example/late", "done");
    serve(desk, 600 * SECOND);
    int64_t last_us = -SECOND;
    for (size_t i = 0; i < desk->bench.sent_count; i++) {
        if (strncmp(desk->bench.sent[i].url, "https://a.example/", 18) != 0)
            continue;
        assert_true(desk->bench.sent[i].at_us - last_us >= SECOND);
        last_us = desk->bench.sent[i].at_us;
    }
    for (size_t i = 0; i < desk->bench.row_count; i++)
        assert_string_equal(desk->bench.rows[i].state, "done");
    assert_int_equal(desk->bench.sent_count, 601);
}

static void redirects_keep_the_pace_of_the_host_they_lead_to(void **state)
{
    struct desk *desk = *state;
    owe(desk, "https://a.example/1");
    owe(desk, "https://bit.ly/abc");
    owed_bench_pass(&desk->bench, SECOND / 10);
    redirect(desk, "https://bit.ly/abc", 301, "https://a.example/2");
    owed_bench_pass(&desk->bench, 2 * SECOND);
    struct owed_bench_sent *first = owed_bench_sent_to(&desk->bench, "https://a.example/1");
    struct owed_bench_sent *second = owed_bench_sent_to(&desk->bench, "https://a.example/2");
    assert_true(second->at_us - first->at_us >= SECOND);
}

static void what_fails_is_tried_later_and_given_up_in_the_end(void **state)
{
    struct desk *desk = *state;
    /* R001-32: a failed fetch costs nothing but the card */
    owe(desk, "https://a.example/1");
    struct owed_bench_row *row = owed_bench_find(&desk->bench, "https://a.example/1");
    for (int i = 1; i < 8; i++) {
        owed_bench_pass(&desk->bench, 3700 * SECOND);
        owed_bench_answer(owed_bench_sent_to(&desk->bench, "https://a.example/1"), 500, "", "");
        owed_bench_pass(&desk->bench, SECOND / 100);
        assert_string_equal(row->state, "owed");
        assert_int_equal(row->attempts, i);
        assert_true(row->next_us >= OWED_BENCH_T0 + desk->bench.mono_us + 20 * SECOND);
        expect_not_stored(desk, "card");
    }
    owed_bench_pass(&desk->bench, 3700 * SECOND);
    owed_bench_break(owed_bench_sent_to(&desk->bench, "https://a.example/1"), RC_RETRY, "silence");
    owed_bench_pass(&desk->bench, SECOND);
    assert_string_equal(row->state, "dead");
    assert_string_equal(row->reason, "silence");
    expect_stored(desk, "\"record\":\"card\",\"url\":\"https://a.example/1\"");
}

static void what_cannot_get_better_is_given_up_at_once(void **state)
{
    struct desk *desk = *state;
    static const int hopeless[] = {401, 403, 404, 410, 451};
    char url[64];
    for (size_t i = 0; i < 5; i++) {
        snprintf(url, sizeof url, "https://h%zu.example/1", i);
        owe(desk, url);
        owed_bench_pass(&desk->bench, SECOND);
        owed_bench_answer(owed_bench_sent_to(&desk->bench, url), hopeless[i], "", "");
        owed_bench_pass(&desk->bench, SECOND);
        expect_state(desk, url, "dead");
    }
    owe(desk, "https://inside.example/1");
    owed_bench_pass(&desk->bench, SECOND);
    owed_bench_break(owed_bench_sent_to(&desk->bench, "https://inside.example/1"), RC_REJECT,
                     "inside.example: the address is not public");
    owed_bench_pass(&desk->bench, SECOND);
    expect_state(desk, "https://inside.example/1", "dead");
    owe(desk, "https://loop.example/1");
    for (int i = 0; i <= 10; i++) {
        owed_bench_pass(&desk->bench, SECOND);
        redirect(desk, "https://loop.example/1", 302, "/1");
    }
    owed_bench_pass(&desk->bench, SECOND);
    expect_state(desk, "https://loop.example/1", "dead");
}

static void a_host_that_asks_for_a_pause_gets_it(void **state)
{
    struct desk *desk = *state;
    owe(desk, "https://a.example/1");
    owed_bench_pass(&desk->bench, SECOND / 10);
    owe(desk, "https://a.example/2");
    owed_bench_answer(owed_bench_sent_to(&desk->bench, "https://a.example/1"), 429,
                      "retry-after: 90\r\n", "");
    owed_bench_pass(&desk->bench, 89 * SECOND);
    assert_int_equal(desk->bench.sent_count, 1);
    owed_bench_pass(&desk->bench, 30 * SECOND);
    owed_bench_sent_to(&desk->bench, "https://a.example/2");
}

static void no_more_than_the_places_allow_are_under_way(void **state)
{
    struct desk *desk = *state;
    char url[64];
    for (int i = 0; i < 20; i++) {
        snprintf(url, sizeof url, "https://h%d.example/1", i);
        owe(desk, url);
    }
    owed_bench_pass(&desk->bench, 5 * SECOND);
    assert_int_equal(owed_bench_asking(&desk->bench), 4);
    serve(desk, 3 * SECOND);
    assert_int_equal(desk->bench.sent_count, 20);
}

static void a_commit_that_fails_loses_nothing(void **state)
{
    struct desk *desk = *state;
    owe(desk, "https://a.example/1");
    desk->bench.fail_commits = 1;
    serve(desk, 10 * SECOND);
    expect_state(desk, "https://a.example/1", "done");
    assert_int_equal(desk->bench.sent_count, 2);
}

static void a_store_that_stands_still_holds_nothing_but_one_batch(void **state)
{
    struct desk *desk = *state;
    char url[64];
    desk->bench.hold_commits = true;
    for (int i = 0; i < 50; i++) {
        snprintf(url, sizeof url, "https://h%d.example/1", i);
        owe(desk, url);
    }
    serve(desk, 20 * SECOND);
    assert_true(batch_pool_left(desk->bench.env.pool) >= 2);
    desk->bench.hold_commits = false;
    serve(desk, 20 * SECOND);
    for (size_t i = 0; i < desk->bench.row_count; i++)
        assert_string_equal(desk->bench.rows[i].state, "done");
}

static void what_is_no_page_has_no_card(void **state)
{
    struct desk *desk = *state;
    owe(desk, "https://a.example/report.pdf");
    owed_bench_add(&desk->bench, "https://a.example/gone", ""); /* nobody shares it any more */
    owed_bench_pass(&desk->bench, SECOND / 10);
    owed_bench_answer(owed_bench_sent_to(&desk->bench, "https://a.example/report"), 200,
                      "content-type: application/pdf\r\n", PAGE);
    owed_bench_pass(&desk->bench, SECOND);
    expect_state(desk, "https://a.example/report.pdf", "done");
    expect_state(desk, "https://a.example/gone", "done");
    expect_stored(desk, "\"title\":null");
    assert_int_equal(desk->bench.sent_count, 1);
}

int main(void)
{
#define AT_DESK(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        AT_DESK(a_page_gives_its_link_a_card),
        AT_DESK(a_shortener_stands_for_where_it_leads),
        AT_DESK(a_shortener_is_known_although_the_article_turns_us_away),
        AT_DESK(a_page_is_believed_about_itself_but_not_about_others),
        AT_DESK(only_a_move_for_good_within_a_site_is_believed),
        AT_DESK(a_host_is_asked_once_a_second_and_keeps_nobody_else_waiting),
        AT_DESK(redirects_keep_the_pace_of_the_host_they_lead_to),
        AT_DESK(what_fails_is_tried_later_and_given_up_in_the_end),
        AT_DESK(what_cannot_get_better_is_given_up_at_once),
        AT_DESK(a_host_that_asks_for_a_pause_gets_it),
        AT_DESK(no_more_than_the_places_allow_are_under_way),
        AT_DESK(a_commit_that_fails_loses_nothing),
        AT_DESK(a_store_that_stands_still_holds_nothing_but_one_batch),
        AT_DESK(what_is_no_page_has_no_card),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
