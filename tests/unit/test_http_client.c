/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"
#include "script_server.h"
#include "sys/network.h"
#include "tls_script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CALLS_MAX = 64 };

struct bench {
    struct loop *loop;
    struct runtime *runtime;
    struct network *network;
    struct script_server *server;
    const char *answer; /* what the server says to each request; NULL: nothing */
    struct text answer_text;
    script_fn *script; /* instead of the answer */
    bool hang_up;
    struct text heard; /* all requests */
    size_t requests;

    struct http_call *calls[CALLS_MAX];
    size_t told, wanted;
    bool inside;
    /* of the last one told */
    enum rc rc;
    int status;
    int64_t retry_after_ms;
    struct text body, headers, effective_url;
    struct err err;
};

/* ---- the client ---- */

static void on_told(void *arg, const struct http_response *response)
{
    struct bench *bench = arg;
    assert_false(bench->inside);
    bench->rc = response->rc;
    bench->status = response->status;
    bench->err = response->err;
    bench->retry_after_ms = response->retry_after_ms;
    text_clear(&bench->body);
    text_clear(&bench->headers);
    text_clear(&bench->effective_url);
    if (response->rc == RC_OK) {
        for (size_t i = 0; i < ARENA_PAD; i++)
            assert_int_equal(response->body.data[response->body.len + i], 0);
        text_append(&bench->body, response->body.data, response->body.len);
        text_append_string(&bench->headers, "|");
        if (response->headers.len > 0)
            text_append(&bench->headers, response->headers.data, response->headers.len);
    }
    text_append_string(&bench->effective_url, response->effective_url);
    if (++bench->told == bench->wanted)
        loop_stop(bench->loop);
}

static struct http_call *ask(struct bench *bench, const char *path, struct http_request request)
{
    char url[256];
    if (request.url == NULL) {
        assert_non_null(path);
        snprintf(url, sizeof url, "http://127.0.0.1:%u%s", script_server_port(bench->server), path);
        request.url = url;
    }
    bench->inside = true;
    struct http_call *call =
        bench->runtime->ops->http_send(bench->runtime, &request, on_told, bench);
    bench->inside = false;
    assert_non_null(call);
    return call;
}

/* Asks once and waits for the end. */
static void fetch(struct bench *bench, const char *path, struct http_request request)
{
    bench->wanted = bench->told + 1;
    ask(bench, path, request);
    loop_run(bench->loop);
    assert_int_equal(bench->told, bench->wanted);
}

static void assert_says(struct bench *bench, enum rc rc, const char *words)
{
    if (bench->rc != rc || strstr(bench->err.text, words) == NULL)
        fail_msg("%s \"%s\" is not %s \"%s\"", rc_name(bench->rc), bench->err.text, rc_name(rc),
                 words);
}

/* ---- the server ---- */

static void serve(struct script_conn *conn, bool ended)
{
    struct bench *bench = conn->arg;
    if (ended)
        return;
    if (bench->script != NULL) {
        bench->script(conn, ended);
        return;
    }
    size_t len;
    while ((len = script_head_len(conn)) > 0) {
        text_append(&bench->heard, conn->received.data, len);
        script_take(conn, len);
        bench->requests++;
        if (bench->answer_text.len > 0)
            script_send(conn, text_bytes(&bench->answer_text));
        else if (bench->answer != NULL)
            script_say(conn, bench->answer);
        if (bench->hang_up)
            script_hang_up(conn);
    }
}

static int start_with(void **state, struct network_options options)
{
    struct bench *bench = memory_new_zeroed(1, sizeof *bench);
    bench->loop = loop_new();
    bench->runtime = loop_runtime(bench->loop);
    bench->network = network_new(bench->loop, &options);
    bench->server = script_server_new(bench->loop, serve, bench);
    *state = bench;
    return 0;
}

static int start(void **state)
{
    return start_with(state, (struct network_options){0});
}

static int finish(void **state)
{
    struct bench *bench = *state;
    network_free(bench->network);
    script_server_free(bench->server);
    loop_free(bench->loop);
    text_free(&bench->answer_text);
    text_free(&bench->heard);
    text_free(&bench->body);
    text_free(&bench->headers);
    text_free(&bench->effective_url);
    free(bench);
    return 0;
}

/* ---- answers ---- */

static void an_answer_comes_with_status_headers_and_body(void **state)
{
    struct bench *bench = *state;
    bench->answer = "HTTP/1.1 103 Early\r\nX-Early: 1\r\n\r\n"
                    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Rate-Limit:  7 \r\n"
                    "Content-TYPE: text/plain\r\n\r\nhello";
    struct http_header headers[] = {{"Authorization", "Bearer x"}, {"X-Empty", ""}};
    fetch(bench, "/a?b=c", (struct http_request){.headers = headers, .header_count = 2});
    assert_int_equal(bench->rc, RC_OK);
    assert_int_equal(bench->status, 200);
    assert_string_equal(text_string(&bench->body), "hello");
    assert_string_equal(text_string(&bench->headers),
                        "|content-length: 5\r\nx-rate-limit: 7\r\ncontent-type: text/plain\r\n");
    assert_int_equal(bench->retry_after_ms, -1);
    const char *heard = text_string(&bench->heard);
    assert_non_null(strstr(heard, "GET /a?b=c HTTP/1.1\r\n"));
    assert_non_null(strstr(heard, "\r\nUser-Agent: tidemark/"));
    assert_non_null(strstr(heard, "\r\nAuthorization: Bearer x\r\n"));
    assert_non_null(strstr(heard, "\r\nX-Empty:\r\n"));
    assert_non_null(strstr(heard, "\r\nAccept-Encoding: "));
    assert_null(strstr(heard, "Cookie"));
}

static void echo_body(struct script_conn *conn, bool ended)
{
    (void)ended;
    size_t head = script_head_len(conn);
    if (head == 0 || conn->received.len < head + 8)
        return;
    script_say(conn, "HTTP/1.1 201 Created\r\nContent-Length: 13\r\n\r\n");
    script_send(conn, bytes_make(conn->received.data, 5));
    script_send(conn, bytes_make(conn->received.data + head, 8));
}

static void a_body_is_posted_as_it_is(void **state)
{
    struct bench *bench = *state;
    bench->script = echo_body;
    fetch(bench, "/", (struct http_request){.method = "POST", .body = bytes_make("{\"a\":\0}", 8)});
    assert_int_equal(bench->status, 201);
    assert_int_equal(bench->body.len, 13);
    assert_memory_equal(bench->body.data, "POST {\"a\":\0}", 13);
}

static void a_head_request_waits_for_no_body(void **state)
{
    struct bench *bench = *state;
    bench->answer = "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n";
    fetch(bench, "/", (struct http_request){.method = "HEAD"});
    assert_int_equal(bench->status, 200);
    assert_int_equal(bench->body.len, 0);
}

static void an_error_status_is_an_answer(void **state)
{
    struct bench *bench = *state;
    bench->answer = "HTTP/1.1 500 Oops\r\nContent-Length: 3\r\n\r\nbad";
    fetch(bench, "/", (struct http_request){0});
    assert_int_equal(bench->rc, RC_OK);
    assert_int_equal(bench->status, 500);
    assert_string_equal(text_string(&bench->body), "bad");
}

static void retry_after_is_read_in_both_forms(void **state)
{
    static const struct {
        const char *lines;
        int64_t ms;
    } cases[] = {
        {"Retry-After: 120\r\n", 120000},
        {"Retry-After: 0\r\n", 0},
        {"Date: Tue, 01 Jul 2025 10:00:00 GMT\r\nRetry-After: Tue, 01 Jul 2025 10:01:30 GMT\r\n",
         90000},
        {"Retry-After: Tue, 01 Jul 2025 10:00:00 GMT\r\n", 0},
        {"Retry-After: soon\r\n", -1},
        {"Retry-After: 99999999999999\r\n", INT64_C(31536000000)},
        {"", -1},
    };
    struct bench *bench = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        text_clear(&bench->answer_text);
        text_appendf(&bench->answer_text, "HTTP/1.1 429 Slow\r\nContent-Length: 0\r\n%s\r\n",
                     cases[i].lines);
        fetch(bench, "/", (struct http_request){0});
        assert_int_equal(bench->status, 429);
        assert_int_equal(bench->retry_after_ms, cases[i].ms);
    }
}

/* One byte per turn of the loop. */
struct drip {
    struct bench *bench;
    struct script_conn *conn;
    struct timer timer;
    const char *left;
};

static void drip(void *arg)
{
    struct drip *d = arg;
    script_send(d->conn, bytes_make(d->left++, 1));
    if (*d->left != '\0')
        d->bench->runtime->ops->timer_arm(d->bench->runtime, &d->timer, 0);
}

static struct drip dripping;

static void drip_answer(struct script_conn *conn, bool ended)
{
    if (ended || script_head_len(conn) == 0)
        return;
    script_take(conn, script_head_len(conn));
    dripping.bench = conn->arg;
    dripping.conn = conn;
    dripping.timer = (struct timer){.fn = drip, .arg = &dripping};
    drip(&dripping);
}

static void slow_bytes_make_one_answer(void **state)
{
    struct bench *bench = *state;
    bench->script = drip_answer;
    dripping = (struct drip){.left = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                                     "3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n"};
    fetch(bench, "/", (struct http_request){0});
    assert_int_equal(bench->status, 200);
    assert_string_equal(text_string(&bench->body), "abcdefg");
}

/* ---- trouble ---- */

static void a_truncated_body_is_no_answer(void **state)
{
    struct bench *bench = *state;
    bench->hang_up = true;
    bench->answer = "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nonly this";
    fetch(bench, "/", (struct http_request){0});
    assert_says(bench, RC_RETRY, "127.0.0.1: ");
    bench->answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nonly";
    fetch(bench, "/", (struct http_request){0});
    assert_says(bench, RC_RETRY, "127.0.0.1: ");
}

static void garbage_is_no_answer(void **state)
{
    struct bench *bench = *state;
    bench->hang_up = true;
    static const char bad_gzip[] = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
                                   "Content-Length: 9\r\n\r\nnot gzip!";
    static const char *const answers[] = {"SSH-2.0-OpenSSH_9.2\r\n", "\x01\x02\x03\x04", "",
                                          "HTTP/1.1 banana\r\n\r\n", bad_gzip};
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        bench->answer = answers[i];
        fetch(bench, "/", (struct http_request){0});
        assert_says(bench, RC_RETRY, "127.0.0.1: ");
    }
}

static void a_refused_connection_is_no_answer(void **state)
{
    struct bench *bench = *state;
    char url[64];
    struct script_server *gone = script_server_new(bench->loop, serve, bench);
    snprintf(url, sizeof url, "http://127.0.0.1:%u/", script_server_port(gone));
    script_server_free(gone);
    fetch(bench, NULL, (struct http_request){.url = url});
    assert_says(bench, RC_RETRY, "onnect");
}

static void a_server_that_says_nothing_is_left_after_its_time(void **state)
{
    struct bench *bench = *state;
    fetch(bench, "/", (struct http_request){.total_ms_max = 40});
    assert_says(bench, RC_RETRY, "timed out");
    bench->answer = "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nonly this";
    fetch(bench, "/", (struct http_request){.total_ms_max = 40});
    assert_says(bench, RC_RETRY, "timed out");
}

static void a_body_over_the_cap_is_refused(void **state)
{
    struct bench *bench = *state;
    bench->answer = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789";
    fetch(bench, "/", (struct http_request){.body_bytes_max = 9});
    assert_says(bench, RC_REJECT, "over 9 bytes");
    fetch(bench, "/", (struct http_request){.body_bytes_max = 10});
    assert_int_equal(bench->rc, RC_OK);
    assert_int_equal(bench->body.len, 10);
}

static void endless_headers_are_refused(void **state)
{
    struct bench *bench = *state;
    text_append_string(&bench->answer_text, "HTTP/1.1 200 OK\r\n");
    while (bench->answer_text.len < 80000)
        text_append_string(&bench->answer_text, "X-More: and more and more and more\r\n");
    fetch(bench, "/", (struct http_request){0});
    assert_says(bench, RC_REJECT, "headers are over");
}

/* ---- admission ---- */

static void hold(struct script_conn *conn, bool ended)
{
    struct bench *bench = conn->arg;
    if (ended || conn->step != 0 || script_head_len(conn) == 0)
        return;
    conn->step = 1;
    if (++bench->requests == 3)
        loop_stop(bench->loop);
}

static int start_narrow(void **state)
{
    return start_with(state,
                      (struct network_options){.http_host_calls_max = 3, .http_queue_max = 5});
}

static void a_host_gets_only_so_many_at_once(void **state)
{
    struct bench *bench = *state;
    const struct runtime_ops *ops = bench->runtime->ops;
    bench->script = hold;
    bench->wanted = 1;
    for (size_t i = 0; i < 8; i++)
        bench->calls[i] = ask(bench, "/", (struct http_request){0});
    loop_run(bench->loop);
    assert_int_equal(bench->requests, 3);
    assert_int_equal(script_server_accepted(bench->server), 3);
    /* Three are under way and five wait: the ninth is one too many. */
    ask(bench, "/", (struct http_request){0});
    loop_run(bench->loop);
    assert_says(bench, RC_RETRY, "queue full");
    bench->wanted = 2;
    for (size_t i = 0; i < 8; i++)
        ops->http_cancel(bench->runtime, bench->calls[i]);
    bench->script = NULL;
    bench->answer = "HTTP/1.1 204 No\r\n\r\n";
    ask(bench, "/", (struct http_request){0});
    loop_run(bench->loop);
    assert_int_equal(bench->status, 204);
    assert_int_equal(bench->told, 2);
}

static void all_that_wait_get_their_turn(void **state)
{
    struct bench *bench = *state;
    bench->answer = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
    bench->wanted = 8;
    for (size_t i = 0; i < 8; i++)
        ask(bench, "/", (struct http_request){0});
    loop_run(bench->loop);
    assert_int_equal(bench->told, 8);
    assert_int_equal(bench->requests, 8);
    assert_true(script_server_accepted(bench->server) <= 3);
}

static void a_cancelled_exchange_calls_nobody(void **state)
{
    struct bench *bench = *state;
    const struct runtime_ops *ops = bench->runtime->ops;
    struct http_call *call = ask(bench, "/", (struct http_request){0});
    ops->http_cancel(bench->runtime, call);
    call = ask(bench, NULL, (struct http_request){.url = "nonsense://x"});
    ops->http_cancel(bench->runtime, call);
    bench->answer = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
    fetch(bench, "/", (struct http_request){0});
    assert_int_equal(bench->told, 1);
    ask(bench, "/", (struct http_request){0}); /* left to the network's end */
}

static void an_unusable_request_is_told_from_a_later_turn(void **state)
{
    struct bench *bench = *state;
    static const char *const urls[] = {"",        "file:///etc/passwd", "ftp://127.0.0.1/",
                                       "http://", "http://a b/",        "gopher://127.0.0.1:70/x"};
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        fetch(bench, NULL, (struct http_request){.url = urls[i]});
        assert_says(bench, RC_REJECT, "address");
    }
    struct http_header header = {"X-Test", "a\r\nX-Evil: b"};
    fetch(bench, "/", (struct http_request){.headers = &header, .header_count = 1});
    assert_says(bench, RC_REJECT, "line break");
}

static void a_certificate_nobody_signed_is_refused(void **state)
{
    struct bench *bench = *state;
    char url[64];
    struct tls_script *tls = tls_script_new();
    snprintf(url, sizeof url, "https://127.0.0.1:%u/", tls_script_port(tls));
    fetch(bench, NULL, (struct http_request){.url = url});
    assert_says(bench, RC_RETRY, "self-signed certificate");
    tls_script_free(tls);
}

static void a_stranger_cannot_name_this_machine(void **state)
{
    struct bench *bench = *state;
    static const char *const urls[] = {"http://127.0.0.1/",
                                       "http://localhost/",
                                       "http://[::1]/",
                                       "http://127.1/",
                                       "http://0x7f.0.0.1/",
                                       "http://2130706433/",
                                       "http://0/",
                                       "http://[::ffff:7f00:1]/",
                                       "http://[::127.0.0.1]/",
                                       "http://LOCALHOST/",
                                       "https://169.254.169.254/",
                                       "http://[64:ff9b::a00:1]/",
                                       "http://10.0.0.1:443/x",
                                       "https://[fe80::1%25lo]:80/"};
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        fetch(bench, NULL, (struct http_request){.url = urls[i], .stranger = true});
        assert_says(bench, RC_REJECT, "not public");
    }
    fetch(bench, "/", (struct http_request){.stranger = true});
    assert_says(bench, RC_REJECT, "is not allowed");
    fetch(bench, NULL, (struct http_request){.url = "http://a:b@127.0.0.1/", .stranger = true});
    assert_says(bench, RC_REJECT, "not a usable address");
    assert_int_equal(script_server_accepted(bench->server), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, finish)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_answer_comes_with_status_headers_and_body),
        TEST(a_body_is_posted_as_it_is),
        TEST(a_head_request_waits_for_no_body),
        TEST(an_error_status_is_an_answer),
        TEST(retry_after_is_read_in_both_forms),
        TEST(slow_bytes_make_one_answer),
        TEST(a_truncated_body_is_no_answer),
        TEST(garbage_is_no_answer),
        TEST(a_refused_connection_is_no_answer),
        TEST(a_server_that_says_nothing_is_left_after_its_time),
        TEST(a_body_over_the_cap_is_refused),
        TEST(endless_headers_are_refused),
        cmocka_unit_test_setup_teardown(a_host_gets_only_so_many_at_once, start_narrow, finish),
        cmocka_unit_test_setup_teardown(all_that_wait_get_their_turn, start_narrow, finish),
        TEST(a_cancelled_exchange_calls_nobody),
        TEST(an_unusable_request_is_told_from_a_later_turn),
        TEST(a_certificate_nobody_signed_is_refused),
        TEST(a_stranger_cannot_name_this_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
