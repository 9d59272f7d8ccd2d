/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a request was meant to go, and as what. */
#include "server_bench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* RFC 9112, 3.2.2: the address may be whole; what it names counts then, and Host does not. */
static void a_whole_address_is_taken_and_its_host_counts(void **state)
{
    static const struct {
        const char *target, *headers;
        int status;
    } cases[] = {
        {"http://localhost/health", "Host: localhost\r\n", 200},
        {"HTTP://127.0.0.1:8080/health?x=http://evil.example/", "Host: localhost\r\n", 200},
        {"https://[::1]/health", "Host: localhost\r\n", 200},
        {"http://localhost/health", "Host: evil.example\r\n", 200},
        {"http://localhost/", "Host: localhost\r\n", 404}, /* no page here, as at / */
        {"http://localhost", "Host: localhost\r\n", 404},
        {"http://localhost?x=1", "Host: localhost\r\n", 404},
        {"http://localhost/nothing", "Host: localhost\r\n", 404},
        {"http://evil.example/health", "Host: localhost\r\n", 403},
        {"http://localhost@evil.example/health", "Host: localhost\r\n", 403},
        {"http://evil.example#@localhost/health", "Host: localhost\r\n", 403},
        {"http://localhost\\evil.example/health", "Host: localhost\r\n", 403},
        {"http:///health", "Host: localhost\r\n", 400},
        {"ftp://localhost/health", "Host: localhost\r\n", 404},
        {"http:/localhost/health", "Host: localhost\r\n", 404},
        {"//localhost/health", "Host: localhost\r\n", 404},
    };
    struct bench *bench = *state;
    char request[512];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        snprintf(request, sizeof request, "GET %s HTTP/1.1\r\n%s\r\n", cases[i].target,
                 cases[i].headers);
        if (bench_say(bench, request) != cases[i].status)
            fail_msg("%d for %s", bench->answer.status, cases[i].target);
    }
    /* Without a path it is the first page's, which nobody posts to. */
    assert_int_equal(bench_say(bench, "POST http://localhost HTTP/1.1\r\nHost: localhost\r\n"
                                      "Content-Length: 0\r\n\r\n"),
                     405);
    assert_true(bench_says(bench, "/ takes GET, HEAD"));
    /* A page is of the host that was asked, not of the one that Host names. */
    assert_int_equal(
        bench_say(
            bench,
            "POST http://localhost:8080/api/data/query-open HTTP/1.1\r\nHost: localhost:9\r\n"
            "Origin: http://localhost:9\r\nContent-Length: 22\r\n\r\n{\"collection\":\"posts\"}"),
        403);
    assert_int_equal(
        bench_say(bench,
                  "POST http://localhost:8080/api/data/query-open HTTP/1.1\r\nHost: localhost:9\r\n"
                  "Origin: http://localhost:8080\r\nContent-Length: "
                  "22\r\n\r\n{\"collection\":\"posts\"}"),
        200);
}

static void a_host_of_any_length_is_refused(void **state)
{
    struct bench *bench = *state;
    struct text request = {0};
    text_append_string(&request, "GET http://localhost");
    for (int i = 0; i < 1000; i++)
        text_append_char(&request, 'x');
    text_append_string(&request, "/health HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_int_equal(bench_say(bench, text_string(&request)), 400);
    text_free(&request);
}

#define KEY     "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
#define LOCAL   "Host: localhost\r\n"
#define ASKS    "Connection: Upgrade\r\nUpgrade: websocket\r\n"
#define VERSION "Sec-WebSocket-Version: 13\r\n"

/* A list may be in one line or in many; RFC 9110, 5.3. */
static void a_websocket_may_be_asked_for_in_many_lines(void **state)
{
    static const char *const requests[] = {
        "GET /api/ws HTTP/1.1\r\n" LOCAL ASKS VERSION KEY "\r\n",
        "GET /api/ws HTTP/1.1\r\n" LOCAL "Connection: keep-alive\r\n" ASKS VERSION KEY "\r\n",
        "GET /api/ws HTTP/1.1\r\n" LOCAL ASKS "connection: keep-alive\r\n" VERSION KEY "\r\n",
        "GET /api/ws HTTP/1.1\r\n" LOCAL "Upgrade: other\r\n" ASKS VERSION KEY "\r\n",
    };
    struct bench *bench = *state;
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        bench_reconnect(bench);
        http_peer_say(&bench->peer, requests[i]);
        http_peer_read(&bench->peer, &bench->answer, true);
        if (bench->answer.status != 101)
            fail_msg("%d for %s", bench->answer.status, requests[i]);
        assert_true(bench_head_says(bench, "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    }
}

static void what_cannot_become_a_websocket_is_told_so(void **state)
{
    static const struct {
        const char *request;
        int status;
    } cases[] = {
        {"HEAD /api/ws HTTP/1.1\r\n" LOCAL ASKS VERSION KEY "\r\n", 405},
        {"GET /api/ws HTTP/1.0\r\n" LOCAL ASKS VERSION KEY "\r\n", 400},
        {"GET /api/ws HTTP/1.1\r\n" LOCAL ASKS "Sec-WebSocket-Version: 8\r\n" KEY "\r\n", 426},
        {"GET /api/ws HTTP/1.1\r\n" LOCAL ASKS KEY "\r\n", 400},
        {"GET /api/ws HTTP/1.1\r\n" LOCAL ASKS VERSION "\r\n", 400},
        {"GET /api/ws HTTP/1.1\r\n" LOCAL "Connection: x\r\nUpgrade: websocket\r\n" VERSION KEY
         "\r\n",
         400},
    };
    struct bench *bench = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bench_reconnect(bench);
        http_peer_say(&bench->peer, cases[i].request);
        http_peer_read(&bench->peer, &bench->answer, cases[i].status == 405);
        if (bench->answer.status != cases[i].status)
            fail_msg("%d for %s", bench->answer.status, cases[i].request);
        if (cases[i].status == 405)
            assert_true(bench_head_says(bench, "\r\nAllow: GET\r\n"));
        else
            assert_true(bench_says(bench, "\"code\":\"BAD_REQUEST\""));
        /* Who speaks another version hears which one is spoken, and may ask again. */
        bool other = cases[i].status == 426;
        assert_true(bench_head_says(bench, "\r\nSec-WebSocket-Version: 13\r\n") == other);
        assert_true(bench_head_says(bench, "\r\nUpgrade: websocket\r\n") == other);
        if (other)
            assert_int_equal(bench_get(bench, "/health"), 200);
    }
}

int main(void)
{
#define SERVER(test) cmocka_unit_test_setup_teardown(test, bench_set_up, bench_tear_down)
    const struct CMUnitTest tests[] = {
        SERVER(a_whole_address_is_taken_and_its_host_counts),
        SERVER(a_host_of_any_length_is_refused),
        SERVER(a_websocket_may_be_asked_for_in_many_lines),
        SERVER(what_cannot_become_a_websocket_is_told_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
