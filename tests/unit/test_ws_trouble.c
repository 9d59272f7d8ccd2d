/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages that are too large, frames that break the protocol, and connections that end. */
#include "ws_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    assert_says(bench, "the server closed the connection with code 1000"); /* not for that one */
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
        ws_bench_finish(state);
        ws_bench_start(state);
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
    converse(bench, (struct ws_request){.pong_ms_max = 300});
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

#define PATIENCE_MS 500
#define PAUSE_US    (INT64_C(2000) * PATIENCE_MS)

struct pause {
    struct bench *bench;
    struct timer end;
    bool over;
    size_t messages; /* that came before */
};

static struct pause pause_now;

static void end_pause(void *arg)
{
    struct pause *now = arg;
    now->over = true;
    now->messages = now->bench->messages;
    now->bench->runtime->ops->ws_hold(now->bench->ws, false);
}

/* The server's side: it has much to say, and the client's user has just had enough. */
static void say_much(struct bench *bench, struct script_conn *conn, int opcode,
                     struct bytes payload)
{
    struct text out = {0};
    (void)payload;
    if (opcode != 1)
        return;
    bench->runtime->ops->ws_hold(bench->ws, true);
    ws_script_put(&out, true, 1, bytes_of("later"));
    ws_script_put(&out, true, 9, bytes_of("p"));
    ws_script_put(&out, true, 8, bytes_of("\x03\xe8"));
    script_send(conn, text_bytes(&out));
    text_free(&out);
    pause_now = (struct pause){.bench = bench, .end = {.fn = end_pause, .arg = &pause_now}};
    bench->runtime->ops->timer_arm(bench->runtime, &pause_now.end, PAUSE_US);
}

/* Nor is the server taken for dead: it is we who do not listen. */
static void a_connection_on_hold_delivers_nothing_until_it_goes_on(void **state)
{
    struct bench *bench = *state;
    text_append_string(&bench->hello, "hello");
    bench->on_frame = say_much;
    converse(bench, (struct ws_request){.ping_ms = 10, .pong_ms_max = PATIENCE_MS});
    assert_true(pause_now.over);
    assert_int_equal(pause_now.messages, 0);
    assert_string_equal(text_string(&bench->log), "t:later;");
    assert_int_equal(bench->status, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_message_over_the_limit_closes_with_1009),
        TEST(a_message_over_the_limit_can_be_gone_past),
        TEST(a_message_without_end_closes_the_connection),
        TEST(a_message_at_the_limit_is_delivered),
        TEST(protocol_errors_close_with_1002),
        TEST(a_reset_connection_is_told_without_a_code),
        TEST(a_hang_up_without_close_frame_is_told),
        TEST(a_peer_that_ignores_our_close_is_left_anyway),
        TEST(a_malformed_close_frame_is_answered_with_1002),
        TEST(a_connection_on_hold_delivers_nothing_until_it_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
