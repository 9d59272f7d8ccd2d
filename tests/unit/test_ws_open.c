/* SPDX-License-Identifier: Apache-2.0 */
#include "script_server.h"
#include "sys/network.h"
#include "sys/ws_upgrade.h"
#include "tls_script.h"
#include "ws_script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct bench {
    struct loop *loop;
    struct runtime *runtime;
    struct network *network;
    struct script_server *server;
    const char *answer; /* sent when the request is there; "%s" stands for the right accept */
    bool hang_up, reset;
    struct ws *ws;
    bool inside;
    int opened, closed, status;
    int64_t wait_ms; /* that the refusal asked for; -1: it did not */
    struct text log, body;
    struct err why;
};

static void on_opened(void *arg)
{
    struct bench *bench = arg;
    bench->opened++;
}

static void on_message(void *arg, bool binary, struct bytes payload)
{
    struct bench *bench = arg;
    (void)binary;
    text_append(&bench->log, payload.data, payload.len);
}

static void on_closed(void *arg, int status, struct bytes body, const struct err *why)
{
    struct bench *bench = arg;
    assert_false(bench->inside);
    bench->closed++;
    bench->status = status;
    bench->why = *why;
    if (body.len > 0)
        text_append(&bench->body, body.data, body.len);
    loop_stop(bench->loop);
}

static void on_refused(void *arg, int64_t retry_after_ms)
{
    struct bench *bench = arg;
    assert_int_equal(bench->wait_ms, -1); /* once, and before it is closed */
    assert_int_equal(bench->closed, 0);
    bench->wait_ms = retry_after_ms;
}

static void serve(struct script_conn *conn, bool ended)
{
    struct bench *bench = conn->arg;
    if (ended || conn->step != 0 || script_head_len(conn) == 0)
        return;
    conn->step = 1;
    struct text out = {0};
    const char *mark = strstr(bench->answer, "%s");
    if (mark != NULL) {
        text_append(&out, bench->answer, (size_t)(mark - bench->answer));
        ws_script_put_accept(&out, conn);
        text_append_string(&out, mark + 2);
    } else {
        text_append_string(&out, bench->answer);
    }
    script_send(conn, text_bytes(&out));
    text_free(&out);
    if (bench->hang_up)
        script_hang_up(conn);
    if (bench->reset)
        script_reset(conn);
}

static int start(void **state)
{
    struct bench *bench = memory_new_zeroed(1, sizeof *bench);
    bench->loop = loop_new();
    bench->runtime = loop_runtime(bench->loop);
    bench->network = network_new(bench->loop, &(struct network_options){0});
    bench->server = script_server_new(bench->loop, serve, bench);
    bench->answer = "";
    *state = bench;
    return 0;
}

static int finish(void **state)
{
    struct bench *bench = *state;
    network_free(bench->network);
    script_server_free(bench->server);
    loop_free(bench->loop);
    text_free(&bench->log);
    text_free(&bench->body);
    free(bench);
    return 0;
}

static void open_url(struct bench *bench, const char *url, struct ws_request request)
{
    static const struct ws_events events = {
        .opened = on_opened, .message = on_message, .closed = on_closed, .refused = on_refused};
    request.url = url;
    bench->wait_ms = -1;
    bench->inside = true;
    bench->ws = bench->runtime->ops->ws_open(bench->runtime, &request, &events, bench);
    bench->inside = false;
}

/* Opens a connection that the server answers with `answer`; returns when it is closed. */
static void try_open(struct bench *bench, const char *answer, struct ws_request request)
{
    char url[64];
    bench->answer = answer;
    snprintf(url, sizeof url, "ws://127.0.0.1:%u/", script_server_port(bench->server));
    open_url(bench, url, request);
    loop_run(bench->loop);
    assert_int_equal(bench->closed, 1);
}

static void assert_says(struct bench *bench, const char *words)
{
    if (strstr(bench->why.text, words) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", bench->why.text, words);
}

/* ---- refusals ---- */

static void a_refusal_gives_its_status_and_body(void **state)
{
    struct bench *bench = *state;
    try_open(bench,
             "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\ncontent-length: 14\r\n\r\n"
             "invalid cursor",
             (struct ws_request){0});
    assert_int_equal(bench->opened, 0);
    assert_int_equal(bench->status, 400);
    assert_string_equal(text_string(&bench->body), "invalid cursor");
    assert_says(bench, "HTTP status 400");
}

static void a_chunked_refusal_is_joined(void **state)
{
    struct bench *bench = *state;
    try_open(bench,
             "HTTP/1.1 503 Not Ready\r\nTransfer-Encoding: chunked\r\n\r\n"
             "4\r\nwait\r\na;x=y\r\n and retry\r\n0\r\n\r\n",
             (struct ws_request){0});
    assert_int_equal(bench->status, 503);
    assert_string_equal(text_string(&bench->body), "wait and retry");
}

static void a_refusal_that_ends_with_the_connection_is_read(void **state)
{
    struct bench *bench = *state;
    bench->hang_up = true;
    try_open(bench, "HTTP/1.0 502 Bad Gateway\r\n\r\nno upstream", (struct ws_request){0});
    assert_int_equal(bench->status, 502);
    assert_string_equal(text_string(&bench->body), "no upstream");
}

static void a_refusal_that_never_ends_is_cut_at_the_deadline(void **state)
{
    struct bench *bench = *state;
    try_open(bench, "HTTP/1.1 429 Slow Down\r\nContent-Length: 99\r\n\r\npart",
             (struct ws_request){.connect_ms_max = 1000});
    assert_int_equal(bench->status, 429);
    assert_string_equal(text_string(&bench->body), "part");
}

/* Named in seconds or as a date, in the head only. */
static void a_refusal_says_how_long_to_wait(void **state)
{
    static const struct {
        const char *head, *body;
        int64_t wait_ms;
    } answers[] = {
        {"HTTP/1.1 429 Slow Down\r\nretry-AFTER: 3600\r\n", "", 3600000},
        {"HTTP/1.1 503 Later\r\nDate: Mon, 16 Nov 2026 10:00:00 GMT\r\n"
         "Retry-After: Mon, 16 Nov 2026 10:01:30 GMT\r\n",
         "", 90000},
        {"HTTP/1.1 429 Slow Down\r\n", "\r\nRetry-After: 3600\r\n", -1},
        {"HTTP/1.1 429 Slow Down\r\nRetry-After: soon\r\n", "", -1},
    };
    struct bench *bench = *state;
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        char answer[256];
        snprintf(answer, sizeof answer, "%sContent-Length: %zu\r\n\r\n%s", answers[i].head,
                 strlen(answers[i].body), answers[i].body);
        bench->closed = 0;
        try_open(bench, answer, (struct ws_request){0});
        assert_int_equal(bench->wait_ms, answers[i].wait_ms);
    }
}

static void only_the_first_bytes_of_a_long_refusal_are_kept(void **state)
{
    struct bench *bench = *state;
    struct text answer = {0};
    text_append_string(&answer, "HTTP/1.1 500 Oops\r\n\r\n");
    for (int i = 0; i < 5000; i++)
        text_append_char(&answer, 'x');
    try_open(bench, text_string(&answer), (struct ws_request){0});
    text_free(&answer);
    assert_int_equal(bench->status, 500);
    assert_int_equal(bench->body.len, WS_UPGRADE_BODY_MAX);
}

static void an_answer_that_does_not_switch_properly_is_refused(void **state)
{
    static const struct {
        const char *answer, *says;
    } cases[] = {
        {"HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
         "Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\n",
         "does not match our key"},
        {"HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
         "does not match our key"},
        {"HTTP/1.1 101 X\r\nUpgrade: h2c\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "
         "%s\r\n\r\n",
         "did not switch"},
        {"HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: close\r\n"
         "Sec-WebSocket-Accept: %s\r\n\r\n",
         "did not switch"},
        {"HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
         "Sec-WebSocket-Extensions: permessage-deflate\r\nSec-WebSocket-Accept: %s\r\n\r\n",
         "did not offer"},
        {"SSH-2.0-OpenSSH_9.2\r\n", "not HTTP/1.1"},
        {"HTTP/1.1 abc\r\n\r\n", "no HTTP status"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bench *bench = *state;
        try_open(bench, cases[i].answer, (struct ws_request){0});
        assert_int_equal(bench->status, 0);
        assert_int_equal(bench->opened, 0);
        assert_says(bench, cases[i].says);
        finish(state);
        start(state);
    }
}

static void a_head_without_end_is_refused(void **state)
{
    struct bench *bench = *state;
    struct text answer = {0};
    text_append_string(&answer, "HTTP/1.1 101 X\r\n");
    while (answer.len < 3 * WS_UPGRADE_HEAD_MAX)
        text_append_string(&answer, "X-More: and more\r\n");
    try_open(bench, text_string(&answer), (struct ws_request){0});
    text_free(&answer);
    assert_says(bench, "head is over");
}

/* ---- no answer ---- */

static void a_server_that_hangs_up_during_the_upgrade_is_told(void **state)
{
    struct bench *bench = *state;
    bench->hang_up = true;
    try_open(bench, "", (struct ws_request){0});
    assert_says(bench, "hung up during the upgrade");
    finish(state);
    start(state);
    bench = *state;
    bench->reset = true;
    try_open(bench, "", (struct ws_request){0});
    assert_says(bench, "hung up during the upgrade");
}

static void a_server_that_never_answers_is_left_at_the_deadline(void **state)
{
    struct bench *bench = *state;
    try_open(bench, "", (struct ws_request){.connect_ms_max = 50});
    assert_int_equal(bench->status, 0);
    assert_says(bench, "within 50 ms");
}

static void a_refused_connection_is_told(void **state)
{
    struct bench *bench = *state;
    char url[64];
    struct script_server *gone = script_server_new(bench->loop, serve, bench);
    snprintf(url, sizeof url, "ws://127.0.0.1:%u/", script_server_port(gone));
    script_server_free(gone);
    open_url(bench, url, (struct ws_request){0});
    loop_run(bench->loop);
    assert_int_equal(bench->closed, 1);
    assert_says(bench, "cannot connect");
}

static void an_unusable_request_is_told_from_a_later_turn(void **state)
{
    static const char *const urls[] = {"http://127.0.0.1/", "ws://", "", "ws://user:pw@127.0.0.1/",
                                       "wss://127.0.0.1:99999/"};
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        struct bench *bench = *state;
        open_url(bench, urls[i], (struct ws_request){0});
        assert_int_equal(bench->closed, 0);
        loop_run(bench->loop);
        assert_int_equal(bench->closed, 1);
        assert_null(strstr(bench->why.text, "pw"));
        finish(state);
        start(state);
    }
    struct bench *bench = *state;
    struct http_header header = {"X-Test", "a\r\nX-Evil: b"};
    open_url(bench, "ws://127.0.0.1:1/",
             (struct ws_request){.headers = &header, .header_count = 1});
    loop_run(bench->loop);
    assert_says(bench, "line break");
}

static void closing_before_it_is_open_ends_it_once(void **state)
{
    struct bench *bench = *state;
    char url[64];
    snprintf(url, sizeof url, "ws://127.0.0.1:%u/", script_server_port(bench->server));
    open_url(bench, url, (struct ws_request){0});
    assert_int_equal(bench->runtime->ops->ws_send_text(bench->ws, bytes_of("x")), RC_REJECT);
    bench->inside = true;
    bench->runtime->ops->ws_close(bench->ws, 1000, NULL);
    bench->runtime->ops->ws_close(bench->ws, 1000, "again");
    bench->inside = false;
    loop_run(bench->loop);
    assert_int_equal(bench->closed, 1);
    assert_int_equal(bench->opened, 0);
    assert_int_equal(bench->status, 0);
}

static void a_freed_network_calls_nobody(void **state)
{
    struct bench *bench = *state;
    char url[64];
    snprintf(url, sizeof url, "ws://127.0.0.1:%u/", script_server_port(bench->server));
    open_url(bench, url, (struct ws_request){0});
    open_url(bench, url, (struct ws_request){0});
    while (script_server_accepted(bench->server) < 2) {
        loop_stop(bench->loop);
        loop_run(bench->loop);
    }
    open_url(bench, url, (struct ws_request){0});
    open_url(bench, "nonsense", (struct ws_request){0});
    network_free(bench->network);
    bench->network = network_new(bench->loop, &(struct network_options){0});
    loop_stop(bench->loop);
    loop_run(bench->loop);
    assert_int_equal(bench->closed, 0);
}

/* ---- TLS ---- */

static void a_certificate_nobody_signed_is_refused(void **state)
{
    struct bench *bench = *state;
    char url[64];
    struct tls_script *tls = tls_script_new();
    snprintf(url, sizeof url, "wss://127.0.0.1:%u/", tls_script_port(tls));
    open_url(bench, url, (struct ws_request){0});
    loop_run(bench->loop);
    assert_int_equal(bench->closed, 1);
    assert_int_equal(bench->opened, 0);
    assert_says(bench, "cannot connect: SSL certificate problem: self-signed certificate");
    tls_script_free(tls);
}

static void a_trusted_certificate_carries_messages(void **state)
{
    struct bench *bench = *state;
    char url[64];
    struct tls_script *tls = tls_script_new();
    network_free(bench->network);
    bench->network =
        network_new(bench->loop, &(struct network_options){.ca_file = tls_script_ca_file(tls)});
    snprintf(url, sizeof url, "wss://127.0.0.1:%u/", tls_script_port(tls));
    open_url(bench, url, (struct ws_request){0});
    loop_run(bench->loop);
    assert_int_equal(bench->opened, 1);
    assert_int_equal(bench->status, 1000);
    assert_int_equal(bench->log.len, TLS_SCRIPT_BYTES);
    for (size_t i = 0; i < bench->log.len; i++)
        assert_int_equal(bench->log.data[i], 's');
    tls_script_free(tls);
}

static void the_standard_s_own_example_gives_its_accept(void **state)
{
    (void)state;
    struct ws_upgrade upgrade;
    ws_upgrade_init(&upgrade, (const uint8_t *)"the sample nonce");
    assert_string_equal(upgrade.key, "dGhlIHNhbXBsZSBub25jZQ==");
    assert_string_equal(upgrade.accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, finish)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_refusal_gives_its_status_and_body),
        TEST(a_chunked_refusal_is_joined),
        TEST(a_refusal_that_ends_with_the_connection_is_read),
        TEST(a_refusal_that_never_ends_is_cut_at_the_deadline),
        TEST(only_the_first_bytes_of_a_long_refusal_are_kept),
        TEST(an_answer_that_does_not_switch_properly_is_refused),
        TEST(a_head_without_end_is_refused),
        TEST(a_server_that_hangs_up_during_the_upgrade_is_told),
        TEST(a_refusal_says_how_long_to_wait),
        TEST(a_server_that_never_answers_is_left_at_the_deadline),
        TEST(a_refused_connection_is_told),
        TEST(an_unusable_request_is_told_from_a_later_turn),
        TEST(closing_before_it_is_open_ends_it_once),
        TEST(a_freed_network_calls_nobody),
        TEST(a_certificate_nobody_signed_is_refused),
        TEST(a_trusted_certificate_carries_messages),
        cmocka_unit_test(the_standard_s_own_example_gives_its_accept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
