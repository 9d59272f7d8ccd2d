/* SPDX-License-Identifier: Apache-2.0
 *
 * What the server takes off the wire and what it refuses, byte by byte. */
#include "server_bench.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#define OPEN      "/api/data/query-open"
#define POST_OPEN "POST " OPEN " HTTP/1.1\r\nHost: localhost\r\n"
#define NEXT      "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"

/* A length that two readers could read in two ways ends the connection. */
static void a_request_of_doubtful_length_is_refused_and_its_connection_closed(void **state)
{
    static const char *const requests[] = {
        POST_OPEN "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
        POST_OPEN "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}}",
        POST_OPEN "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        POST_OPEN "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        POST_OPEN "Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        POST_OPEN "Transfer-Encoding: identity\r\n\r\n",
        POST_OPEN "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        POST_OPEN "Content-Length: -1\r\n\r\n{}",
        POST_OPEN "Content-Length: +2\r\n\r\n{}",
        POST_OPEN "Content-Length: 2 2\r\n\r\n{}",
        POST_OPEN "Content-Length: 99999999999999999999\r\n\r\n{}",
        "POST /api/data/query-open HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", /* no Host */
        "POST /api/data/query-open HTTP/1.1\r\nHost: localhost\r\nContent-Length : 2\r\n\r\n{}",
        "GET /health HTTP/1.1\r\nHost : x\r\n\r\n",
        "GET /health HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding\t: chunked\r\n\r\n0\r\n\r\n",
        "GET /health HTTP/1.1\r\nHost: localhost\r\nX y: z\r\n\r\n",
        "GET /health extra HTTP/1.1\r\nHost: localhost\r\n\r\n",
        POST_OPEN "Content-Length:\r\n 2\r\n\r\n{}",
        POST_OPEN "Content-Length: 2\r\n\t2\r\n\r\n{}",
        POST_OPEN "Content-Length: 2\r\n \r\n\r\n{}",
        POST_OPEN "Content-: 2\r\n Length\r\n\r\n{}",
        POST_OPEN "Transfer-: chunked\r\n Enco\r\n ding\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        POST_OPEN "X: y\r\n z\r\nContent-Length: 2\r\n\r\n{}",
    };
    struct bench *bench = *state;
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        bench_reconnect(bench);
        struct text both = {0};
        text_appendf(&both, "%s%s", requests[i], NEXT);
        int status = bench_say(bench, text_string(&both));
        text_free(&both);
        if (status != 0 && (status < 400 || status > 499) && status != 501)
            fail_msg("%d for %s", status, requests[i]);
        if (!http_peer_ended(&bench->peer))
            fail_msg("%d, and more, for %s", status, requests[i]);
    }
    bench_reconnect(bench);
    assert_int_equal(bench_get(bench, "/health"), 200);
}

static void a_long_header_is_refused(void **state)
{
    struct bench *bench = *state;
    struct text request = {0};
    text_append_string(&request, "GET /health HTTP/1.1\r\nHost: localhost\r\nX: ");
    for (int i = 0; i < 100000; i++)
        text_append_char(&request, 'x');
    text_append_string(&request, "\r\n\r\n");
    http_peer_send(&bench->peer, request.data, request.len);
    http_peer_read(&bench->peer, &bench->answer, false);
    /* The rest of the header may cut the answer off; nothing was served, though. */
    assert_true(bench->answer.status == 431 || bench->answer.status == 0);
    text_free(&request);
    bench_reconnect(bench);
    assert_int_equal(bench_get(bench, "/health"), 200);
}

static void many_headers_are_refused(void **state)
{
    struct bench *bench = *state;
    for (int extra = 63; extra <= 64; extra++) {
        struct text request = {0};
        text_append_string(&request, "GET /health HTTP/1.1\r\nHost: localhost\r\n");
        for (int i = 0; i < extra; i++)
            text_appendf(&request, "X-%d: y\r\n", i);
        text_append_string(&request, "\r\n");
        assert_int_equal(bench_say(bench, text_string(&request)), extra == 63 ? 200 : 431);
        text_free(&request);
    }
    assert_true(bench_says(bench, "{\"success\":false,\"code\":\"HEADERS_TOO_LARGE\""));
    assert_true(http_peer_ended(&bench->peer));
}

static void send_body(struct bench *bench, const char *path, size_t len, bool chunked)
{
    char *body = memory_new(len + 1), head[128];
    memset(body, ' ', len);
    memcpy(body, "{}", 2);
    snprintf(head, sizeof head,
             chunked ? "Transfer-Encoding: chunked\r\n\r\n%zx\r\n" : "Content-Length: %zu\r\n\r\n",
             len);
    http_peer_say(&bench->peer, "POST ");
    http_peer_say(&bench->peer, path);
    http_peer_say(&bench->peer, " HTTP/1.1\r\nHost: localhost\r\n");
    http_peer_say(&bench->peer, head);
    http_peer_send(&bench->peer, body, len);
    if (chunked)
        http_peer_say(&bench->peer, "\r\n0\r\n\r\n");
    free(body);
    http_peer_read(&bench->peer, &bench->answer, false);
}

static void a_body_over_one_mebibyte_is_too_large(void **state)
{
    struct bench *bench = *state;
    for (int chunked = 0; chunked < 2; chunked++) {
        bench_reconnect(bench);
        send_body(bench, OPEN, 1 << 20, chunked);
        assert_int_equal(bench->answer.status, 400); /* it is read, and names no collection */
        assert_true(bench_says(bench, "\"code\":\"BAD_REQUEST\""));
        if (chunked)
            bench_reconnect(bench); /* nothing comes behind chunks */
        send_body(bench, OPEN, (1 << 20) + 1, chunked);
        if (chunked || bench->answer.status != 0) {
            assert_int_equal(bench->answer.status, 413);
            assert_true(
                bench_says(bench, "{\"success\":false,\"code\":\"TOO_LARGE\",\"error\":\""));
        }
    }
    bench_reconnect(bench);
    send_body(bench, OPEN, 16 << 20, true);
    assert_true(bench->answer.status == 0 || bench->answer.status == 413);
    assert_true(http_peer_ended(&bench->peer));
}

static void a_route_may_allow_larger_bodies(void **state)
{
    struct bench *bench = *state;
    for (int chunked = 0; chunked < 2; chunked++) {
        bench_reconnect(bench);
        send_body(bench, "/large", 16 << 20, chunked);
        assert_int_equal(bench->answer.status, 200);
        if (chunked)
            bench_reconnect(bench);
        send_body(bench, "/large", (16 << 20) + 1, chunked);
        if (chunked || bench->answer.status != 0) {
            assert_int_equal(bench->answer.status, 413);
            assert_true(bench_says(bench, "16777216"));
        }
    }
}

static void a_connection_is_kept_for_many_requests(void **state)
{
    struct bench *bench = *state;
    for (int i = 0; i < 50; i++) {
        assert_int_equal(bench_get(bench, i % 2 ? "/health" : "/metrics"), 200);
        assert_int_equal(bench_post(bench, "/api/data/query-open", "{\"collection\":\"posts\"}"),
                         200);
    }
    assert_int_equal(bench_get(bench, "/nothing"), 404);
    assert_int_equal(bench_get(bench, "/metrics"), 200);
    assert_int_equal(strncmp(bench_body(bench), "tidemark_up 1\n", 14), 0);
}

static void pipelined_requests_are_answered_in_order(void **state)
{
    struct bench *bench = *state;
    const int wanted[] = {200, 404, 200, 405, 404};
    http_peer_say(&bench->peer, "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
                                "GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n"
                                "POST /api/data/query-open HTTP/1.1\r\nHost: localhost\r\n"
                                "Content-Length: 22\r\n\r\n{\"collection\":\"posts\"}"
                                "DELETE /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
                                "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    for (size_t i = 0; i < 5; i++) {
        http_peer_read(&bench->peer, &bench->answer, false);
        assert_int_equal(bench->answer.status, wanted[i]);
        assert_true(bench_head_says(bench, "X-Content-Type-Options: nosniff"));
    }
    assert_true(bench_says(bench, "<a href=\"/health\">"));
    assert_true(bench_head_says(bench, "Content-Security-Policy: default-src 'none'"));
}

static void a_slow_client_is_heard_and_keeps_nobody_waiting(void **state)
{
    struct bench *bench = *state;
    struct http_peer slow;
    struct http_answer answer = {0};
    const char *request =
        "POST /api/data/query-open HTTP/1.1\r\nHost: localhost\r\nContent-Length: 22\r\n"
        "\r\n{\"collection\":\"posts\"}";
    http_peer_connect(&slow, server_port(bench->server, LISTENER_MAIN));
    for (const char *at = request; *at != '\0'; at++) {
        http_peer_send(&slow, at, 1);
        if ((at - request) % 20 == 0)
            assert_int_equal(bench_get(bench, "/health"), 200);
    }
    http_peer_read(&slow, &answer, false);
    assert_int_equal(answer.status, 200);
    http_answer_free(&answer);
    http_peer_close(&slow);
}

static void head_is_answered_without_a_body(void **state)
{
    struct bench *bench = *state;
    for (int i = 0; i < 2; i++) {
        bench->sick = i == 1;
        http_peer_say(&bench->peer, "HEAD /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
        http_peer_read(&bench->peer, &bench->answer, true);
        assert_int_equal(bench->answer.status, i == 0 ? 200 : 503);
        assert_true(bench_head_says(bench, "\r\nContent-Length: "));
    }
    assert_int_equal(bench_get(bench, "/health"), 503);
}

static void other_paths_and_methods_are_refused_by_name(void **state)
{
    struct bench *bench = *state;
    assert_int_equal(bench_get(bench, "/nothing"), 404);
    assert_true(bench_says(bench, "{\"success\":false,\"code\":\"NOT_FOUND\",\"error\":\""));
    /* A path does not end where it has a NUL: a proxy that hides /health would let it through. */
    assert_int_equal(bench_get(bench, "/health%00"), 404);
    assert_int_equal(bench_get(bench, "/health%00/x"), 404);
    assert_int_equal(bench_get(bench, "/healt%68?x=%00"), 200);
    assert_int_equal(bench_get(bench, "/api/data/query-open"), 405);
    assert_true(bench_says(bench, "\"code\":\"METHOD_NOT_ALLOWED\""));
    assert_true(bench_head_says(bench, "\r\nAllow: POST\r\n"));
    assert_int_equal(bench_post(bench, "/health", "{}"), 405);
    assert_true(bench_head_says(bench, "\r\nAllow: GET, HEAD\r\n"));
    assert_int_equal(
        bench_say(
            bench,
            "OPTIONS /health HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n\r\n"),
        405);
    assert_false(bench_head_says(bench, "Access-Control"));
}

static void a_silent_connection_is_closed(void **state)
{
    struct bench *bench = *state;
    bench->options.idle_s_max = 1;
    bench_restart(bench);
    bench_reconnect(bench);
    http_peer_say(&bench->peer, "GET /health HTT");
    assert_true(http_peer_ended(&bench->peer));
}

/* Sends `word` again and again, a bit at a time, until the server has had enough of it. */
static void drip(struct bench *bench, const char *word)
{
    struct pollfd heard = {.fd = bench->peer.fd, .events = POLLIN};
    for (int i = 0; poll(&heard, 1, 20) == 0; i++) {
        assert_true(i < 1000);
        http_peer_send(&bench->peer, word, strlen(word));
    }
    assert_true(http_peer_ended(&bench->peer));
}

/* Never silent, and never done. */
static void a_connection_that_drips_is_cut(void **state)
{
    struct bench *bench = *state;
    bench->options.request_s_max = 1;
    bench_restart(bench);
    bench_reconnect(bench);
    http_peer_say(&bench->peer, "GET /health HTTP/1.1\r\nX: ");
    drip(bench, "y");
    bench_reconnect(bench);
    http_peer_say(&bench->peer, POST_OPEN "Transfer-Encoding: chunked\r\n\r\n");
    drip(bench, "1\r\n \r\n");
    bench->options.idle_s_max = 1;
    bench_restart(bench);
    do
        bench_reconnect(bench);
    while (bench_get(bench, "/health") != 200);
    http_peer_say(&bench->peer, "GET /health HTTP/1.1\r\nX: ");
    drip(bench, "y");
    /* The time is the client's, not ours. */
    bench_reconnect(bench);
    http_peer_ask(&bench->peer, "/slow", NULL);
    sem_wait(&bench->entered);
    struct pollfd heard = {.fd = bench->peer.fd, .events = POLLIN};
    assert_int_equal(poll(&heard, 1, 2500), 0);
    sem_post(&bench->leave);
    http_peer_read(&bench->peer, &bench->answer, false);
    assert_int_equal(bench->answer.status, 200);
}

static unsigned long cut_total(struct bench *bench)
{
    static const char name[] = "\ntidemark_connections_cut_total ";
    const char *at = strstr(bench_body(bench), name);
    assert_non_null(at);
    return strtoul(at + strlen(name), NULL, 10);
}

/* Takes a byte of an answer now and then, and never is through. */
static void a_reader_that_sips_is_cut(void **state)
{
    struct bench *bench = *state;
    struct http_peer sipping;
    char byte;
    bench->options.request_s_max = 1;
    bench->options.send_bytes_s_min = 1 << 30;
    bench_restart(bench);
    http_peer_connect(&sipping, server_port(bench->server, LISTENER_MAIN));
    http_peer_ask(&sipping, "/huge", NULL);
    unsigned long cut, cut_too = 0; /* who asks may be slow himself, and is cut as well */
    do {
        assert_int_equal(http_peer_receive(&sipping, &byte, 1), 1);
        for (bench_reconnect(bench); bench_get(bench, "/metrics") != 200; cut_too++)
            bench_reconnect(bench);
        cut = cut_total(bench);
    } while (cut <= cut_too);
    assert_int_equal(cut, cut_too + 1);
    size_t rest = 0;
    char piece[65536];
    for (ssize_t got; (got = http_peer_receive(&sipping, piece, sizeof piece)) > 0;)
        rest += (size_t)got;
    assert_true(rest < (size_t)64 << 20);
    http_peer_close(&sipping);
}

static void connections_of_one_address_are_bounded(void **state)
{
    struct bench *bench = *state;
    struct http_peer peers[2], third;
    struct http_answer answer = {0};
    bench->options.gate.limit_loopback = true;
    bench->options.address_connections_max = 2;
    bench_restart(bench);
    for (int i = 0; i < 2; i++) {
        http_peer_connect(&peers[i], server_port(bench->server, LISTENER_MAIN));
        http_peer_ask(&peers[i], "/health", NULL);
        http_peer_read(&peers[i], &answer, false);
        assert_int_equal(answer.status, 200);
    }
    http_peer_connect(&third, server_port(bench->server, LISTENER_MAIN));
    assert_true(http_peer_ended(&third));
    http_peer_close(&third);
    http_peer_close(&peers[0]);
    do
        bench_reconnect(bench);
    while (bench_get(bench, "/health") == 0);
    assert_int_equal(bench->answer.status, 200);
    http_peer_close(&peers[1]);
    http_answer_free(&answer);
}

static void connections_are_bounded_and_come_back(void **state)
{
    struct bench *bench = *state;
    struct http_peer peers[12];
    struct http_answer answer = {0};
    int served = 0;
    bench->options.connections_max = 4;
    bench_restart(bench);
    for (int i = 0; i < 4; i++) {
        http_peer_connect(&peers[i], server_port(bench->server, LISTENER_MAIN));
        http_peer_ask(&peers[i], "/health", NULL);
        http_peer_read(&peers[i], &answer, false);
        served += answer.status == 200;
    }
    assert_int_equal(served, 4);
    /* A fifth waits in the kernel, or is closed; the health address has room of its own. */
    http_peer_close(&bench->peer);
    http_peer_connect(&bench->peer, server_port(bench->server, LISTENER_HEALTH));
    assert_int_equal(bench_get(bench, "/health"), 200);
    for (int i = 0; i < 4; i++)
        http_peer_close(&peers[i]);
    do
        bench_reconnect(bench);
    while (bench_get(bench, "/health") == 0);
    assert_int_equal(bench->answer.status, 200);
    http_answer_free(&answer);
}

/* A name of a stranger that was made to point here, and his page's posts. */
static void a_request_that_means_another_host_is_refused(void **state)
{
    static const struct {
        const char *host;
        int status;
    } cases[] = {
        {"localhost", 200},
        {"LOCALHOST:9", 200},
        {"127.0.0.1:8080", 200},
        {"127.9.8.7", 200},
        {"[::1]:80", 200},
        {"[::1]", 200},
        {"evil.example", 403},
        {"evil.example:80", 403},
        {"localhost.evil.example", 403},
        {"127.0.0.1.evil", 403},
        {"192.168.1.2", 403},
        {"[::2]", 403},
        {"localhost:80:80", 403},
        {"localhost:x", 403},
        {"[::1", 403},
        {"[::1]evil", 403},
        {"0.0.0.0", 403},
        {"127.0.0.1@evil", 403},
        {"2130706433", 403},
        {"", 403},
    };
    struct bench *bench = *state;
    char request[256];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        snprintf(request, sizeof request, "GET /health HTTP/1.1\r\nHost: %s\r\n\r\n",
                 cases[i].host);
        if (bench_say(bench, request) != cases[i].status)
            fail_msg("%d for the host %s", bench->answer.status, cases[i].host);
        if (cases[i].status == 403)
            assert_true(bench_says(bench, "\"code\":\"FORBIDDEN\",\"error\":\"the Host header"));
    }
    assert_int_equal(bench_say(bench, "GET /health HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"),
                     200);
    bench_reconnect(bench);
    assert_int_equal(bench_say(bench, "GET /health HTTP/1.1\r\nHost: localhost\r\n"
                                      "Host: evil.example\r\n\r\n"),
                     400);
}

static void a_page_of_another_origin_may_read_but_not_post(void **state)
{
    static const struct {
        const char *headers;
        int status;
    } cases[] = {
        {"", 200},
        {"Origin: http://localhost:8080\r\n", 200},
        {"Origin: https://LOCALHOST:8080\r\n", 200},
        {"Origin: https://news.example\r\nSec-Fetch-Site: same-origin\r\n", 200},
        {"Origin: http://localhost:3000\r\n", 403},
        {"Origin: http://localhost\r\n", 403},
        {"Origin: http://evil.example\r\nSec-Fetch-Site: cross-site\r\n", 403},
        {"Origin: null\r\n", 403},
        {"Origin: localhost:8080\r\n", 403},
    };
    struct bench *bench = *state;
    char request[512];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        snprintf(request, sizeof request,
                 "POST /api/data/query-open HTTP/1.1\r\nHost: localhost:8080\r\n%s"
                 "Content-Length: 22\r\n\r\n{\"collection\":\"posts\"}",
                 cases[i].headers);
        if (bench_say(bench, request) != cases[i].status)
            fail_msg("%d for %s", bench->answer.status, cases[i].headers);
        snprintf(request, sizeof request, "GET /health HTTP/1.1\r\nHost: localhost:8080\r\n%s\r\n",
                 cases[i].headers);
        assert_int_equal(bench_say(bench, request), 200);
    }
}

int main(void)
{
#define SERVER(test) cmocka_unit_test_setup_teardown(test, bench_set_up, bench_tear_down)
    const struct CMUnitTest tests[] = {
        SERVER(a_request_of_doubtful_length_is_refused_and_its_connection_closed),
        SERVER(a_long_header_is_refused),
        SERVER(many_headers_are_refused),
        SERVER(a_body_over_one_mebibyte_is_too_large),
        SERVER(a_route_may_allow_larger_bodies),
        SERVER(a_connection_is_kept_for_many_requests),
        SERVER(pipelined_requests_are_answered_in_order),
        SERVER(a_slow_client_is_heard_and_keeps_nobody_waiting),
        SERVER(head_is_answered_without_a_body),
        SERVER(other_paths_and_methods_are_refused_by_name),
        SERVER(a_request_that_means_another_host_is_refused),
        SERVER(a_page_of_another_origin_may_read_but_not_post),
        SERVER(a_silent_connection_is_closed),
        SERVER(a_connection_that_drips_is_cut),
        SERVER(a_reader_that_sips_is_cut),
        SERVER(connections_are_bounded_and_come_back),
        SERVER(connections_of_one_address_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
