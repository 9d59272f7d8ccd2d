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

int main(void)
{
#define SERVER(test) cmocka_unit_test_setup_teardown(test, bench_set_up, bench_tear_down)
    const struct CMUnitTest tests[] = {
        SERVER(a_whole_address_is_taken_and_its_host_counts),
        SERVER(a_host_of_any_length_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
