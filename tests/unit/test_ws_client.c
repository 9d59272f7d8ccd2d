/* SPDX-License-Identifier: Apache-2.0 */
#include "ws_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    converse(bench, (struct ws_request){.ping_ms = 10, .pong_ms_max = 300});
    assert_int_equal(bench->status, 0);
    assert_says(bench, "no pong and no data within 300 ms");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_text_comes_back_from_an_echo),      TEST(fragments_are_joined_around_a_ping),
        TEST(every_length_encoding_is_read),       TEST(a_large_text_is_sent_in_pieces),
        TEST(nothing_is_delivered_after_we_close), TEST(a_hundred_thousand_messages_arrive),
        TEST(a_silent_peer_is_declared_dead),      TEST(a_peer_that_only_pongs_is_alive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
