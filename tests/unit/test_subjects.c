/* SPDX-License-Identifier: Apache-2.0
 *
 * Posts of others that were reposted or quoted, on a scripted machine. */
#include "owed_bench.h"
#include "source/subjects.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SECOND OWED_BENCH_SECOND
#define ASKED  "http://appview/xrpc/app.bsky.feed.getPosts?"

struct desk {
    struct owed_bench bench;
    struct appview *appview;
    struct subjects *subjects;
};

static int set_up(void **state)
{
    struct desk *desk = calloc(1, sizeof *desk);
    struct appview_options options = {.endpoints = (const char *const[]){"http://appview"},
                                      .endpoint_count = 1,
                                      .asks_max = 8,
                                      .pace = {.spacing_ms = 100, .backoff_ms = 1000}};
    struct err err;
    owed_bench_init(&desk->bench);
    assert_int_equal(appview_new(&desk->bench.runtime, &options, &desk->appview, &err), RC_OK);
    desk->subjects = subjects_new(&desk->bench.env, desk->appview);
    subjects_start(desk->subjects);
    *state = desk;
    return 0;
}

static int tear_down(void **state)
{
    struct desk *desk = *state;
    subjects_stop(desk->subjects);
    owed_bench_pass(&desk->bench, SECOND);
    assert_true(subjects_stopped(desk->subjects));
    subjects_free(desk->subjects);
    appview_free(desk->appview);
    owed_bench_deinit(&desk->bench);
    free(desk);
    return 0;
}

static void owe(struct desk *desk, int number)
{
    char uri[64];
    snprintf(uri, sizeof uri, "at://did:plc:a/app.bsky.feed.post/%d", number);
    owed_bench_add(&desk->bench, uri, uri);
}

static size_t count_words(const char *text, const char *words)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, words)) != NULL; at += strlen(words))
        count++;
    return count;
}

static size_t count_state(const struct desk *desk, const char *state)
{
    size_t count = 0;
    for (size_t i = 0; i < desk->bench.row_count; i++)
        count += strcmp(desk->bench.rows[i].state, state) == 0;
    return count;
}

static void put_post(struct text *body, int number)
{
    text_appendf(body,
                 "%s{\"uri\":\"at://did:plc:a/app.bsky.feed.post/%d\",\"cid\":\"bafy%d\","
                 "\"indexedAt\":\"2026-08-10T01:02:03.000Z\",\"record\":{\"text\":\"see "
                 "https://x.example/%d\",\"createdAt\":\"2026-08-10T01:02:02Z\"}}",
                 body->data[body->len - 1] == '[' ? "" : ",", number, number, number);
}

static void answer_posts(struct desk *desk, int first, int count)
{
    struct text body = {0};
    text_append_string(&body, "{\"posts\":[");
    for (int i = 0; i < count; i++)
        put_post(&body, first + i);
    text_append_string(&body, "]}");
    owed_bench_answer(owed_bench_sent_to(&desk->bench, ASKED), 200,
                      "content-type: application/json\r\n", text_string(&body));
    text_free(&body);
}

static void posts_of_others_are_fetched_by_25_with_their_links(void **state)
{
    struct desk *desk = *state;
    for (int i = 0; i < 30; i++)
        owe(desk, i);
    owed_bench_pass(&desk->bench, SECOND);
    assert_int_equal(desk->bench.sent_count, 2);
    assert_int_equal(count_words(desk->bench.sent[0].url, "uris="), 25);
    assert_int_equal(count_words(desk->bench.sent[1].url, "uris="), 5);
    answer_posts(desk, 0, 25);
    answer_posts(desk, 25, 3); /* two are not there */
    owed_bench_pass(&desk->bench, SECOND);
    const char *stored = text_string(&desk->bench.committed);
    assert_int_equal(count_words(stored, "\"record\":\"post\""), 28);
    assert_int_equal(count_words(stored, "\"kind\":2,\"rev\":null"), 28);
    assert_int_equal(count_words(stored, "\"record\":\"link\""), 28);
    assert_non_null(strstr(stored, "\"shared_us\":1786323723000000"));
    assert_non_null(strstr(stored, "\"url\":\"https://x.example/27\",\"rev\":null"));
    assert_int_equal(count_state(desk, "done"), 28);
    assert_int_equal(count_state(desk, "owed"), 2);
}

/* The stream may be ahead of the AppView. */
static void a_post_that_the_appview_does_not_have_yet_is_asked_for_again(void **state)
{
    struct desk *desk = *state;
    owe(desk, 0);
    owe(desk, 1);
    owed_bench_pass(&desk->bench, SECOND);
    answer_posts(desk, 0, 1);
    owed_bench_pass(&desk->bench, SECOND);
    struct owed_bench_row *row = &desk->bench.rows[1];
    assert_string_equal(row->state, "owed");
    assert_string_equal(row->reason, "the AppView does not have it");
    assert_int_equal(row->attempts, 1);
    assert_int_equal(desk->bench.sent_count, 1);
    owed_bench_pass(&desk->bench, 6 * SECOND);
    answer_posts(desk, 1, 1);
    owed_bench_pass(&desk->bench, SECOND);
    assert_int_equal(count_state(desk, "done"), 2);
    assert_non_null(strstr(text_string(&desk->bench.committed), "https://x.example/1"));
}

static void a_post_that_stays_away_is_given_up_with_the_reason(void **state)
{
    struct desk *desk = *state;
    owe(desk, 0);
    owe(desk, 1);
    desk->bench.rows[1].since_us -= 7 * 3600 * SECOND; /* shared long ago: no AppView lags so */
    owed_bench_pass(&desk->bench, SECOND);
    answer_posts(desk, 0, 0);
    owed_bench_pass(&desk->bench, SECOND);
    assert_string_equal(desk->bench.rows[0].state, "owed");
    assert_string_equal(desk->bench.rows[1].state, "dead");
    assert_string_equal(desk->bench.rows[1].reason, "the AppView does not have it");
    struct owed_bench_row *row = &desk->bench.rows[0];
    for (int i = 0; strcmp(row->state, "owed") == 0; i++) {
        assert_true(i < 12);
        int64_t now_us = OWED_BENCH_T0 + desk->bench.mono_us;
        assert_true(now_us < row->since_us + 7 * 3600 * SECOND);
        owed_bench_pass(&desk->bench, row->next_us - now_us + 2 * SECOND);
        answer_posts(desk, 0, 0);
        owed_bench_pass(&desk->bench, SECOND);
    }
    assert_string_equal(row->state, "dead");
    assert_string_equal(row->reason, "the AppView does not have it");
    assert_true(desk->bench.mono_us > 6 * 3600 * SECOND);
}

static void an_address_that_spoils_the_question_is_found_and_given_up(void **state)
{
    struct desk *desk = *state;
    static const char refusal[] = "{\"error\":\"InvalidRequest\",\"message\":\"uris\"}";
    for (int i = 0; i < 3; i++)
        owe(desk, i);
    owed_bench_add(&desk->bench, "nonsense", "nonsense");
    owed_bench_pass(&desk->bench, SECOND);
    owed_bench_answer(owed_bench_sent_to(&desk->bench, ASKED), 400,
                      "content-type: application/json\r\n", refusal);
    for (int i = 0; i < 3; i++) {
        owed_bench_pass(&desk->bench, 5 * SECOND);
        struct owed_bench_sent *sent = owed_bench_sent_to(&desk->bench, ASKED);
        assert_int_equal(count_words(sent->url, "uris="), 1);
        int number = sent->url[strlen(sent->url) - 1] - '0';
        if (number == 1)
            owed_bench_answer(sent, 400, "content-type: application/json\r\n", refusal);
        else
            answer_posts(desk, number, 1);
    }
    owed_bench_pass(&desk->bench, 5 * SECOND);
    assert_int_equal(count_state(desk, "done"), 2);
    assert_string_equal(owed_bench_find(&desk->bench, "at://did:plc:a/app.bsky.feed.post/1")->state,
                        "dead");
    assert_string_equal(owed_bench_find(&desk->bench, "nonsense")->state, "dead");
}

/* One is owed, asked for once, and put off. */
static struct owed_bench_row *refuse_one(struct desk *desk)
{
    owe(desk, 0);
    owed_bench_pass(&desk->bench, SECOND);
    owed_bench_answer(owed_bench_sent_to(&desk->bench, ASKED), 502, "", "<html>");
    owed_bench_pass(&desk->bench, SECOND / 100);
    return &desk->bench.rows[0];
}

static void an_appview_that_is_down_is_asked_again_later(void **state)
{
    struct desk *desk = *state;
    struct owed_bench_row *row = refuse_one(desk);
    assert_string_equal(row->state, "owed");
    assert_int_equal(row->attempts, 1);
    assert_true(row->next_us > OWED_BENCH_T0 + desk->bench.mono_us);
    owed_bench_pass(&desk->bench, 60 * SECOND);
    answer_posts(desk, 0, 1);
    owed_bench_pass(&desk->bench, SECOND);
    assert_string_equal(row->state, "done");
}

/* What it was never asked for it may well have. */
static void an_appview_that_is_away_for_a_night_costs_no_post(void **state)
{
    struct desk *desk = *state;
    struct owed_bench_row *row = refuse_one(desk);
    while (desk->bench.mono_us < 12 * 3600 * SECOND) {
        assert_string_equal(row->state, "owed");
        int64_t now_us = OWED_BENCH_T0 + desk->bench.mono_us;
        assert_true(row->next_us <= now_us + 2 * 3600 * SECOND);
        owed_bench_pass(&desk->bench, row->next_us - now_us + 2 * SECOND);
        owed_bench_answer(owed_bench_sent_to(&desk->bench, ASKED), 502, "", "<html>");
        owed_bench_pass(&desk->bench, SECOND / 100);
    }
    owed_bench_pass(&desk->bench, 2 * 3600 * SECOND);
    answer_posts(desk, 0, 1);
    owed_bench_pass(&desk->bench, SECOND);
    assert_string_equal(row->state, "done");
}

/* What was put off under a clock that was fast waits no longer than anything else. */
static void a_clock_that_is_set_back_keeps_nothing_waiting(void **state)
{
    struct desk *desk = *state;
    struct owed_bench_row *row = refuse_one(desk);
    assert_int_equal(row->attempts, 1);
    desk->bench.back_us = 5 * 3600 * SECOND;
    owed_bench_pass(&desk->bench, 60 * SECOND);
    answer_posts(desk, 0, 1);
    owed_bench_pass(&desk->bench, SECOND);
    assert_string_equal(row->state, "done");
}

static void a_commit_that_fails_loses_nothing(void **state)
{
    struct desk *desk = *state;
    owe(desk, 0);
    desk->bench.fail_commits = 1;
    owed_bench_pass(&desk->bench, SECOND);
    answer_posts(desk, 0, 1);
    owed_bench_pass(&desk->bench, 2 * SECOND);
    assert_int_equal(count_state(desk, "owed"), 1);
    answer_posts(desk, 0, 1);
    owed_bench_pass(&desk->bench, SECOND);
    assert_int_equal(count_state(desk, "done"), 1);
    assert_int_equal(count_words(text_string(&desk->bench.committed), "\"record\":\"post\""), 1);
}

int main(void)
{
#define AT_DESK(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        AT_DESK(posts_of_others_are_fetched_by_25_with_their_links),
        AT_DESK(a_post_that_the_appview_does_not_have_yet_is_asked_for_again),
        AT_DESK(a_post_that_stays_away_is_given_up_with_the_reason),
        AT_DESK(an_address_that_spoils_the_question_is_found_and_given_up),
        AT_DESK(an_appview_that_is_down_is_asked_again_later),
        AT_DESK(an_appview_that_is_away_for_a_night_costs_no_post),
        AT_DESK(a_clock_that_is_set_back_keeps_nothing_waiting),
        AT_DESK(a_commit_that_fails_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
