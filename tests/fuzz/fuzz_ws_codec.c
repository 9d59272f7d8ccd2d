/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as frames of a websocket, on either side, and as a server's answer to the question for
 * one. Cut anywhere, bytes mean the same: fed whole and fed byte by byte they give the same events.
 * What is written as frames reads back as it was. The first byte chooses the side and the bound. */
#include "sys/runtime.h"
#include "sys/ws_codec.h"
#include "sys/ws_upgrade.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t make_mask(void *arg)
{
    uint64_t *state = arg;
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *state;
}

/* Appends what `input` gives; false: nothing more will be decoded. */
static bool feed(struct ws_codec *codec, struct bytes input, size_t bytes_max, struct text *events)
{
    struct bytes payload = BYTES_ABSENT;
    struct err err = {""};
    enum ws_event event;
    while ((event = ws_codec_next(codec, &input, &payload, &err)) != WS_EVENT_NONE) {
        text_appendf(events, "%d:", (int)event);
        if (event == WS_EVENT_PROTOCOL) {
            assert(err.text[0] != '\0');
            return false;
        }
        if (event == WS_EVENT_TOO_LARGE) {
            assert(ws_codec_message_len(codec) > bytes_max);
            continue;
        }
        bool control = event != WS_EVENT_TEXT && event != WS_EVENT_BINARY;
        assert(payload.len <= (control ? 125 : bytes_max));
        text_append(events, payload.data, payload.len);
    }
    assert(input.len == 0);
    return true;
}

static void check_frames(struct bytes input, bool server, size_t bytes_max)
{
    uint64_t state = 1;
    struct text whole = {0}, pieces = {0};
    struct ws_codec *first = ws_codec_new(bytes_max, server ? NULL : make_mask, &state);
    struct ws_codec *second = ws_codec_new(bytes_max, server ? NULL : make_mask, &state);
    feed(first, input, bytes_max, &whole);
    for (size_t i = 0; i < input.len; i++)
        if (!feed(second, bytes_make(input.data + i, 1), bytes_max, &pieces))
            break;
    assert(bytes_equal(text_bytes(&whole), text_bytes(&pieces)));
    ws_codec_free(first);
    ws_codec_free(second);
    text_free(&whole);
    text_free(&pieces);
}

/* One side writes, the other one reads. */
static void check_written(struct bytes message, bool server)
{
    uint64_t state = 2;
    struct text out = {0}, events = {0}, expected = {0};
    size_t control = message.len < 125 ? message.len : 125;
    struct ws_codec *writer = ws_codec_new(message.len + 1, server ? NULL : make_mask, &state);
    struct ws_codec *reader = ws_codec_new(message.len + 1, server ? make_mask : NULL, &state);
    ws_codec_write(writer, WS_OPCODE_TEXT, message, &out);
    ws_codec_write(writer, WS_OPCODE_PING, bytes_make(message.data, control), &out);
    text_appendf(&expected, "%d:", (int)WS_EVENT_TEXT);
    text_append(&expected, message.data, message.len);
    text_appendf(&expected, "%d:", (int)WS_EVENT_PING);
    text_append(&expected, message.data, control);
    bool read = feed(reader, text_bytes(&out), message.len + 1, &events);
    assert(read && bytes_equal(text_bytes(&events), text_bytes(&expected)));
    ws_codec_free(writer);
    ws_codec_free(reader);
    text_free(&out);
    text_free(&events);
    text_free(&expected);
}

/* An answer that is open is open with more bytes behind it; one that is refused stays refused. */
static void check_answer(struct bytes rest)
{
    static const uint8_t nonce[16] = {1, 2, 3};
    struct ws_upgrade upgrade;
    struct text answer = {0}, body = {0}, again = {0};
    struct err err = {""};
    size_t head_len = 0, head_again = 0;
    int status = 0, status_again = 0;
    ws_upgrade_init(&upgrade, nonce);
    text_appendf(&answer,
                 "HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                 "Sec-WebSocket-Accept: %s\r\n",
                 upgrade.accept);
    text_append(&answer, rest.data, rest.len);
    const struct bytes forms[] = {rest, text_bytes(&answer)};
    for (size_t i = 0; i < 2; i++) {
        text_clear(&body);
        enum rc rc = ws_upgrade_read(&upgrade, forms[i], false, &head_len, &status, &body, &err);
        assert(body.len <= WS_UPGRADE_BODY_MAX);
        assert(rc == RC_OK || rc == RC_AGAIN || err.text[0] != '\0');
        if (rc == RC_OK) {
            assert(status == 101 && head_len <= forms[i].len && head_len >= 4);
            assert(memcmp(forms[i].data + head_len - 4, "\r\n\r\n", 4) == 0);
            rc = ws_upgrade_read(&upgrade, bytes_make(forms[i].data, head_len), false, &head_again,
                                 &status_again, &again, &err);
            assert(rc == RC_OK && head_again == head_len);
        }
        rc = ws_upgrade_read(&upgrade, forms[i], true, &head_len, &status, &body, &err);
        assert(rc != RC_AGAIN);
    }
    text_free(&answer);
    text_free(&body);
    text_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint16_t code;
    struct bytes reason;
    if (size == 0)
        return 0;
    struct bytes rest = bytes_make(data + 1, size - 1);
    bool server = (data[0] & 1) != 0;
    check_frames(rest, server, 1 + ((size_t)data[0] >> 1));
    check_written(rest, server);
    check_answer(rest);
    if (ws_codec_read_close(rest, &code, &reason))
        assert(rest.len == 0 ? code == 1005 : reason.len + 2 == rest.len && code >= 1000);
    else
        assert((code == 1002 || code == 1007) && reason.len == 0);
    return 0;
}
