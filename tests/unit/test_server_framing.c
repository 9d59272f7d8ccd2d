/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests of which the library and a proxy in front could see different ends. */
#include "serve/listener.h"
#include "server_bench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define OPEN      "POST /api/data/query-open "
#define POST_OPEN OPEN "HTTP/1.1\r\nHost: localhost\r\n"
#define NEXT      "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"

struct words {
    const char *data;
    size_t len;
};

#define WORDS(literal)                                                                             \
    {                                                                                              \
        literal, sizeof literal - 1                                                                \
    }

/* The bytes and a request behind them; the status of the first answer. */
static int say_both(struct bench *bench, const struct words *words)
{
    bench_reconnect(bench);
    http_peer_send(&bench->peer, words->data, words->len);
    http_peer_say(&bench->peer, NEXT);
    http_peer_read(&bench->peer, &bench->answer, false);
    return bench->answer.status;
}

/* To the library a value ends at its first NUL, and a carriage return is a letter of it: what
 * stands behind is seen by others. HTTP/1.0 has no chunks. */
static void a_header_that_hides_a_part_of_itself_ends_the_connection(void **state)
{
    static const struct words requests[] = {
        WORDS(POST_OPEN "Content-Length: 2\0000\r\n\r\n{}"),
        WORDS(POST_OPEN "Content-Length: 2\0000\r\nX: y\r\n\r\n{}"),
        WORDS(POST_OPEN "Content-Length: 2\0\0000\r\n\r\n{}"),
        WORDS(POST_OPEN "Content-Length: 2\0\r\n\r\n{}"),
        WORDS(POST_OPEN "Content-Length: 2\0\r\nX: y\r\n\r\n{}"),
        WORDS(POST_OPEN "Content-Length: 2\0 0\nX: y\r\n\r\n{}"),
        WORDS(POST_OPEN "Content-Length: 2\0000\n\n{}"),
        WORDS(POST_OPEN "X: y\0\r\nContent-Length: 2\r\n\r\n{}"),
        WORDS(POST_OPEN "X: \0Content-Length: 9\r\nContent-Length: 2\r\n\r\n{}"),
        WORDS(POST_OPEN "Transfer-Encoding: chunked\0x\r\n\r\n2\r\n{}\r\n0\r\n\r\n"),
        WORDS(POST_OPEN "X: a\rContent-Length: 9\r\nContent-Length: 2\r\n\r\n{}"),
        WORDS(POST_OPEN "X: a\rTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n{}"),
        WORDS(POST_OPEN "X: a\r\r\nContent-Length: 2\r\n\r\n{}"),
        WORDS(OPEN "HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n"
                   "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"),
        WORDS("GET /health HTTP/1.1\0\r\nHost: localhost\r\n\r\n"),
    };
    struct bench *bench = *state;
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        int status = say_both(bench, &requests[i]);
        if (status != 0 && status != 400 && status != 505)
            fail_msg("request %zu: %d", i, status);
        if (!http_peer_ended(&bench->peer))
            fail_msg("request %zu: %d, and more", i, status);
    }
}

/* Where chunks end, readers differ: some take a line that ends without its carriage return, some a
 * trailer for headers. The request is served, and nothing behind it. */
static void a_body_in_chunks_is_the_last_of_its_connection(void **state)
{
    static const struct words requests[] = {
        WORDS(POST_OPEN "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"),
        WORDS(POST_OPEN "Transfer-Encoding: chunked\r\n\r\n2\n{}\n0\n\n"),
        WORDS(POST_OPEN "Transfer-Encoding: chunked\r\n\r\n2;\n{}\r\n0\r\n\r\n"),
        WORDS(POST_OPEN "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n"
                        "Content-Length: 50\r\n\r\n"),
        WORDS("POST /nothing HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
              "0\r\n\r\n"),
    };
    struct bench *bench = *state;
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        int status = say_both(bench, &requests[i]);
        if (status != 400 && status != 404) /* it names no collection, or no route */
            fail_msg("request %zu: %d", i, status);
        if (status == 400 && i == 0)
            assert_true(bench_says(bench, "collection"));
        assert_true(bench_head_says(bench, "\r\nConnection: close"));
        assert_true(http_peer_ended(&bench->peer));
    }
}

/* In whatever pieces it comes, and however long it is, a head that hides nothing is taken; a line
 * may end without its carriage return. */
static void a_head_in_any_pieces_hides_nothing(void **state)
{
    struct bench *bench = *state;
    bench_reconnect(bench);
    for (size_t round = 0; round < 39; round++) {
        struct text head = {0};
        const char *end = round % 4 == 3 ? "\n" : "\r\n";
        text_appendf(&head, "%sGET /health HTTP/1.1%sHost: localhost%s", round % 5 == 4 ? end : "",
                     end, end);
        for (size_t i = 0; i < round; i++)
            text_appendf(&head, "X-%zu:%*s%s", i, (int)(i * round / 6), i % 3 == 0 ? "" : "y ",
                         end);
        text_append_string(&head, end);
        size_t piece = round % 3 == 0 ? head.len : 1 + round * 7;
        for (size_t at = 0; at < head.len; at += piece)
            http_peer_send(&bench->peer, head.data + at,
                           head.len - at < piece ? head.len - at : piece);
        http_peer_read(&bench->peer, &bench->answer, false);
        if (bench->answer.status != 200)
            fail_msg("round %zu: %d", round, bench->answer.status);
        text_free(&head);
    }
    assert_int_equal(bench_say(bench, "GET /health HTTP/1.0\r\n\r\n"), 200);
}

static int say_head(struct bench *bench, size_t size, int headers)
{
    struct text request = {0};
    text_append_string(&request, "GET /health HTTP/1.1\r\nHost: localhost\r\n");
    for (int i = 2; i < headers; i++)
        text_append_string(&request, "Y: y\r\n");
    text_append_string(&request, "X: ");
    while (request.len < size - 4)
        text_append_char(&request, 'x');
    text_append_string(&request, "\r\n\r\n");
    int status = bench_say(bench, text_string(&request));
    text_free(&request);
    return status;
}

/* The library makes the answer's head of what memory the request's left: without any it says
 * nothing. */
static void a_head_that_leaves_no_room_for_an_answer_is_refused_with_a_word(void **state)
{
    static const int headers[] = {2, 20, 60};
    struct bench *bench = *state;
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        size_t most = LISTENER_HEAD_MAX - (size_t)headers[i] * LISTENER_HEADER_COST;
        for (size_t size = most - 512; size <= most; size += 64)
            if (say_head(bench, size, headers[i]) != 200)
                fail_msg("%d for %zu bytes", bench->answer.status, size);
        for (size_t size = most + 1; size <= most + 320; size += 64) {
            if (say_head(bench, size, headers[i]) != 431)
                fail_msg("%d for %zu bytes", bench->answer.status, size);
            assert_true(bench_says(bench, "{\"success\":false,\"code\":\"HEADERS_TOO_LARGE\""));
            assert_true(http_peer_ended(&bench->peer));
            bench_reconnect(bench);
        }
    }
}

int main(void)
{
#define SERVER(test) cmocka_unit_test_setup_teardown(test, bench_set_up, bench_tear_down)
    const struct CMUnitTest tests[] = {
        SERVER(a_header_that_hides_a_part_of_itself_ends_the_connection),
        SERVER(a_body_in_chunks_is_the_last_of_its_connection),
        SERVER(a_head_in_any_pieces_hides_nothing),
        SERVER(a_head_that_leaves_no_room_for_an_answer_is_refused_with_a_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
