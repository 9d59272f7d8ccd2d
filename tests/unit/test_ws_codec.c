/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"
#include "sys/ws_codec.h"
#include "ws_script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t fixed_mask(void *arg)
{
    (void)arg;
    return UINT64_C(0x1122334455667788);
}

/* Feeds `stream` in pieces that `size` decides and writes down every event. */
static void decode_in_pieces(struct bytes stream, size_t piece_max, struct text *log)
{
    static const char *const words[] = {"none", "text",  "binary", "ping",
                                        "pong", "close", "large",  "protocol"};
    struct ws_codec *codec = ws_codec_new(5000, fixed_mask, NULL);
    struct err err;
    while (stream.len > 0) {
        size_t piece = piece_max == 0 ? 1 + (size_t)rand() % 300 : piece_max;
        piece = piece < stream.len ? piece : stream.len;
        struct bytes input = bytes_make(stream.data, piece), payload;
        stream = bytes_make(stream.data + piece, stream.len - piece);
        for (enum ws_event event; (event = ws_codec_next(codec, &input, &payload, &err)) != 0;) {
            text_appendf(log, "%s:%zu:", words[event], payload.len);
            if (payload.len > 0)
                text_append(log, payload.data, payload.len);
            if (event == WS_EVENT_PROTOCOL)
                break;
        }
        assert_int_equal(input.len, 0);
    }
    ws_codec_free(codec);
}

static void the_way_bytes_are_cut_changes_nothing(void **state)
{
    (void)state;
    struct text stream = {0}, whole = {0}, pieces = {0};
    char data[5000];
    srand(11);
    for (int i = 0; i < 400; i++) {
        size_t len = (size_t)rand() % (rand() % 10 == 0 ? sizeof data / 3 : 150);
        memset(data, 'a' + i % 26, sizeof data);
        int opcode = 1 + rand() % 2, parts = rand() % 4;
        for (int part = 0; part < parts; part++) {
            ws_script_put(&stream, false, part == 0 ? opcode : 0, bytes_make(data, len / 3));
            if (rand() % 3 == 0)
                ws_script_put(&stream, true, 9 + rand() % 2, bytes_make(data, len % 126));
        }
        ws_script_put(&stream, true, parts == 0 ? opcode : 0, bytes_make(data, len));
    }
    ws_script_put(&stream, true, 8, bytes_of("\x03\xe8"));
    decode_in_pieces(text_bytes(&stream), stream.len, &whole);
    assert_true(whole.len > 10000);
    for (size_t size = 0; size < 40; size++) {
        text_clear(&pieces);
        decode_in_pieces(text_bytes(&stream), size, &pieces);
        assert_true(bytes_equal(text_bytes(&pieces), text_bytes(&whole)));
    }
    text_free(&stream);
    text_free(&whole);
    text_free(&pieces);
}

static void what_we_send_is_masked_and_reads_back(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 125, 126, 65535, 65536, 200000};
    struct script_conn conn = {0};
    struct text payload = {0};
    char *data = memory_new(200000);
    int opcode;
    memset(data, 'q', 200000);
    struct ws_codec *codec = ws_codec_new(10, fixed_mask, NULL);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        ws_codec_write(codec, WS_OPCODE_TEXT, bytes_make(data, sizes[i]), &conn.received);
        assert_true(sizes[i] < 10 ||
                    memmem(conn.received.data, conn.received.len, "qqqqqqqqqq", 10) == NULL);
        assert_true(ws_script_take(&conn, &opcode, &payload));
        assert_int_equal(opcode, 1);
        assert_int_equal(payload.len, sizes[i]);
        assert_true(sizes[i] == 0 || memcmp(payload.data, data, sizes[i]) == 0);
        assert_int_equal(conn.received.len, 0);
    }
    ws_codec_write_close(codec, 1001, data, &conn.received);
    assert_true(ws_script_take(&conn, &opcode, &payload));
    assert_int_equal(payload.len, 125);
    ws_codec_free(codec);
    text_free(&conn.received);
    text_free(&payload);
    free(data);
}

/* RFC 6455, 7.4: what may stand in a frame, and what is only said of how a connection ended. */
static void only_codes_that_may_be_sent_are_read(void **state)
{
    static const struct {
        uint16_t first, last;
        bool sent;
    } ranges[] = {{0, 999, false},     {1000, 1003, true}, {1004, 1006, false}, {1007, 1014, true},
                  {1015, 2999, false}, {3000, 4999, true}, {5000, 65535, false}};
    (void)state;
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        for (uint32_t code = ranges[i].first; code <= ranges[i].last; code++) {
            const char frame[] = {(char)(code >> 8), (char)(code & 0xff), 'w'};
            uint16_t read;
            struct bytes reason;
            bool good = ws_codec_read_close(bytes_make(frame, sizeof frame), &read, &reason);
            if (good != ranges[i].sent || (good ? read != code : read != 1002))
                fail_msg("%u is read as %u", (unsigned)code, (unsigned)read);
        }
    }
}

static void a_reason_that_is_no_text_is_malformed(void **state)
{
    static const char *const bad[] = {"\x03\xe8\xff\xfe", "\x03\xe8so\xc3", "\x03\xe8\xed\xa0\x80"};
    uint16_t code;
    struct bytes reason;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(ws_codec_read_close(bytes_of(bad[i]), &code, &reason));
        assert_int_equal(code, 1007);
        assert_null(reason.data);
    }
    assert_true(ws_codec_read_close(bytes_of("\x03\xe8gr\xc3\xbc\xc3\x9f"), &code, &reason));
    assert_int_equal(reason.len, 6);
}

static void a_close_frame_is_read_strictly(void **state)
{
    (void)state;
    uint16_t code;
    struct bytes reason;
    assert_true(ws_codec_read_close(bytes_of(""), &code, &reason));
    assert_int_equal(code, 1005);
    assert_false(ws_codec_read_close(bytes_of("\x03"), &code, &reason));
    assert_false(ws_codec_read_close(bytes_of("\x03\xe7"), &code, &reason)); /* 999 */
    assert_false(ws_codec_read_close(bytes_of("\x13\x88"), &code, &reason)); /* 5000 */
    assert_true(ws_codec_read_close(bytes_of("\x13\x87why"), &code, &reason));
    assert_int_equal(code, 4999);
    assert_true(bytes_equal_string(reason, "why"));
}

static void a_client_that_does_not_mask_is_refused(void **state)
{
    (void)state;
    struct text stream = {0};
    struct bytes payload;
    struct err err;
    struct ws_codec *server = ws_codec_new(5000, NULL, NULL);
    ws_script_put(&stream, true, 1, bytes_of("hello"));
    struct bytes input = text_bytes(&stream);
    assert_int_equal(ws_codec_next(server, &input, &payload, &err), WS_EVENT_PROTOCOL);
    assert_string_equal(err.text, "a frame is not masked");
    ws_codec_free(server);
    text_free(&stream);
}

static void a_message_over_the_bound_is_passed_over(void **state)
{
    (void)state;
    struct text stream = {0}, log = {0};
    char data[3000];
    memset(data, 'x', sizeof data);
    ws_script_put(&stream, false, 1, bytes_make(data, sizeof data));
    ws_script_put(&stream, true, 0, bytes_make(data, sizeof data));
    ws_script_put(&stream, true, 1, bytes_of("next"));
    decode_in_pieces(text_bytes(&stream), 100, &log);
    assert_string_equal(text_string(&log), "large:0:text:4:next");
    text_free(&stream);
    text_free(&log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_way_bytes_are_cut_changes_nothing),
        cmocka_unit_test(what_we_send_is_masked_and_reads_back),
        cmocka_unit_test(only_codes_that_may_be_sent_are_read),
        cmocka_unit_test(a_reason_that_is_no_text_is_malformed),
        cmocka_unit_test(a_close_frame_is_read_strictly),
        cmocka_unit_test(a_client_that_does_not_mask_is_refused),
        cmocka_unit_test(a_message_over_the_bound_is_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
