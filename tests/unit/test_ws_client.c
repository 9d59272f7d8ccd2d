/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"
#include "script_server.h"
#include "sys/network.h"
#include "ws_script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct bench;
typedef void frame_fn(struct bench *bench, struct script_conn *conn, int opcode,
                      struct bytes payload);

struct bench {
    struct loop *loop;
    struct runtime *runtime;
    struct network *network;
    struct script_server *server;

    /* the server's side */
    struct text at_once; /* sent together with the 101 */
    frame_fn *on_frame;
    struct text heard; /* "opcode:payload;" of each client frame */
    size_t wanted, sent, pongs;

    /* the client's side */
    struct ws *ws;
    struct text hello; /* sent when open */
    struct text log;   /* "t:payload;" or "b:payload;" of each message */
    bool patient;      /* a message over the limit does not end it */
    bool quiet;        /* count messages only */
    size_t messages, message_bytes;
    uint64_t sum;
    bool close_on_message, inside;
    int opened, closed, status;
    struct text body;
    struct err why;
};

/* ---- the client ---- */

static void on_opened(void *arg)
{
    struct bench *bench = arg;
    bench->opened++;
    assert_false(bench->inside);
    if (bench->hello.len > 0)
        assert_int_equal(bench->runtime->ops->ws_send_text(bench->ws, text_bytes(&bench->hello)),
                         RC_OK);
}

static void on_message(void *arg, bool binary, struct bytes payload)
{
    struct bench *bench = arg;
    assert_int_equal(bench->closed, 0);
    for (size_t i = 0; i < ARENA_PAD; i++)
        bench->sum += (unsigned char)payload.data[payload.len + i];
    assert_int_equal(bench->sum, 0);
    bench->messages++;
    bench->message_bytes += payload.len;
    if (!bench->quiet) {
        text_append_string(&bench->log, binary ? "b:" : "t:");
        text_append(&bench->log, payload.data, payload.len);
        text_append_char(&bench->log, ';');
    }
    if (bench->close_on_message)
        bench->runtime->ops->ws_close(bench->ws, 1000, "enough");
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

static void on_too_large(void *arg, uint64_t bytes)
{
    struct bench *bench = arg;
    text_appendf(&bench->log, "large:%llu;", (unsigned long long)bytes);
}

static const struct ws_events events = {
    .opened = on_opened, .message = on_message, .closed = on_closed};
static const struct ws_events patient_events = {
    .opened = on_opened, .message = on_message, .closed = on_closed, .too_large = on_too_large};

static void open_url(struct bench *bench, const char *url, struct ws_request request)
{
    request.url = url;
    bench->inside = true;
    bench->ws = bench->runtime->ops->ws_open(bench->runtime, &request,
                                             bench->patient ? &patient_events : &events, bench);
    bench->inside = false;
}

static void open_ws(struct bench *bench, struct ws_request request)
{
    char url[64];
    snprintf(url, sizeof url, "ws://127.0.0.1:%u/subscribe?a=b", script_server_port(bench->server));
    open_url(bench, url, request);
}

/* Opens, runs until it is closed, and says how. */
static void converse(struct bench *bench, struct ws_request request)
{
    open_ws(bench, request);
    loop_run(bench->loop);
    assert_int_equal(bench->closed, 1);
}

static void assert_says(struct bench *bench, const char *words)
{
    if (strstr(bench->why.text, words) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", bench->why.text, words);
}

/* ---- the server ---- */

static void answer_upgrade(struct bench *bench, struct script_conn *conn)
{
    struct text out = {0};
    assert_true(script_heard(conn, "GET /subscribe?a=b HTTP/1.1\r\n"));
    assert_true(script_heard(conn, "\r\nHost: 127.0.0.1:"));
    assert_true(script_heard(conn, "\r\nUser-Agent: tidemark/"));
    text_append_string(&out, "HTTP/1.1 101 Switching Protocols\r\nupgrade: WebSocket\r\n"
                             "CONNECTION: keep-alive, Upgrade\r\nSec-WebSocket-Accept: ");
    ws_script_put_accept(&out, conn);
    text_append_string(&out, "\r\n\r\n");
    if (bench->at_once.len > 0)
        text_append(&out, bench->at_once.data, bench->at_once.len);
    script_send(conn, text_bytes(&out));
    text_free(&out);
    script_take(conn, script_head_len(conn));
}

static void serve(struct script_conn *conn, bool ended)
{
    struct bench *bench = conn->arg;
    if (ended || (conn->step == 0 && script_head_len(conn) == 0))
        return;
    if (conn->step == 0) {
        conn->step = 1;
        answer_upgrade(bench, conn);
    }
    struct text payload = {0};
    int opcode;
    while (ws_script_take(conn, &opcode, &payload)) {
        if (!bench->quiet) {
            text_appendf(&bench->heard, "%d:", opcode);
            if (payload.len > 0)
                text_append(&bench->heard, payload.data, payload.len);
            text_append_char(&bench->heard, ';');
        }
        if (bench->on_frame != NULL)
            bench->on_frame(bench, conn, opcode, text_bytes(&payload));
        else if (opcode == 8)
            ws_script_send(conn, 8, text_bytes(&payload));
    }
    text_free(&payload);
}

static int start(void **state)
{
    struct bench *bench = memory_new_zeroed(1, sizeof *bench);
    bench->loop = loop_new();
    bench->runtime = loop_runtime(bench->loop);
    bench->network = network_new(bench->loop, &(struct network_options){0});
    bench->server = script_server_new(bench->loop, serve, bench);
    *state = bench;
    return 0;
}

static int finish(void **state)
{
    struct bench *bench = *state;
    network_free(bench->network);
    script_server_free(bench->server);
    loop_free(bench->loop);
    text_free(&bench->at_once);
    text_free(&bench->heard);
    text_free(&bench->hello);
    text_free(&bench->log);
    text_free(&bench->body);
    free(bench);
    return 0;
}

/* ---- messages ---- */

static void echo(struct bench *bench, struct script_conn *conn, int opcode, struct bytes payload)
{
    (void)bench;
    ws_script_send(conn, opcode, payload);
}

static void a_text_comes_back_from_an_echo(void **state)
{
    struct bench *bench = *state;
    bench->on_frame = echo;
    bench->close_on_message = true;
    text_append_string(&bench->hello, "hello");
    converse(bench, (struct ws_request){0});
    assert_int_equal(bench->opened, 1);
    assert_string_equal(text_string(&bench->log), "t:hello;");
    assert_int_equal(bench->status, 1000);
    assert_says(bench, "closed by us: enough");
    assert_string_equal(text_string(&bench->heard), "1:hello;8:\x03\xe8"
                                                    "enough;");
}

static void fragments_are_joined_around_a_ping(void **state)
{
    struct bench *bench = *state;
    ws_script_put(&bench->at_once, false, 1, bytes_of("ab"));
    ws_script_put(&bench->at_once, true, 9, bytes_of("are you there"));
    ws_script_put(&bench->at_once, false, 0, bytes_of(""));
    ws_script_put(&bench->at_once, true, 0, bytes_of("cd"));
    ws_script_put(&bench->at_once, true, 2, bytes_of("e\0f"));
    ws_script_put(&bench->at_once, true, 8, bytes_of("\x03\xe9going away"));
    converse(bench, (struct ws_request){0});
    assert_string_equal(text_string(&bench->log), "t:abcd;b:e;");
    assert_string_equal(text_string(&bench->heard), "10:are you there;8:\x03\xe9;");
    assert_int_equal(bench->status, 1001);
    assert_says(bench, "code 1001: going away");
}

static void every_length_encoding_is_read(void **state)
{
    static const size_t sizes[] = {0, 1, 125, 126, 127, 65535, 65536, 300000};
    struct bench *bench = *state;
    char *data = memory_new(300000);
    memset(data, 'x', 300000);
    size_t total = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        ws_script_put(&bench->at_once, true, 2, bytes_make(data, sizes[i]));
        total += sizes[i];
    }
    ws_script_put(&bench->at_once, true, 8, bytes_of(""));
    free(data);
    bench->quiet = true;
    converse(bench, (struct ws_request){.message_bytes_max = 300000});
    assert_int_equal(bench->messages, sizeof sizes / sizeof sizes[0]);
    assert_int_equal(bench->message_bytes, total);
    assert_int_equal(bench->status, 1005);
}

static void echo_and_close(struct bench *bench, struct script_conn *conn, int opcode,
                           struct bytes payload)
{
    assert_int_equal(payload.len, bench->hello.len);
    assert_memory_equal(payload.data, bench->hello.data, payload.len);
    ws_script_send(conn, opcode, payload);
    ws_script_send(conn, 8, bytes_of("\x03\xe8"));
    bench->on_frame = NULL;
}

static void a_large_text_is_sent_in_pieces(void **state)
{
    struct bench *bench = *state;
    for (int i = 0; i < 200000; i++)
        text_appendf(&bench->hello, "did:plc:%06d", i);
    bench->on_frame = echo_and_close;
    bench->quiet = true;
    converse(bench, (struct ws_request){.message_bytes_max = 8000000});
    assert_int_equal(bench->messages, 1);
    assert_int_equal(bench->message_bytes, bench->hello.len);
}

static void nothing_is_delivered_after_we_close(void **state)
{
    struct bench *bench = *state;
    bench->close_on_message = true;
    for (int i = 0; i < 5; i++)
        ws_script_put(&bench->at_once, true, 1, bytes_of("x"));
    converse(bench, (struct ws_request){0});
    assert_int_equal(bench->messages, 1);
    assert_int_equal(bench->status, 1000);
}

static void pour(struct bench *bench, struct script_conn *conn, int opcode, struct bytes payload)
{
    (void)payload;
    if (opcode == 8) {
        ws_script_send(conn, 8, payload);
        return;
    }
    struct text frames = {0};
    for (int i = 0; i < 1000 && bench->sent < bench->wanted; i++, bench->sent++) {
        char text[64];
        int len = snprintf(text, sizeof text, "message %zu %*s", bench->sent,
                           (int)(bench->sent % 40), "");
        ws_script_put(&frames, true, 1,
                      bytes_make(text, (size_t)len < sizeof text ? (size_t)len : 63));
    }
    if (bench->sent < bench->wanted)
        ws_script_put(&frames, true, 9, bytes_of("more?"));
    else
        ws_script_put(&frames, true, 8, bytes_of("\x03\xe8"));
    script_send(conn, text_bytes(&frames));
    text_free(&frames);
}

static void a_hundred_thousand_messages_arrive(void **state)
{
    struct bench *bench = *state;
    bench->wanted = 100000;
    bench->quiet = true;
    bench->on_frame = pour;
    text_append_string(&bench->hello, "go");
    converse(bench, (struct ws_request){0});
    assert_int_equal(bench->messages, 100000);
    assert_int_equal(bench->status, 1000);
}

/* ---- liveness ---- */

static void stay_silent(struct bench *bench, struct script_conn *conn, int opcode,
                        struct bytes payload)
{
    (void)bench;
    (void)conn;
    (void)payload;
    assert_int_equal(opcode, 9);
}

static void a_silent_peer_is_declared_dead(void **state)
{
    struct bench *bench = *state;
    bench->on_frame = stay_silent;
    converse(bench, (struct ws_request){.ping_ms = 10, .pong_ms_max = 30});
    assert_int_equal(bench->status, 0);
    assert_says(bench, "no pong and no data within 30 ms");
    assert_non_null(strstr(text_string(&bench->heard), "9:;"));
}

static void pong_five_times(struct bench *bench, struct script_conn *conn, int opcode,
                            struct bytes payload)
{
    assert_int_equal(opcode, 9);
    if (++bench->pongs == 5) {
        ws_script_send(conn, 8, bytes_of("\x03\xe8"));
        bench->on_frame = NULL;
    } else {
        ws_script_send(conn, 10, payload);
    }
}

static void a_peer_that_only_pongs_is_alive(void **state)
{
    struct bench *bench = *state;
    bench->on_frame = pong_five_times;
    converse(bench, (struct ws_request){.ping_ms = 5, .pong_ms_max = 20000});
    assert_int_equal(bench->pongs, 5);
    assert_int_equal(bench->status, 1000);
}

/* ---- trouble ---- */

static void a_message_over_the_limit_closes_with_1009(void **state)
{
    struct bench *bench = *state;
    ws_script_put(&bench->at_once, false, 1, bytes_of("0123456789"));
    ws_script_put(&bench->at_once, true, 0, bytes_of("0123456"));
    ws_script_put(&bench->at_once, true, 1, bytes_of("after"));
    converse(bench, (struct ws_request){.message_bytes_max = 16});
    assert_int_equal(bench->messages, 0);
    assert_int_equal(bench->status, 1009);
    assert_says(bench, "over 16 bytes");
    assert_string_equal(text_string(&bench->heard), "8:\x03\xf1message too large;");
}

static void a_message_over_the_limit_can_be_gone_past(void **state)
{
    struct bench *bench = *state;
    bench->patient = true;
    ws_script_put(&bench->at_once, true, 1, bytes_of("before"));
    ws_script_put(&bench->at_once, false, 1, bytes_of("0123456789"));
    ws_script_put(&bench->at_once, true, 9, bytes_of("p"));
    ws_script_put(&bench->at_once, false, 0, bytes_of("0123456789"));
    ws_script_put(&bench->at_once, true, 0, bytes_of("0123456"));
    ws_script_put(&bench->at_once, true, 1, bytes_of("after"));
    ws_script_put(&bench->at_once, true, 8, bytes_of("\x03\xe8"));
    converse(bench, (struct ws_request){.message_bytes_max = 16});
    assert_string_equal(text_string(&bench->log), "t:before;large:27;t:after;");
    assert_int_equal(bench->status, 1000);
}

static void a_message_without_end_closes_the_connection(void **state)
{
    struct bench *bench = *state;
    bench->patient = true;
    for (int i = 0; i < 70; i++)
        ws_script_put(&bench->at_once, false, i == 0 ? 1 : 0, bytes_of("0123456789abcdef"));
    converse(bench, (struct ws_request){.message_bytes_max = 16});
    assert_int_equal(bench->status, 1002);
    assert_says(bench, "no end");
}

static void a_message_at_the_limit_is_delivered(void **state)
{
    struct bench *bench = *state;
    ws_script_put(&bench->at_once, false, 1, bytes_of("0123456789"));
    ws_script_put(&bench->at_once, true, 0, bytes_of("012345"));
    ws_script_put(&bench->at_once, true, 8, bytes_of("\x03\xe8"));
    converse(bench, (struct ws_request){.message_bytes_max = 16});
    assert_string_equal(text_string(&bench->log), "t:0123456789012345;");
}

static void protocol_errors_close_with_1002(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *says;
    } cases[] = {
        {"\x81\x82maskab", 8, "masked"},
        {"\xc1\x01x", 3, "extension"},
        {"\x83\x01x", 3, "unknown opcode"},
        {"\x80\x01x", 3, "out of its place"},
        {"\x01\x01x\x81\x01y", 6, "out of its place"},
        {"\x09\x01x", 3, ""},         /* a fragmented ping */
        {"\x89\x7e\x00\x80", 4, ""},  /* a ping of 128 bytes */
        {"\x81\x7e\x00\x01x", 5, ""}, /* a length that is not the shortest */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bench *bench = *state;
        text_append(&bench->at_once, cases[i].bytes, cases[i].len);
        converse(bench, (struct ws_request){0});
        assert_int_equal(bench->status, 1002);
        assert_int_equal(bench->messages, 0);
        assert_says(bench, cases[i].says);
        finish(state);
        start(state);
    }
}

static void reset_on_frame(struct bench *bench, struct script_conn *conn, int opcode,
                           struct bytes payload)
{
    (void)bench;
    (void)opcode;
    (void)payload;
    script_reset(conn);
}

static void hang_up_on_frame(struct bench *bench, struct script_conn *conn, int opcode,
                             struct bytes payload)
{
    (void)bench;
    (void)opcode;
    (void)payload;
    script_hang_up(conn);
}

static void a_reset_connection_is_told_without_a_code(void **state)
{
    struct bench *bench = *state;
    text_append_string(&bench->hello, "go");
    bench->on_frame = reset_on_frame;
    converse(bench, (struct ws_request){0});
    assert_int_equal(bench->status, 0);
    assert_says(bench, "without a close frame");
}

static void a_hang_up_without_close_frame_is_told(void **state)
{
    struct bench *bench = *state;
    text_append_string(&bench->hello, "go");
    bench->on_frame = hang_up_on_frame;
    converse(bench, (struct ws_request){0});
    assert_int_equal(bench->status, 0);
    assert_says(bench, "without a close frame");
}

static void ignore_the_close(struct bench *bench, struct script_conn *conn, int opcode,
                             struct bytes payload)
{
    (void)conn;
    (void)payload;
    bench->pongs += opcode == 8;
}

static void a_peer_that_ignores_our_close_is_left_anyway(void **state)
{
    struct bench *bench = *state;
    bench->on_frame = ignore_the_close;
    ws_script_put(&bench->at_once, true, 1, bytes_of("x"));
    bench->close_on_message = true;
    converse(bench, (struct ws_request){.pong_ms_max = 30});
    assert_int_equal(bench->pongs, 1);
    assert_int_equal(bench->status, 1000);
}

static void a_malformed_close_frame_is_answered_with_1002(void **state)
{
    struct bench *bench = *state;
    ws_script_put(&bench->at_once, true, 8, bytes_of("\x03"));
    converse(bench, (struct ws_request){0});
    assert_says(bench, "malformed close frame");
    assert_int_equal(bench->status, 1002);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, finish)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_text_comes_back_from_an_echo),
        TEST(fragments_are_joined_around_a_ping),
        TEST(every_length_encoding_is_read),
        TEST(a_large_text_is_sent_in_pieces),
        TEST(nothing_is_delivered_after_we_close),
        TEST(a_hundred_thousand_messages_arrive),
        TEST(a_silent_peer_is_declared_dead),
        TEST(a_peer_that_only_pongs_is_alive),
        TEST(a_message_over_the_limit_closes_with_1009),
        TEST(a_message_over_the_limit_can_be_gone_past),
        TEST(a_message_without_end_closes_the_connection),
        TEST(a_message_at_the_limit_is_delivered),
        TEST(protocol_errors_close_with_1002),
        TEST(a_reset_connection_is_told_without_a_code),
        TEST(a_hang_up_without_close_frame_is_told),
        TEST(a_peer_that_ignores_our_close_is_left_anyway),
        TEST(a_malformed_close_frame_is_answered_with_1002),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
