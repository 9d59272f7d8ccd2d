/* SPDX-License-Identifier: Apache-2.0
 *
 * The client on a scripted machine: each test says what the AppViews answer and looks at what they
 * were asked, and when. */
#include "source/appview.h"

#include "http_desk.h"

#include <stdio.h>
#include <string.h>

#define T0        DESK_T0
#define MS        DESK_MS
#define PROFILE   "app.bsky.actor.getProfile"
#define TURN_DOWN "{\"error\":\"InvalidRequest\",\"message\":\"Profile not found\"}"

struct desk {
    struct http_desk http; /* first: the machine */
    struct appview *appview;
    /* what the callers heard */
    struct appview_answer last;
    char word[64]; /* of the last answer's body */
    char order[128];
    unsigned answers;
};

struct asker {
    struct desk *desk;
    char letter;
};

static void begin(struct desk *desk, const char *const *endpoints, size_t count,
                  struct appview_pace pace)
{
    struct err err;
    *desk = (struct desk){0};
    http_desk_init(&desk->http);
    if (pace.backoff_ms == 0)
        pace.backoff_ms = 1000;
    struct appview_options options = {
        .endpoints = endpoints, .endpoint_count = count, .asks_max = 8, .pace = pace};
    assert_int_equal(appview_new(&desk->http.clock.runtime, &options, &desk->appview, &err), RC_OK);
}

static void begin_one(struct desk *desk, struct appview_pace pace)
{
    begin(desk, (const char *const[]){"http://a"}, 1, pace);
}

static void finish(struct desk *desk)
{
    appview_free(desk->appview);
    http_desk_deinit(&desk->http);
}

static void pass(struct desk *desk, int64_t us)
{
    http_desk_pass(&desk->http, us);
}

static void heard(void *arg, const struct appview_answer *answer)
{
    struct asker *asker = arg;
    struct desk *desk = asker->desk;
    struct bytes word = json_string_or_absent(json_get(answer->root, "word"));
    desk->last = *answer;
    desk->last.root = (struct json){0};
    desk->order[desk->answers++] = asker->letter;
    snprintf(desk->word, sizeof desk->word, "%.*s", (int)word.len, word.len > 0 ? word.data : "");
}

static struct appview_call *ask(struct asker *asker, const char *actor, int priority)
{
    struct appview_param param = {"actor", bytes_of(actor)};
    struct appview_request request = {
        .method = PROFILE, .params = &param, .param_count = 1, .priority = priority};
    return appview_ask(asker->desk->appview, &request, heard, asker);
}

static void answer(struct desk *desk, size_t number, int status, const char *body)
{
    http_desk_answer(&desk->http, number, status, body);
}

static void parameters_are_escaped_and_the_answer_is_read(void **state)
{
    (void)state;
    struct desk desk;
    begin(&desk, (const char *const[]){"http://a:1/"}, 1, (struct appview_pace){0});
    struct asker asker = {&desk, 'x'};
    struct appview_param params[] = {{"actor", bytes_of("did:plc:ab")},
                                     {"cursor", bytes_of("a b&c=/\xc3\xa9")}};
    struct appview_request request = {.method = PROFILE, .params = params, .param_count = 2};
    assert_non_null(appview_ask(desk.appview, &request, heard, &asker));
    assert_string_equal(desk.http.sent[0].url, "http://a:1/xrpc/" PROFILE
                                               "?actor=did:plc:ab&cursor=a%20b%26c%3D%2F%C3%A9");
    desk.http.clock.mono_us = 7 * MS;
    answer(&desk, 0, 200, "{\"word\":\"yes\"}");
    assert_int_equal(desk.last.rc, RC_OK);
    assert_string_equal(desk.word, "yes");
    assert_int_equal(desk.last.asked_us, T0);
    assert_int_equal(desk.last.answered_us, T0 + 7 * MS);
    assert_string_equal(desk.last.provider, "a:1");
    finish(&desk);
}

/* R000-26 */
static void refusals_by_status_are_for_good(void **state)
{
    (void)state;
    static const int statuses[] = {403, 404, 410};
    for (size_t i = 0; i < 3; i++) {
        struct desk desk;
        begin_one(&desk, (struct appview_pace){.retries_max = 3});
        struct asker asker = {&desk, 'x'};
        ask(&asker, "a", 0);
        answer(&desk, 0, statuses[i], "");
        assert_int_equal(desk.last.rc, RC_REJECT);
        assert_int_equal(desk.http.sent_count, 1);
        finish(&desk);
    }
}

static void an_error_with_a_name_is_an_answer_and_one_without_is_not(void **state)
{
    (void)state;
    struct desk desk;
    begin_one(&desk, (struct appview_pace){.retries_max = 1});
    struct asker asker = {&desk, 'x'};
    ask(&asker, "a", 0);
    answer(&desk, 0, 400, TURN_DOWN);
    assert_int_equal(desk.last.rc, RC_REJECT);
    assert_int_equal(desk.last.status, 400);
    assert_string_equal(desk.last.error, "InvalidRequest");
    assert_string_equal(desk.last.err.text, "400 InvalidRequest: Profile not found");
    assert_int_equal(desk.http.sent_count, 1);
    ask(&asker, "a", 0);
    answer(&desk, 1, 403, "<html>no robots</html>");
    assert_int_equal(desk.answers, 1); /* something in between said it: it is asked again */
    pass(&desk, 1000 * MS);
    answer(&desk, 2, 200, "{}");
    assert_int_equal(desk.last.rc, RC_OK);
    finish(&desk);
}

/* R000-25 R000-27 */
static void what_is_no_answer_is_asked_again_and_given_up_in_the_end(void **state)
{
    (void)state;
    static const struct {
        enum rc rc;
        int status;
        const char *body;
    } bad[] = {{RC_OK, 200, "<!doctype html><title>maintenance</title>"},
               {RC_OK, 200, "{\"word\":\"cut o"},
               {RC_OK, 200, "[]"},
               {RC_OK, 503, "{\"error\":\"NotEnoughResources\"}"},
               {RC_OK, 401, "{\"error\":\"AuthMissing\"}"},
               {RC_OK, 400, "{\"error\":\"ExpiredToken\",\"message\":\"Token has expired\"}"},
               {RC_OK, 302, ""},
               {RC_REJECT, 0, ""},
               {RC_RETRY, 0, ""}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct desk desk;
        struct http_response response = {
            .rc = bad[i].rc, .status = bad[i].status, .retry_after_ms = -1};
        begin_one(&desk, (struct appview_pace){.retries_max = 1});
        struct asker asker = {&desk, 'x'};
        ask(&asker, "a", 0);
        http_desk_answer_with(&desk.http, 0, response, bad[i].body);
        pass(&desk, 999 * MS);
        assert_int_equal(desk.http.sent_count, 1);
        pass(&desk, 1 * MS);
        assert_int_equal(desk.http.sent_count, 2);
        assert_int_equal(desk.answers, 0);
        http_desk_answer_with(&desk.http, 1, response, bad[i].body);
        assert_int_equal(desk.answers, 1);
        assert_int_equal(desk.last.rc, RC_RETRY); /* never a verdict about the account */
        finish(&desk);
    }
}

static void a_server_that_asks_for_a_pause_gets_it_from_everybody(void **state)
{
    (void)state;
    struct desk desk;
    begin_one(&desk, (struct appview_pace){.retries_max = 3});
    struct asker asker = {&desk, 'x'};
    ask(&asker, "a", 0);
    http_desk_answer_with(&desk.http, 0,
                          (struct http_response){.status = 429, .retry_after_ms = 30000},
                          "{\"error\":\"RateLimitExceeded\"}");
    ask(&asker, "b", 0);
    pass(&desk, 29999 * MS);
    assert_int_equal(desk.http.sent_count, 1);
    pass(&desk, 1 * MS);
    assert_int_equal(desk.http.sent_count, 3);
    answer(&desk, 1, 200, "{}");
    answer(&desk, 2, 200, "{}");
    assert_int_equal(desk.answers, 2);
    finish(&desk);
}

static void a_budget_that_the_server_tells_is_kept(void **state)
{
    (void)state;
    struct desk desk;
    char headers[128];
    begin_one(&desk, (struct appview_pace){0});
    struct asker asker = {&desk, 'x'};
    snprintf(headers, sizeof headers, "ratelimit-remaining: 1\r\nratelimit-reset: %lld\r\n",
             (long long)(T0 / 1000000 + 60));
    ask(&asker, "a", 0);
    http_desk_answer_with(
        &desk.http, 0,
        (struct http_response){.status = 200, .retry_after_ms = -1, .headers = bytes_of(headers)},
        "{}");
    ask(&asker, "b", 0);
    ask(&asker, "c", 0);
    assert_int_equal(desk.http.sent_count, 2);
    answer(&desk, 1, 200, "{}");
    pass(&desk, 59999 * MS);
    assert_int_equal(desk.http.sent_count, 2);
    pass(&desk, 1 * MS);
    assert_int_equal(desk.http.sent_count, 3);
    finish(&desk);
}

/* R000-31 */
static void attempts_are_one_two_and_four_seconds_apart(void **state)
{
    (void)state;
    static const int64_t waits_ms[] = {1000, 2000, 4000};
    struct desk desk;
    begin_one(&desk, (struct appview_pace){.retries_max = 3});
    struct asker asker = {&desk, 'x'};
    ask(&asker, "a", 0);
    for (size_t i = 0; i < 3; i++) {
        answer(&desk, i, 500, "API error: 400");
        pass(&desk, waits_ms[i] * MS - 1);
        assert_int_equal(desk.http.sent_count, i + 1);
        pass(&desk, 1);
        assert_int_equal(desk.http.sent_count, i + 2);
    }
    answer(&desk, 3, 500, "API error: 400");
    assert_int_equal(desk.answers, 1);
    assert_int_equal(desk.last.rc, RC_RETRY);
    finish(&desk);
}

/* R000-30 */
static void a_question_that_failed_waits_and_the_others_do_not(void **state)
{
    (void)state;
    struct desk desk;
    begin_one(&desk, (struct appview_pace){.retries_max = 3});
    struct asker bad = {&desk, 'x'}, good = {&desk, 'y'};
    ask(&bad, "a", 0);
    ask(&good, "b", 0);
    answer(&desk, 0, 502, "");
    answer(&desk, 1, 200, "{}"); /* the server is well: it was the question */
    ask(&good, "c", 9);
    assert_int_equal(desk.http.sent_count, 3);
    answer(&desk, 2, 200, "{}");
    pass(&desk, 999 * MS);
    assert_int_equal(desk.http.sent_count, 3);
    pass(&desk, 1 * MS);
    assert_int_equal(desk.http.sent_count, 4);
    assert_string_equal(desk.order, "yy");
    finish(&desk);
}

static void nobody_waits_longer_than_a_minute_for_servers_that_are_down(void **state)
{
    (void)state;
    struct desk desk;
    begin_one(&desk, (struct appview_pace){.retries_max = 0, .flights_max = 4});
    struct asker asker = {&desk, 'x'};
    for (size_t i = 0; i < 3; i++) {
        ask(&asker, "a", 0);
        pass(&desk, 4000 * MS);
        answer(&desk, i, 502, "");
    }
    assert_int_equal(desk.answers, 3); /* no retries, and the circuit is open */
    pass(&desk, 10000 * MS);
    ask(&asker, "b", 0);
    pass(&desk, 19999 * MS);
    assert_int_equal(desk.http.sent_count, 3);
    ask(&asker, "c", 0);
    pass(&desk, 1 * MS); /* one of them is the probe */
    assert_int_equal(desk.http.sent_count, 4);
    answer(&desk, 3, 502, ""); /* open again, for a minute */
    assert_int_equal(desk.answers, 4);
    pass(&desk, 59998 * MS);
    assert_int_equal(desk.answers, 4);
    pass(&desk, 1 * MS);
    assert_int_equal(desk.answers, 5);
    assert_int_equal(desk.last.rc, RC_RETRY);
    assert_non_null(strstr(desk.last.err.text, "all providers failed"));
    finish(&desk);
}

static void requests_keep_their_distance_and_their_number(void **state)
{
    (void)state;
    struct desk desk;
    begin_one(&desk, (struct appview_pace){.spacing_ms = 100, .flights_max = 2});
    struct asker asker = {&desk, 'x'};
    for (int i = 0; i < 4; i++)
        ask(&asker, "a", 0);
    assert_int_equal(desk.http.sent_count, 1);
    pass(&desk, 99 * MS);
    assert_int_equal(desk.http.sent_count, 1);
    pass(&desk, 1 * MS);
    assert_int_equal(desk.http.sent_count, 2);
    pass(&desk, 500 * MS);
    assert_int_equal(desk.http.sent_count, 2); /* two places */
    answer(&desk, 0, 200, "{}");
    assert_int_equal(desk.http.sent_count, 3);
    appview_tune(desk.appview, &(struct appview_pace){.flights_max = 3, .backoff_ms = 1});
    assert_int_equal(desk.http.sent_count, 4);
    finish(&desk);
}

static void the_urgent_go_first_and_equals_in_their_order(void **state)
{
    (void)state;
    struct desk desk;
    begin_one(&desk, (struct appview_pace){.flights_max = 1});
    struct asker askers[] = {{&desk, 'a'}, {&desk, 'b'}, {&desk, 'c'}, {&desk, 'd'}, {&desk, 'e'}};
    static const int priorities[] = {9, 9, 3, 0, 3};
    for (size_t i = 0; i < 5; i++)
        ask(&askers[i], "x", priorities[i]);
    for (size_t i = 0; i < 5; i++)
        answer(&desk, i, 200, "{}");
    assert_string_equal(desk.order, "adceb"); /* the first was under way already */
    finish(&desk);
}

static void another_appview_answers_when_one_fails(void **state)
{
    (void)state;
    struct desk desk;
    struct source_view view = {0};
    begin(&desk, (const char *const[]){"http://a", "http://b"}, 2,
          (struct appview_pace){.retries_max = 3});
    struct asker asker = {&desk, 'x'};
    ask(&asker, "x", 0);
    answer(&desk, 0, 502, "");
    assert_int_equal(desk.http.sent_count, 2); /* at once: somebody else is there */
    assert_non_null(strstr(desk.http.sent[1].url, "http://b/"));
    answer(&desk, 1, 200, "{}");
    assert_int_equal(desk.last.rc, RC_OK);
    assert_string_equal(desk.last.provider, "b");
    ask(&asker, "y", 0);
    assert_non_null(strstr(desk.http.sent[2].url, "http://b/")); /* it stays where it works */
    answer(&desk, 2, 502, "");
    appview_show(desk.appview, &view);
    assert_int_equal(view.provider_count, 2);
    assert_int_equal(view.providers[0].failures, 1);
    finish(&desk);
}

static void ask_only(struct asker *asker, const char *provider)
{
    struct appview_request request = {.method = PROFILE};
    unsigned answers = asker->desk->answers;
    assert_non_null(appview_ask_only(asker->desk->appview, &request, provider, heard, asker));
    assert_int_equal(asker->desk->answers, answers); /* never from inside */
}

static void what_only_one_appview_understands_is_asked_of_nobody_else(void **state)
{
    (void)state;
    struct desk desk;
    begin(&desk, (const char *const[]){"http://a", "http://b"}, 2,
          (struct appview_pace){.retries_max = 1});
    struct asker asker = {&desk, 'x'}, other = {&desk, 'y'};
    ask_only(&asker, "b"); /* though the other one is preferred */
    assert_non_null(strstr(desk.http.sent[0].url, "http://b/"));
    answer(&desk, 0, 502, "");
    pass(&desk, 1000 * MS);
    assert_non_null(strstr(desk.http.sent[1].url, "http://b/"));
    ask(&other, "x", 0); /* nobody waits for it */
    assert_non_null(strstr(desk.http.sent[2].url, "http://a/"));
    answer(&desk, 2, 200, "{}");
    answer(&desk, 1, 502, "");
    assert_string_equal(desk.order, "yx");
    assert_int_equal(desk.last.rc, RC_RETRY);
    ask_only(&asker, "c"); /* is not there any more */
    pass(&desk, 0);
    assert_int_equal(desk.answers, 3);
    assert_int_equal(desk.last.rc, RC_RETRY);
    assert_int_equal(desk.http.sent_count, 3);
    finish(&desk);
}

static void who_pauses_for_long_is_not_waited_for_by_what_only_it_understands(void **state)
{
    (void)state;
    static const int64_t pauses_ms[] = {3000, 30000};
    for (size_t i = 0; i < 2; i++) {
        struct desk desk;
        begin(&desk, (const char *const[]){"http://a", "http://b"}, 2,
              (struct appview_pace){.retries_max = 3});
        struct asker asker = {&desk, 'x'};
        ask_only(&asker, "a");
        ask_only(&asker, "a");
        http_desk_answer_with(&desk.http, 0,
                              (struct http_response){.status = 429, .retry_after_ms = pauses_ms[i]},
                              "{\"error\":\"RateLimitExceeded\"}");
        assert_int_equal(desk.answers, i); /* a long one ends it at once */
        answer(&desk, 1, 200, "{}");
        ask_only(&asker, "a");
        pass(&desk, 0);
        assert_int_equal(desk.answers, 1 + 2 * i);
        pass(&desk, 3000 * MS);
        assert_int_equal(desk.http.sent_count, i == 0 ? 4 : 2);
        for (size_t k = 2; k < desk.http.sent_count; k++)
            answer(&desk, k, 200, "{}");
        assert_int_equal(desk.answers, 3);
        finish(&desk);
    }
}

static void the_queue_has_an_end_and_cancelled_questions_leave_it(void **state)
{
    (void)state;
    struct desk desk;
    struct appview_call *calls[8];
    struct appview_view view;
    begin_one(&desk, (struct appview_pace){.flights_max = 1});
    struct asker asker = {&desk, 'x'};
    for (int i = 0; i < 8; i++)
        assert_non_null(calls[i] = ask(&asker, "x", 0));
    assert_null(ask(&asker, "x", 0));
    appview_cancel(desk.appview, calls[7]);
    assert_int_equal(desk.http.sent_count, 1);
    appview_cancel(desk.appview, calls[0]);
    assert_true(desk.http.sent[0].cancelled);
    assert_int_equal(desk.http.sent_count, 2); /* its place is free */
    appview_look(desk.appview, &view);
    assert_int_equal(view.waiting, 5);
    assert_int_equal(view.under_way, 1);
    assert_int_equal(desk.answers, 0);
    finish(&desk);
}

static void an_address_that_is_none_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"ftp://a", "http://", "https://user:pw@host", "a.example"};
    struct desk desk = {0};
    http_desk_init(&desk.http);
    struct appview_options options = {
        .endpoint_count = 1, .asks_max = 1, .pace = {.backoff_ms = 1}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err err;
        options.endpoints = &bad[i];
        assert_int_equal(appview_new(&desk.http.clock.runtime, &options, &desk.appview, &err),
                         RC_REJECT);
        assert_null(strstr(err.text, "pw"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_are_escaped_and_the_answer_is_read),
        cmocka_unit_test(refusals_by_status_are_for_good),
        cmocka_unit_test(an_error_with_a_name_is_an_answer_and_one_without_is_not),
        cmocka_unit_test(what_is_no_answer_is_asked_again_and_given_up_in_the_end),
        cmocka_unit_test(a_server_that_asks_for_a_pause_gets_it_from_everybody),
        cmocka_unit_test(a_budget_that_the_server_tells_is_kept),
        cmocka_unit_test(attempts_are_one_two_and_four_seconds_apart),
        cmocka_unit_test(a_question_that_failed_waits_and_the_others_do_not),
        cmocka_unit_test(nobody_waits_longer_than_a_minute_for_servers_that_are_down),
        cmocka_unit_test(requests_keep_their_distance_and_their_number),
        cmocka_unit_test(the_urgent_go_first_and_equals_in_their_order),
        cmocka_unit_test(another_appview_answers_when_one_fails),
        cmocka_unit_test(what_only_one_appview_understands_is_asked_of_nobody_else),
        cmocka_unit_test(who_pauses_for_long_is_not_waited_for_by_what_only_it_understands),
        cmocka_unit_test(the_queue_has_an_end_and_cancelled_questions_leave_it),
        cmocka_unit_test(an_address_that_is_none_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
