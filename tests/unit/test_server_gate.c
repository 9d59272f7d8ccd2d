/* SPDX-License-Identifier: Apache-2.0
 *
 * Who may ask for what, how often, and from which page. */
#include "config_tokens.h"
#include "server_bench.h"
#include "ws_peer.h"

#include <sys/stat.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define OPEN_POSTS "{\"collection\":\"posts\"}"

static char tokens_path[320];

static void write_tokens(struct bench *bench, const char *const (*tokens)[2])
{
    struct text lines = {0};
    unsigned scopes;
    snprintf(tokens_path, sizeof tokens_path, "%s/tokens", bench->fixture.folder);
    for (; (*tokens)[0] != NULL; tokens++) { /* each is its own name */
        assert_true(scopes_parse(bytes_of((*tokens)[1]), &scopes));
        token_print_line(bytes_of((*tokens)[0]), scopes, bytes_of((*tokens)[0]), &lines);
    }
    FILE *file = fopen(tokens_path, "w");
    assert_non_null(file);
    fputs(text_string(&lines), file);
    fclose(file);
    assert_int_equal(chmod(tokens_path, 0600), 0);
    text_free(&lines);
}

static void restart_with_tokens(struct bench *bench)
{
    static const char *const tokens[][2] = {{"reader", "read"},
                                            {"writer", "write"},
                                            {"boss", "admin"},
                                            {"both", "read,admin"},
                                            {NULL, NULL}};
    write_tokens(bench, tokens);
    bench->options.gate.tokens_file = tokens_path;
    bench_restart(bench);
    bench_reconnect(bench);
}

/* GET, or POST when there is a body, with an Authorization unless it is NULL. */
static int ask(struct bench *bench, const char *path, const char *body, const char *authorization)
{
    struct text request = {0};
    text_appendf(&request, "%s %s HTTP/1.1\r\nHost: localhost\r\n", body == NULL ? "GET" : "POST",
                 path);
    if (authorization != NULL)
        text_appendf(&request, "Authorization: %s\r\n", authorization);
    text_appendf(&request, "Content-Length: %zu\r\n\r\n%s", body == NULL ? 0 : strlen(body),
                 body == NULL ? "" : body);
    int status = bench_say(bench, text_string(&request));
    text_free(&request);
    return status;
}

struct visit {
    const char *path, *body, *authorization;
    int status;
};

static void expect(struct bench *bench, const struct visit *visits, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int status = ask(bench, visits[i].path, visits[i].body, visits[i].authorization);
        if (status != visits[i].status)
            fail_msg("%d for %s as %s: %s", status, visits[i].path, visits[i].authorization,
                     bench_body(bench));
        if (status == 401) {
            assert_true(bench_says(bench, "{\"success\":false,\"code\":\"UNAUTHORIZED\""));
            assert_true(bench_head_says(bench, "\r\nWWW-Authenticate: Bearer"));
        } else if (status == 403) {
            assert_true(bench_says(bench, "{\"success\":false,\"code\":\"FORBIDDEN\""));
        }
    }
}

#define EXPECT(bench, visits) expect(bench, visits, sizeof visits / sizeof visits[0])

static void each_route_asks_for_its_scope(void **state)
{
    static const struct visit visits[] = {
        {"/api/data/query-open", OPEN_POSTS, "Bearer reader", 200},
        {"/api/data/query-open", OPEN_POSTS, "bearer  reader", 200},
        {"/api/data/query-open", OPEN_POSTS, "Bearer both", 200},
        {"/api/data/query-open", OPEN_POSTS, "Bearer writer", 403},
        {"/api/data/query-open", OPEN_POSTS, "Bearer boss", 403},
        {"/large", "{}", "Bearer writer", 200},
        {"/large", "{}", "Bearer both", 403},
        {"/large", "{}", NULL, 401},
        {"/api/admin/handles", NULL, "Bearer boss", 200},
        {"/api/admin/handles", NULL, "Bearer both", 200},
        {"/api/admin/handles", NULL, "Bearer reader", 403},
        {"/api/admin/handles", NULL, NULL, 401},
        /* A token that is not known is refused, even where none is needed. */
        {"/api/status", NULL, "Bearer nobody", 401},
        {"/api/status", NULL, "Bearer ", 401},
        {"/api/status", NULL, "Bearer", 401},
        {"/api/status", NULL, "Basic cmVhZGVy", 401},
        {"/api/status", NULL, "reader", 401},
        {"/health", NULL, "Bearer writer", 200},
    };
    struct bench *bench = *state;
    restart_with_tokens(bench);
    EXPECT(bench, visits);
    ask(bench, "/api/data/query-open", OPEN_POSTS, "Bearer writer");
    assert_true(bench_says(bench, "this needs the scope read, and the token has write"));
    ask(bench, "/api/admin/handles", NULL, NULL);
    assert_true(bench_says(bench, "send `Authorization: Bearer TOKEN`"));
}

static void loopback_reads_without_a_token_unless_told_otherwise(void **state)
{
    static const struct visit open_reads[] = {
        {"/api/status", NULL, NULL, 200},
        {"/metrics", NULL, NULL, 200},
        {"/api/admin/handles", NULL, NULL, 401},
    };
    static const struct visit closed_reads[] = {
        {"/api/status", NULL, NULL, 401},
        {"/metrics", NULL, NULL, 401},
        {"/api/status", NULL, "Bearer reader", 200},
        {"/health", NULL, NULL, 200},
        {"/", NULL, NULL, 401},
        {"/assets/page.css", NULL, NULL, 200},
    };
    struct bench *bench = *state;
    restart_with_tokens(bench);
    EXPECT(bench, open_reads);
    bench->options.gate.reads_need_token = true;
    bench_restart(bench);
    bench_reconnect(bench);
    EXPECT(bench, closed_reads);
    http_peer_close(&bench->peer);
    http_peer_connect(&bench->peer, server_port(bench->server, LISTENER_HEALTH));
    assert_int_equal(bench_get(bench, "/metrics"), 200);
}

static void without_tokens_loopback_reads_and_writes_and_administers_nothing(void **state)
{
    static const struct visit visits[] = {
        {"/api/data/query-open", OPEN_POSTS, NULL, 200},
        {"/api/data/query-open", OPEN_POSTS, "Bearer whatever", 200},
        {"/large", "{}", NULL, 200},
        {"/api/admin/handles", NULL, NULL, 401},
        {"/api/admin/handles", NULL, "Bearer whatever", 401},
    };
    EXPECT((struct bench *)*state, visits);
}

static void the_socket_needs_no_token(void **state)
{
    struct bench *bench = *state;
    bench->options.gate.reads_need_token = true;
    restart_with_tokens(bench);
    http_peer_close(&bench->peer);
    http_peer_connect_unix(&bench->peer, bench->socket_path);
    assert_int_equal(bench_get(bench, "/api/status"), 200);
    assert_int_equal(bench_get(bench, "/api/admin/handles"), 200);
}

/* All addresses are listened on, and loopback is one of them: what came there needs a token. */
static void an_address_that_others_reach_answers_nobody_without_a_token(void **state)
{
    static const struct visit visits[] = {
        {"/api/status", NULL, NULL, 401},
        {"/api/data/query-open", OPEN_POSTS, NULL, 401},
        {"/api/status", NULL, "Bearer reader", 200},
        {"/health", NULL, NULL, 200},
    };
    struct bench *bench = *state;
    bench->options.listen = "0.0.0.0:0";
    restart_with_tokens(bench);
    EXPECT(bench, visits);
    /* Nobody's loopback is meant there, so any name will do. */
    assert_int_equal(bench_say(bench, "GET /api/status HTTP/1.1\r\nHost: news.example\r\n"
                                      "Authorization: Bearer reader\r\n\r\n"),
                     200);
}

static void tokens_that_cannot_be_read_stop_the_start(void **state)
{
    struct bench *bench = *state;
    struct server *second;
    struct server_options options = {.store_url = bench->fixture.url, .listen = "127.0.0.1:0"};
    options.gate.tokens_file = "/nonexistent/tokens";
    assert_int_equal(server_start(&options, &second, &bench->err), RC_REJECT);
    assert_non_null(strstr(bench->err.text, "/nonexistent/tokens"));
}

static void tokens_are_read_again_while_it_runs(void **state)
{
    static const char *const changed[][2] = {{"fresh", "admin"}, {NULL, NULL}};
    struct bench *bench = *state;
    struct err err;
    restart_with_tokens(bench);
    assert_int_equal(ask(bench, "/api/admin/handles", NULL, "Bearer boss"), 200);
    write_tokens(bench, changed);
    assert_int_equal(server_read_tokens(bench->server, tokens_path, &err), RC_OK);
    while (ask(bench, "/api/admin/handles", NULL, "Bearer boss") != 401)
        ;
    assert_int_equal(ask(bench, "/api/admin/handles", NULL, "Bearer fresh"), 200);
    assert_int_equal(chmod(tokens_path, 0644), 0);
    assert_int_equal(server_read_tokens(bench->server, tokens_path, &err), RC_REJECT);
    assert_int_equal(ask(bench, "/api/admin/handles", NULL, "Bearer fresh"), 200);
    /* One that is overtaken before it is in force is not lost for good. */
    assert_int_equal(chmod(tokens_path, 0600), 0);
    for (int i = 0; i < 20; i++)
        assert_int_equal(server_read_tokens(bench->server, tokens_path, &err), RC_OK);
}

/* Who named no session has the one of the token. */
static void a_token_does_not_reach_the_handles_of_another(void **state)
{
    struct bench *bench = *state;
    static const char *const tokens[][2] = {{"a", "read"}, {"b", "read"}, {NULL, NULL}};
    char handle[37], body[128];
    restart_with_tokens(bench);
    write_tokens(bench, tokens);
    bench_restart(bench);
    bench_reconnect(bench);
    assert_int_equal(ask(bench, "/api/data/query-open", OPEN_POSTS, "Bearer a"), 200);
    bench_take_handle(bench, handle);
    snprintf(body, sizeof body, "{\"queryHandle\":\"%s\"}", handle);
    assert_int_equal(ask(bench, "/api/data/query-next", body, "Bearer b"), 403);
    assert_int_equal(ask(bench, "/api/data/query-next", body, NULL), 403);
    assert_int_equal(ask(bench, "/api/data/query-next", body, "Bearer a"), 200);
}

/* ---- websockets ---- */

static int open_websocket(struct bench *bench, struct ws_peer *peer, const char *headers)
{
    return ws_peer_open(peer, server_port(bench->server, LISTENER_MAIN), "/api/ws", headers);
}

static const char *tell(struct ws_peer *peer, const char *command)
{
    char message[128];
    snprintf(message, sizeof message, "{\"id\":1,\"command\":\"%s\",\"params\":" OPEN_POSTS "}",
             command);
    ws_peer_say(peer, message);
    return ws_peer_hear(peer);
}

static void a_websocket_has_the_scopes_of_its_token_and_ends_with_it(void **state)
{
    static const char *const changed[][2] = {{"reader", "read"}, {NULL, NULL}};
    struct bench *bench = *state;
    struct ws_peer kept, lost;
    struct err err;
    bench->options.gate.reads_need_token = true;
    restart_with_tokens(bench);
    assert_int_equal(open_websocket(bench, &kept, ""), 401);
    ws_peer_close(&kept);
    assert_int_equal(open_websocket(bench, &kept, "Authorization: Bearer reader\r\n"), 101);
    assert_int_equal(open_websocket(bench, &lost, "Authorization: Bearer both\r\n"), 101);
    assert_non_null(strstr(tell(&kept, "query-open"), "\"success\":true"));
    assert_non_null(strstr(tell(&kept, "delete"), "\"code\":\"FORBIDDEN\""));
    assert_non_null(strstr(tell(&lost, "query-open"), "\"success\":true"));
    write_tokens(bench, changed);
    assert_int_equal(server_read_tokens(bench->server, tokens_path, &err), RC_OK);
    assert_int_equal(ws_peer_read_close(&lost), 1008);
    assert_non_null(strstr(tell(&kept, "query-open"), "\"success\":true"));
    ws_peer_close(&kept);
    ws_peer_close(&lost);
}

static void commands_over_a_websocket_count_as_requests(void **state)
{
    struct bench *bench = *state;
    struct ws_peer peer;
    const char *answer;
    int went = 0;
    bench->options.gate.token_rate = 1;
    bench->options.gate.burst_s = 20;
    restart_with_tokens(bench);
    assert_int_equal(open_websocket(bench, &peer, "Authorization: Bearer reader\r\n"), 101);
    while (strstr(answer = tell(&peer, "query-open"), "\"success\":true") != NULL)
        went++;
    assert_non_null(strstr(answer, "\"code\":\"QUOTA_EXCEEDED\""));
    assert_true(went >= 19);
    int status;
    do /* they are one account; a second that passes meanwhile allows one more */
        status = ask(bench, "/metrics", NULL, "Bearer reader");
    while (status == 200);
    assert_int_equal(status, 429);
    ws_peer_close(&peer);
}

/* ---- how often ---- */

static void who_asks_too_often_waits(void **state)
{
    struct bench *bench = *state;
    bench->options.gate.token_rate = 1;
    bench->options.gate.burst_s = 3600;
    restart_with_tokens(bench);
    for (int i = 0; i < 3600; i++)
        assert_int_equal(ask(bench, "/metrics", NULL, "Bearer reader"), 200);
    int status;
    do /* a second that passes meanwhile allows one more */
        status = ask(bench, "/metrics", NULL, "Bearer reader");
    while (status == 200);
    assert_int_equal(status, 429);
    assert_true(bench_says(bench, "{\"success\":false,\"code\":\"QUOTA_EXCEEDED\",\"error\":\""));
    assert_true(bench_head_says(bench, "\r\nRetry-After: 1\r\n"));
    assert_int_equal(ask(bench, "/metrics", NULL, NULL), 200); /* of the address nothing is asked */
    assert_int_equal(ask(bench, "/metrics", NULL, "Bearer both"), 200);
}

static void an_address_that_asks_too_often_waits(void **state)
{
    struct bench *bench = *state;
    int status = 200, went = 0;
    bench->options.gate.address_rate = 1;
    bench->options.gate.burst_s = 20;
    bench_restart(bench);
    bench_reconnect(bench);
    for (int i = 0; i < 100; i++)
        assert_int_equal(bench_get(bench, "/metrics"), 200); /* loopback is excepted */
    bench->options.gate.limit_loopback = true;
    bench_restart(bench);
    bench_reconnect(bench);
    for (; (status = bench_get(bench, "/metrics")) == 200; went++)
        ;
    assert_int_equal(status, 429);
    assert_true(went >= 20);
    assert_true(bench_head_says(bench, "\r\nRetry-After: 1\r\n"));
    http_peer_close(&bench->peer);
    http_peer_connect(&bench->peer, server_port(bench->server, LISTENER_HEALTH));
    assert_int_equal(bench_get(bench, "/health"), 200); /* the health address is not limited */
}

/* Before the token is looked at, so that a guess costs as much as any question. */
static void who_guesses_tokens_is_soon_told_to_wait(void **state)
{
    struct bench *bench = *state;
    int status, guesses = 0;
    bench->options.gate.address_rate = 1;
    bench->options.gate.burst_s = 20;
    bench->options.gate.limit_loopback = true;
    restart_with_tokens(bench);
    do {
        char guess[64];
        snprintf(guess, sizeof guess, "Bearer guess%d", guesses++);
        status = ask(bench, "/api/status", NULL, guess);
    } while (status == 401);
    assert_int_equal(status, 429);
    assert_true(guesses > 20);
}

#define PREFLIGHT(origin)                                                                          \
    "OPTIONS /api/data/query-open HTTP/1.1\r\nHost: localhost:8080\r\nOrigin: " origin             \
    "\r\nAccess-Control-Request-Method: POST\r\n"                                                  \
    "Access-Control-Request-Headers: authorization,content-type\r\n\r\n"
#define POST_FROM(origin)                                                                          \
    "POST /api/data/query-open HTTP/1.1\r\nHost: localhost:8080\r\nOrigin: " origin                \
    "\r\nContent-Length: 22\r\n\r\n" OPEN_POSTS

static void only_pages_that_are_named_may_use_the_api_from_elsewhere(void **state)
{
    static const char *const origins[] = {"https://news.example", "http://localhost:3000"};
    struct bench *bench = *state;
    assert_int_equal(bench_say(bench, PREFLIGHT("https://news.example")), 403);
    assert_false(bench_head_says(bench, "Access-Control"));
    assert_int_equal(bench_say(bench, POST_FROM("https://news.example")), 403);
    bench->options.gate.cors_origins = (struct config_list){origins, 2};
    bench->options.gate.reads_need_token = true;
    restart_with_tokens(bench);
    /* The question carries no token, and needs none. */
    assert_int_equal(bench_say(bench, PREFLIGHT("https://news.example")), 204);
    assert_true(
        bench_head_says(bench, "\r\nAccess-Control-Allow-Origin: https://news.example\r\n"));
    assert_true(bench_head_says(bench, "\r\nAccess-Control-Allow-Methods: GET, HEAD, POST\r\n"));
    assert_true(bench_head_says(bench, "\r\nAccess-Control-Allow-Headers: Authorization, "));
    assert_true(bench_head_says(bench, "\r\nVary: Origin\r\n"));
    assert_false(bench_head_says(bench, "Allow-Credentials"));
    assert_int_equal(bench_say(bench, POST_FROM("http://localhost:3000")), 401);
    assert_true(
        bench_head_says(bench, "\r\nAccess-Control-Allow-Origin: http://localhost:3000\r\n"));
    assert_int_equal(
        bench_say(bench, POST_FROM("http://localhost:3000\r\nAuthorization: Bearer reader")), 200);
    assert_true(bench_head_says(bench, "\r\nAccess-Control-Expose-Headers: Retry-After\r\n"));
    static const char *const others[] = {
        PREFLIGHT("https://news.example.evil"), POST_FROM("https://news.example.evil"),
        PREFLIGHT("http://news.example"),       POST_FROM("null"),
        POST_FROM("https://news.example:8443"),
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_int_equal(bench_say(bench, others[i]), 403);
        assert_false(bench_head_says(bench, "Access-Control"));
        assert_true(bench_head_says(bench, "\r\nVary: Origin\r\n"));
    }
}

/* A websocket may write, so the page that opens it must be one that may. */
static void an_upgrade_from_another_page_is_refused(void **state)
{
    struct bench *bench = *state;
    static const char request[] = "GET /health HTTP/1.1\r\nHost: localhost\r\nOrigin: %s\r\n"
                                  "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    char words[256];
    snprintf(words, sizeof words, request, "https://evil.example");
    assert_int_equal(bench_say(bench, words), 403);
    snprintf(words, sizeof words, request, "http://localhost");
    bench_reconnect(bench);
    assert_int_equal(bench_say(bench, words), 200);
}

int main(void)
{
#define SERVER(test) cmocka_unit_test_setup_teardown(test, bench_set_up, bench_tear_down)
    const struct CMUnitTest tests[] = {
        SERVER(each_route_asks_for_its_scope),
        SERVER(loopback_reads_without_a_token_unless_told_otherwise),
        SERVER(without_tokens_loopback_reads_and_writes_and_administers_nothing),
        SERVER(the_socket_needs_no_token),
        SERVER(an_address_that_others_reach_answers_nobody_without_a_token),
        SERVER(tokens_that_cannot_be_read_stop_the_start),
        SERVER(tokens_are_read_again_while_it_runs),
        SERVER(a_token_does_not_reach_the_handles_of_another),
        SERVER(only_pages_that_are_named_may_use_the_api_from_elsewhere),
        SERVER(an_upgrade_from_another_page_is_refused),
        SERVER(a_websocket_has_the_scopes_of_its_token_and_ends_with_it),
        SERVER(commands_over_a_websocket_count_as_requests),
        SERVER(who_asks_too_often_waits),
        SERVER(an_address_that_asks_too_often_waits),
        SERVER(who_guesses_tokens_is_soon_told_to_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
