/* SPDX-License-Identifier: Apache-2.0
 *
 * The client with a login, on a scripted machine. */
#include "source/appview.h"

#include "http_desk.h"
#include "source/appview_session.h"

#include <stdio.h>
#include <string.h>

#define SECOND_US INT64_C(1000000)
#define PASSWORD  "canary-pass-word"
#define CREATE    "http://pds/xrpc/com.atproto.server.createSession"
#define RENEW     "http://pds/xrpc/com.atproto.server.refreshSession"
#define PROFILE   "/xrpc/app.bsky.actor.getProfile?actor=x"
/* They end 600 s after the desk begins. */
#define JWT(name) "h.eyJleHAiOjE3OTAwMDA2MDB9." name
#define TOKENS(name)                                                                               \
    "{\"accessJwt\":\"" JWT("access" name) "\",\"refreshJwt\":\"" JWT("refresh" name) "\"}"
#define EXPIRED "{\"error\":\"ExpiredToken\",\"message\":\"Token has expired\"}"
#define WRONG   "{\"error\":\"AuthenticationRequired\",\"message\":\"Invalid password\"}"

struct desk {
    struct http_desk http;
    struct appview *appview;
    enum rc rc;
    unsigned answers;
};

static void heard(void *arg, const struct appview_answer *answer)
{
    struct desk *desk = arg;
    desk->rc = answer->rc;
    desk->answers++;
    assert_null(strstr(answer->err.text, PASSWORD));
    assert_null(strstr(answer->err.text, "eyJ"));
}

static void ask(struct desk *desk)
{
    struct appview_param param = {"actor", bytes_of("x")};
    struct appview_request request = {
        .method = "app.bsky.actor.getProfile", .params = &param, .param_count = 1};
    assert_non_null(appview_ask(desk->appview, &request, heard, desk));
}

static void begin(struct desk *desk)
{
    struct err err;
    struct appview_account account = {"http://pds", "me.example", bytes_of(PASSWORD)};
    struct appview_options options = {.account = &account,
                                      .endpoints = (const char *const[]){"http://open"},
                                      .endpoint_count = 1,
                                      .asks_max = 8,
                                      .pace = {.backoff_ms = 1000, .retries_max = 3}};
    *desk = (struct desk){0};
    http_desk_init(&desk->http);
    assert_int_equal(appview_new(&desk->http.clock.runtime, &options, &desk->appview, &err), RC_OK);
}

static void finish(struct desk *desk)
{
    appview_free(desk->appview);
    http_desk_deinit(&desk->http);
}

static const struct desk_request *last(const struct desk *desk)
{
    return &desk->http.sent[desk->http.sent_count - 1];
}

static void answer(struct desk *desk, int status, const char *body)
{
    http_desk_answer(&desk->http, desk->http.sent_count - 1, status, body);
}

static void a_login_comes_before_the_first_question(void **state)
{
    (void)state;
    struct desk desk;
    begin(&desk);
    ask(&desk);
    ask(&desk);
    assert_int_equal(desk.http.sent_count, 1); /* one login for all */
    assert_string_equal(last(&desk)->method, "POST");
    assert_string_equal(last(&desk)->url, CREATE);
    assert_string_equal(last(&desk)->body,
                        "{\"identifier\":\"me.example\",\"password\":\"" PASSWORD "\"}");
    answer(&desk, 200, TOKENS("1"));
    assert_int_equal(desk.http.sent_count, 3);
    assert_string_equal(last(&desk)->url, "http://pds" PROFILE);
    assert_string_equal(last(&desk)->bearer, "Bearer " JWT("access1"));
    http_desk_answer(&desk.http, 1, 200, "{}");
    http_desk_answer(&desk.http, 2, 200, "{}");
    assert_int_equal(desk.answers, 2);
    finish(&desk);
}

static void a_token_is_renewed_before_its_end(void **state)
{
    (void)state;
    struct desk desk;
    begin(&desk);
    ask(&desk);
    answer(&desk, 200, TOKENS("1"));
    answer(&desk, 200, "{}");
    http_desk_pass(&desk.http, 539 * SECOND_US);
    ask(&desk);
    assert_string_equal(last(&desk)->url, "http://pds" PROFILE);
    answer(&desk, 200, "{}");
    http_desk_pass(&desk.http, 1 * SECOND_US);
    ask(&desk);
    assert_string_equal(last(&desk)->url, RENEW);
    assert_string_equal(last(&desk)->bearer, "Bearer " JWT("refresh1"));
    answer(&desk, 200, "{\"accessJwt\":\"h.eyJleHAiOjE3OTAwMDcyMDB9.late\",\"refreshJwt\":\"r\"}");
    assert_string_equal(last(&desk)->url, "http://pds" PROFILE);
    assert_string_equal(last(&desk)->bearer, "Bearer h.eyJleHAiOjE3OTAwMDcyMDB9.late");
    finish(&desk);
}

/* A clock that is ahead, or a server that gives them for a moment: the next is no better. */
static void a_token_that_comes_at_its_end_is_used_until_it_is_refused(void **state)
{
    (void)state;
    struct desk desk;
    begin(&desk);
    http_desk_pass(&desk.http, 7200 * SECOND_US);
    ask(&desk);
    answer(&desk, 200, TOKENS("1"));
    assert_string_equal(last(&desk)->url, "http://pds" PROFILE);
    assert_string_equal(last(&desk)->bearer, "Bearer " JWT("access1"));
    answer(&desk, 200, "{}");
    ask(&desk);
    assert_string_equal(last(&desk)->url, "http://pds" PROFILE);
    answer(&desk, 400, EXPIRED);
    assert_string_equal(last(&desk)->url, RENEW);
    answer(&desk, 200, TOKENS("2"));
    assert_string_equal(last(&desk)->bearer, "Bearer " JWT("access2"));
    answer(&desk, 200, "{}");
    assert_int_equal(desk.answers, 2);
    finish(&desk);
}

/* R000-25 */
static void a_refused_token_is_renewed_and_then_begun_anew(void **state)
{
    (void)state;
    struct desk desk;
    begin(&desk);
    ask(&desk);
    answer(&desk, 200, TOKENS("1"));
    answer(&desk, 400, EXPIRED);
    assert_string_equal(last(&desk)->url, RENEW);
    answer(&desk, 200, TOKENS("2"));
    assert_string_equal(last(&desk)->bearer, "Bearer " JWT("access2"));
    answer(&desk, 401, EXPIRED); /* not even the fresh one */
    assert_string_equal(last(&desk)->url, CREATE);
    answer(&desk, 200, TOKENS("3"));
    assert_string_equal(last(&desk)->bearer, "Bearer " JWT("access3"));
    answer(&desk, 400, EXPIRED); /* then somebody else may know */
    assert_string_equal(last(&desk)->url, "http://open" PROFILE);
    assert_string_equal(last(&desk)->bearer, "");
    answer(&desk, 200, "{}");
    assert_int_equal(desk.answers, 1);
    assert_int_equal(desk.rc, RC_OK);
    finish(&desk);
}

static void a_renewal_that_is_refused_falls_back_on_the_password(void **state)
{
    (void)state;
    struct desk desk;
    begin(&desk);
    ask(&desk);
    answer(&desk, 200, TOKENS("1"));
    answer(&desk, 401, EXPIRED);
    answer(&desk, 400, EXPIRED);
    assert_string_equal(last(&desk)->url, CREATE);
    answer(&desk, 200, TOKENS("2"));
    answer(&desk, 200, "{}");
    assert_int_equal(desk.rc, RC_OK);
    finish(&desk);
}

static void without_a_login_the_others_are_asked(void **state)
{
    (void)state;
    struct desk desk;
    begin(&desk);
    ask(&desk);
    answer(&desk, 401, WRONG);
    assert_string_equal(last(&desk)->url, "http://open" PROFILE);
    answer(&desk, 200, "{}");
    assert_int_equal(desk.rc, RC_OK);
    /* The password is not tried again at once: servers count that. */
    for (int i = 0; i < 4; i++) {
        http_desk_pass(&desk.http, 60 * SECOND_US);
        ask(&desk);
        assert_string_equal(last(&desk)->url, "http://open" PROFILE);
        answer(&desk, 200, "{}");
    }
    http_desk_pass(&desk.http, 60 * SECOND_US);
    ask(&desk);
    assert_string_equal(last(&desk)->url, CREATE);
    answer(&desk, 200, TOKENS("1"));
    answer(&desk, 200, "{}");
    assert_int_equal(desk.answers, 6);
    finish(&desk);
}

static void a_server_that_is_down_is_tried_again_within_a_minute(void **state)
{
    (void)state;
    struct desk desk;
    begin(&desk);
    ask(&desk);
    answer(&desk, 502, "");
    assert_string_equal(last(&desk)->url, "http://open" PROFILE);
    answer(&desk, 200, "{}");
    http_desk_pass(&desk.http, 60 * SECOND_US);
    ask(&desk);
    assert_string_equal(last(&desk)->url, CREATE);
    finish(&desk);
}

static void the_end_of_a_token_is_read_where_it_stands(void **state)
{
    (void)state;
    struct json_doc *doc = json_doc_new(4096, 16);
    static const char *const silent[] = {"",       "x",       "a.b.c",
                                         "a.!!.c", "a.e30.c", "a.eyJleHAiOi0xfQ.c"};
    assert_int_equal(appview_session_expiry(doc, bytes_of(JWT("x"))), DESK_T0 + 600 * SECOND_US);
    for (size_t i = 0; i < sizeof silent / sizeof *silent; i++)
        assert_int_equal(appview_session_expiry(doc, bytes_of(silent[i])), INT64_MAX);
    json_doc_free(doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_login_comes_before_the_first_question),
        cmocka_unit_test(a_token_is_renewed_before_its_end),
        cmocka_unit_test(a_token_that_comes_at_its_end_is_used_until_it_is_refused),
        cmocka_unit_test(a_refused_token_is_renewed_and_then_begun_anew),
        cmocka_unit_test(a_renewal_that_is_refused_falls_back_on_the_password),
        cmocka_unit_test(without_a_login_the_others_are_asked),
        cmocka_unit_test(a_server_that_is_down_is_tried_again_within_a_minute),
        cmocka_unit_test(the_end_of_a_token_is_read_where_it_stands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
