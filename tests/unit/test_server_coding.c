/* SPDX-License-Identifier: Apache-2.0
 *
 * Large answers, made smaller for who asks for that; files that nobody fetches twice. */
#include "serve/coding.h"
#include "server_bench.h"

#include <pthread.h>
#include <zlib.h>
#include <zstd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void the_best_coding_that_is_accepted_is_chosen(void **state)
{
    static const struct {
        const char *accepted;
        enum coding coding;
    } cases[] = {
        {NULL, CODING_NONE},
        {"", CODING_NONE},
        {"gzip", CODING_GZIP},
        {"GZIP", CODING_GZIP},
        {"gzip, deflate, br, zstd", CODING_ZSTD},
        {"zstd, gzip", CODING_ZSTD},
        {"deflate, br", CODING_NONE},
        {"gzip;q=0", CODING_NONE},
        {"gzip;q=0.0, zstd;q=0.000", CODING_NONE},
        {"gzip;q=0.001", CODING_GZIP},
        {"zstd;q=0.5, gzip;q=0.8", CODING_GZIP},
        {"zstd;q=0.8,gzip;q=0.8", CODING_ZSTD},
        {"zstd; q=0, gzip ; q = 1.0", CODING_GZIP},
        {"gzip;q=x", CODING_NONE},
        {"xgzip, gzipx, x-gzip", CODING_NONE},
        {"*", CODING_NONE},
        {",,,gzip", CODING_GZIP},
        {"identity", CODING_NONE},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (coding_choose(cases[i].accepted) != cases[i].coding)
            fail_msg("%s: %s", cases[i].accepted, coding_name(coding_choose(cases[i].accepted)));
}

/* What would get larger stays as it is. */
static void what_has_no_pattern_is_left_alone(void **state)
{
    char noise[4096];
    uint64_t chance = 88172645463325252;
    struct text out = {0};
    (void)state;
    for (size_t i = 0; i < sizeof noise; i++) {
        chance ^= chance << 13, chance ^= chance >> 7, chance ^= chance << 17;
        noise[i] = (char)chance;
    }
    assert_false(coding_apply(CODING_GZIP, bytes_make(noise, sizeof noise), &out));
    assert_false(coding_apply(CODING_ZSTD, bytes_make(noise, sizeof noise), &out));
    assert_int_equal(out.len, 0);
    text_free(&out);
}

/* ---- on the wire ---- */

static char handle_body[64];

/* A page of a query, whose reply is large. */
static int ask_page(struct bench *bench, const char *accept)
{
    char request[512];
    snprintf(request, sizeof request,
             "POST /api/data/query-next HTTP/1.1\r\nHost: localhost\r\n%s"
             "Content-Length: %zu\r\n\r\n%s",
             accept, strlen(handle_body), handle_body);
    return bench_say(bench, request);
}

static void open_page(struct bench *bench)
{
    char handle[37];
    bench_open_query(bench, "{\"collection\":\"posts\",\"pageSize\":300}", handle);
    snprintf(handle_body, sizeof handle_body, "{\"queryHandle\":\"%s\",\"page\":0}", handle);
}

static void decode(struct bench *bench, struct text *out)
{
    struct text *body = &bench->answer.body;
    char *to = text_reserve(out, 1 << 20);
    if (bench_head_says(bench, "\r\nContent-Encoding: gzip\r\n")) {
        z_stream stream = {.next_in = (Bytef *)body->data,
                           .avail_in = (uInt)body->len,
                           .next_out = (Bytef *)to,
                           .avail_out = 1 << 20};
        assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
        assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
        out->len = stream.total_out;
        inflateEnd(&stream);
    } else {
        assert_true(bench_head_says(bench, "\r\nContent-Encoding: zstd\r\n"));
        out->len = ZSTD_decompress(to, 1 << 20, body->data, body->len);
        assert_false(ZSTD_isError(out->len));
    }
}

static void a_large_answer_is_made_smaller_for_who_asks(void **state)
{
    static const char *const accepts[] = {"Accept-Encoding: gzip\r\n",
                                          "Accept-Encoding: gzip, zstd\r\n"};
    struct bench *bench = *state;
    struct text plain = {0};
    open_page(bench);
    assert_int_equal(ask_page(bench, ""), 200);
    assert_false(bench_head_says(bench, "Content-Encoding"));
    assert_true(bench_head_says(bench, "\r\nVary: Accept-Encoding\r\n"));
    text_append(&plain, bench->answer.body.data, bench->answer.body.len);
    for (int i = 0; i < 2; i++) {
        struct text decoded = {0};
        assert_int_equal(ask_page(bench, accepts[i]), 200);
        assert_true(bench->answer.body.len * 4 < plain.len);
        assert_true(bench_head_says(bench, "\r\nVary: Accept-Encoding\r\n"));
        decode(bench, &decoded);
        assert_true(bytes_equal(text_bytes(&decoded), text_bytes(&plain)));
        text_free(&decoded);
    }
    assert_int_equal(bench_get(bench, "/health"), 200); /* the connection goes on */
    text_free(&plain);
}

static void a_small_answer_and_a_refusal_stay_as_they_are(void **state)
{
    struct bench *bench = *state;
    static const char *const requests[] = {
        "GET /health HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n",
        "GET /nothing HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        bench_say(bench, requests[i]);
        assert_false(bench_head_says(bench, "Content-Encoding"));
        assert_true(bench_says(bench, "{\""));
    }
}

/* Each is packed while others are: none gets another's. */
static void packed_answers_do_not_mix(void **state)
{
    struct bench *bench = *state;
    struct http_peer peers[8];
    char request[512];
    open_page(bench);
    assert_int_equal(ask_page(bench, "Accept-Encoding: gzip\r\n"), 200);
    for (int i = 0; i < 8; i++) {
        http_peer_connect(&peers[i], server_port(bench->server, LISTENER_MAIN));
        snprintf(request, sizeof request,
                 "GET %s HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n",
                 i % 2 == 0 ? "/large" : "/larger");
        http_peer_say(&peers[i], request);
    }
    for (int i = 0; i < 8; i++) {
        struct text decoded = {0};
        http_peer_read(&peers[i], &bench->answer, false);
        assert_int_equal(bench->answer.status, 200);
        decode(bench, &decoded);
        assert_int_equal(decoded.len, i % 2 == 0 ? BENCH_LARGE : 2 * BENCH_LARGE);
        text_free(&decoded);
        http_peer_close(&peers[i]);
    }
}

static void *stop_server(void *arg)
{
    struct bench *bench = arg;
    server_stop(bench->server);
    server_free(bench->server);
    return NULL;
}

/* What is being packed when the time is over is sent all the same. */
static void a_drain_sends_what_is_being_packed(void **state)
{
    struct bench *bench = *state;
    struct http_peer waiting[4];
    pthread_t stopping;
    bench->options.drain_us_max = 1;
    bench_restart(bench);
    for (int i = 0; i < 4; i++) {
        http_peer_connect(&waiting[i], server_port(bench->server, LISTENER_MAIN));
        http_peer_say(&waiting[i], "GET /slow-large HTTP/1.1\r\nHost: localhost\r\n"
                                   "Accept-Encoding: gzip\r\n\r\n");
    }
    sem_wait(&bench->entered);
    sem_wait(&bench->entered);
    assert_int_equal(pthread_create(&stopping, NULL, stop_server, bench), 0);
    for (int i = 0; i < 4; i++)
        sem_post(&bench->leave);
    int served = 0;
    for (int i = 0; i < 4; i++) {
        http_peer_read(&waiting[i], &bench->answer, false);
        served += bench->answer.status == 200;
        http_peer_close(&waiting[i]);
    }
    pthread_join(stopping, NULL);
    bench->server = NULL;
    assert_true(served >= 2);
}

/* ---- files ---- */

static int ask_file(struct bench *bench, const char *headers)
{
    char request[256];
    snprintf(request, sizeof request, "GET /file HTTP/1.1\r\nHost: localhost\r\n%s\r\n", headers);
    return bench_say(bench, request);
}

/* What 304 says of the file is what 200 would say, its length and its tag; RFC 9110, 8.6. */
static void what_is_the_same_is_as_long_as_it_would_be(void **state)
{
    static const char *const accepts[] = {"", "Accept-Encoding: gzip\r\n",
                                          "Accept-Encoding: zstd\r\n"};
    struct bench *bench = *state;
    char headers[128], length[64], tag[64];
    for (size_t i = 0; i < sizeof accepts / sizeof accepts[0]; i++) {
        assert_int_equal(ask_file(bench, accepts[i]), 200);
        snprintf(length, sizeof length, "\r\nContent-Length: %zu\r\n", bench->answer.body.len);
        snprintf(tag, sizeof tag, "\r\nETag: %s\"file-1\"\r\n", i == 0 ? "" : "W/");
        assert_true(bench_head_says(bench, length));
        assert_true(bench_head_says(bench, tag));
        snprintf(headers, sizeof headers, "%sIf-None-Match: \"file-1\"\r\n", accepts[i]);
        assert_int_equal(ask_file(bench, headers), 304);
        assert_true(bench_head_says(bench, length));
        assert_true(bench_head_says(bench, tag));
        assert_true(bench_head_says(bench, "\r\nVary: Accept-Encoding\r\n"));
        assert_false(bench_head_says(bench, "\r\nContent-Type:"));
        assert_false(bench_head_says(bench, "\r\nContent-Encoding:"));
        assert_false(bench_head_says(bench, "\r\nTransfer-Encoding:"));
    }
    /* The connection goes on, and nothing came behind any of the heads. */
    assert_int_equal(bench_get(bench, "/health"), 200);
    assert_int_equal(bench->peer.in.len, 0);
}

static void who_has_a_file_is_told_that_it_is_the_same(void **state)
{
    static const char *const fresh[] = {
        "If-None-Match: \"file-1\"\r\n", "If-None-Match: W/\"file-1\"\r\n",
        "If-None-Match: \"a\", \"file-1\" , \"b\"\r\n", "If-None-Match: *\r\n",
        "If-None-Match: \"file-1\"\r\nAccept-Encoding: gzip\r\n"};
    static const char *const stale[] = {"",
                                        "If-None-Match: \"file-2\"\r\n",
                                        "If-None-Match: file-1\r\n",
                                        "If-None-Match: \"file-1\r\n",
                                        "If-None-Match: \r\n",
                                        "If-None-Match: W/\r\n",
                                        "If-None-Match: \"file-1\"x\r\n"};
    struct bench *bench = *state;
    for (size_t i = 0; i < sizeof fresh / sizeof fresh[0]; i++) {
        assert_int_equal(ask_file(bench, fresh[i]), 304);
        assert_int_equal(bench->answer.body.len, 0);
        assert_true(bench_head_says(bench, "\"file-1\"\r\n"));
        assert_true(bench_head_says(bench, "\r\nCache-Control: no-cache\r\n"));
    }
    for (size_t i = 0; i < sizeof stale / sizeof stale[0]; i++) {
        if (ask_file(bench, stale[i]) != 200)
            fail_msg("%d for %s", bench->answer.status, stale[i]);
        assert_int_equal(bench->answer.body.len, BENCH_LARGE);
        assert_true(bench_head_says(bench, "\r\nETag: \"file-1\"\r\n"));
    }
    assert_int_equal(ask_file(bench, "Accept-Encoding: gzip\r\n"), 200);
    assert_true(bench_head_says(bench, "\r\nETag: W/\"file-1\"\r\n"));
    assert_int_equal(bench_get(bench, "/health"), 200);
    assert_true(bench_head_says(bench, "\r\nCache-Control: no-store\r\n"));
    assert_false(bench_head_says(bench, "ETag"));
}

int main(void)
{
#define SERVER(test) cmocka_unit_test_setup_teardown(test, bench_set_up_392, bench_tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_coding_that_is_accepted_is_chosen),
        cmocka_unit_test(what_has_no_pattern_is_left_alone),
        SERVER(a_large_answer_is_made_smaller_for_who_asks),
        SERVER(a_small_answer_and_a_refusal_stay_as_they_are),
        SERVER(packed_answers_do_not_mix),
        SERVER(a_drain_sends_what_is_being_packed),
        SERVER(who_has_a_file_is_told_that_it_is_the_same),
        SERVER(what_is_the_same_is_as_long_as_it_would_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
