/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/ws_codec.h"

#include "base/arena.h"
#include "base/utf8.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <wslay/wslay.h>

#define CONTROL_MAX  125
#define SKIP_FACTOR  64    /* so many times the largest message is no message any more */
#define MESSAGE_KEEP 65536 /* a server has many connections, and few large messages */
#define CODE_NONE    1005  /* RFC 6455, 7.1.5: a close frame without a code */
#define CODE_BAD     1002
#define CODE_NO_TEXT 1007

struct ws_codec {
    wslay_frame_context_ptr frames;
    ws_random_fn *random;
    void *random_arg;
    struct bytes *input; /* for the length of one call */
    struct text *output; /* the same */

    struct text message;
    size_t message_bytes_max;
    uint64_t message_len;
    uint8_t message_opcode;
    bool message_open; /* its last frame is still to come */
    bool frame_open;   /* its header was seen, bytes of it are to come */
    bool failed, discarding;
    uint64_t frame_left;
    char control[CONTROL_MAX + ARENA_PAD];
    size_t control_len;
};

/* ---- what wslay calls ---- */

static ssize_t give_input(uint8_t *to, size_t len, int flags, void *arg)
{
    (void)flags;
    struct ws_codec *codec = arg;
    struct bytes *input = codec->input;
    if (input->len == 0)
        return -1;
    size_t n = input->len < len ? input->len : len;
    memcpy(to, input->data, n);
    *input = bytes_make(input->data + n, input->len - n);
    return (ssize_t)n;
}

static ssize_t take_output(const uint8_t *data, size_t len, int flags, void *arg)
{
    (void)flags;
    struct ws_codec *codec = arg;
    text_append(codec->output, data, len);
    return (ssize_t)len;
}

static int make_mask(uint8_t *mask, size_t len, void *arg)
{
    struct ws_codec *codec = arg;
    uint64_t word = codec->random(codec->random_arg);
    assert(len <= sizeof word);
    memcpy(mask, &word, len);
    return 0;
}

struct ws_codec *ws_codec_new(size_t message_bytes_max, ws_random_fn *random, void *arg)
{
    static const struct wslay_frame_callbacks callbacks = {take_output, give_input, make_mask};
    assert(message_bytes_max > 0);
    struct ws_codec *codec = memory_new_zeroed(1, sizeof *codec);
    codec->message_bytes_max = message_bytes_max;
    codec->random = random;
    codec->random_arg = arg;
    if (wslay_frame_context_init(&codec->frames, &callbacks, codec) != 0)
        abort();
    return codec;
}

void ws_codec_free(struct ws_codec *codec)
{
    if (codec == NULL)
        return;
    wslay_frame_context_free(codec->frames);
    text_free(&codec->message);
    free(codec);
}

/* ---- frames in ---- */

static enum ws_event break_off(struct ws_codec *codec, struct err *err, const char *sentence)
{
    codec->failed = true;
    err_set(err, RC_RETRY, "%s", sentence);
    return WS_EVENT_PROTOCOL;
}

/* WS_EVENT_NONE: the frame may be taken. */
static enum ws_event begin_frame(struct ws_codec *codec, const struct wslay_frame_iocb *frame,
                                 struct err *err)
{
    bool control = wslay_is_ctrl_frame(frame->opcode);
    bool continued = frame->opcode == WSLAY_CONTINUATION_FRAME;
    if (frame->rsv != 0)
        return break_off(codec, err, "a frame uses an extension that we did not offer");
    if ((frame->mask != 0) != (codec->random == NULL))
        return break_off(codec, err,
                         codec->random == NULL ? "a frame is not masked"
                                               : "the server masked a frame");
    if (control ? frame->opcode > WSLAY_PONG : frame->opcode > WSLAY_BINARY_FRAME)
        return break_off(codec, err, "a frame has an unknown opcode");
    if (control && (frame->fin == 0 || frame->payload_length > CONTROL_MAX))
        return break_off(codec, err, "a control frame is fragmented or too long");
    if (!control && continued != codec->message_open)
        return break_off(codec, err, "a fragment is out of its place");
    codec->frame_open = true;
    codec->frame_left = frame->payload_length;
    if (control) {
        codec->control_len = 0;
        return WS_EVENT_NONE;
    }
    if (!continued) {
        codec->message_opcode = frame->opcode;
        codec->message_len = 0;
        if (codec->message.cap > MESSAGE_KEEP && codec->random == NULL)
            text_free(&codec->message);
        text_clear(&codec->message);
    }
    codec->message_open = frame->fin == 0;
    uint64_t most = (uint64_t)codec->message_bytes_max * SKIP_FACTOR;
    if (frame->payload_length > most - codec->message_len)
        return break_off(codec, err, "a message has no end");
    codec->message_len += frame->payload_length;
    codec->discarding = codec->message_len > codec->message_bytes_max;
    return WS_EVENT_NONE;
}

static void keep_part(struct ws_codec *codec, const struct wslay_frame_iocb *frame)
{
    assert(frame->data_length <= codec->frame_left);
    codec->frame_left -= frame->data_length;
    if (wslay_is_ctrl_frame(frame->opcode)) {
        memcpy(codec->control + codec->control_len, frame->data, frame->data_length);
        codec->control_len += frame->data_length;
    } else if (!codec->discarding) {
        text_append(&codec->message, frame->data, frame->data_length);
    }
}

/* WS_EVENT_NONE: the message goes on. */
static enum ws_event end_frame(struct ws_codec *codec, const struct wslay_frame_iocb *frame,
                               struct bytes *payload, struct err *err)
{
    codec->frame_open = false;
    if (wslay_is_ctrl_frame(frame->opcode)) {
        memset(codec->control + codec->control_len, 0, ARENA_PAD);
        *payload = bytes_make(codec->control, codec->control_len);
        return frame->opcode == WSLAY_CONNECTION_CLOSE ? WS_EVENT_CLOSE
               : frame->opcode == WSLAY_PING           ? WS_EVENT_PING
                                                       : WS_EVENT_PONG;
    }
    if (codec->message_open)
        return WS_EVENT_NONE;
    if (codec->discarding) {
        codec->discarding = false;
        err_set(err, RC_REJECT, "a message is over %zu bytes", codec->message_bytes_max);
        return WS_EVENT_TOO_LARGE;
    }
    memset(text_reserve(&codec->message, ARENA_PAD), 0, ARENA_PAD);
    *payload = text_bytes(&codec->message);
    return codec->message_opcode == WSLAY_TEXT_FRAME ? WS_EVENT_TEXT : WS_EVENT_BINARY;
}

enum ws_event ws_codec_next(struct ws_codec *codec, struct bytes *input, struct bytes *payload,
                            struct err *err)
{
    enum ws_event event = WS_EVENT_NONE;
    *payload = BYTES_ABSENT;
    codec->input = input;
    while (event == WS_EVENT_NONE && !codec->failed) {
        struct wslay_frame_iocb frame = {0};
        ssize_t got = wslay_frame_recv(codec->frames, &frame);
        if (got == WSLAY_ERR_WANT_READ)
            break;
        if (got < 0)
            event = break_off(codec, err, "a frame is malformed");
        else if (!codec->frame_open)
            event = begin_frame(codec, &frame, err);
        if (codec->failed)
            break;
        keep_part(codec, &frame);
        if (codec->frame_left == 0)
            event = end_frame(codec, &frame, payload, err);
    }
    codec->input = NULL;
    return event;
}

uint64_t ws_codec_message_len(const struct ws_codec *codec)
{
    return codec->message_len;
}

/* ---- frames out ---- */

void ws_codec_write(struct ws_codec *codec, enum ws_opcode opcode, struct bytes payload,
                    struct text *out)
{
    assert(opcode < WS_OPCODE_CLOSE || payload.len <= CONTROL_MAX);
    struct wslay_frame_iocb frame = {
        .fin = 1,
        .opcode = (uint8_t)opcode,
        .mask = codec->random != NULL,
        .payload_length = payload.len,
        .data = (const uint8_t *)payload.data,
        .data_length = payload.len,
    };
    codec->output = out;
    do {
        ssize_t sent = wslay_frame_send(codec->frames, &frame);
        if (sent < 0)
            abort();
        frame.data = frame.data == NULL ? NULL : frame.data + sent;
        frame.data_length -= (size_t)sent;
    } while (frame.data_length > 0);
    codec->output = NULL;
}

void ws_codec_write_close(struct ws_codec *codec, uint16_t code, const char *reason,
                          struct text *out)
{
    char payload[CONTROL_MAX];
    size_t len = strnlen(reason, sizeof payload - 2);
    payload[0] = (char)(code >> 8);
    payload[1] = (char)(code & 0xff);
    memcpy(payload + 2, reason, len);
    ws_codec_write(codec, WS_OPCODE_CLOSE, bytes_make(payload, len + 2), out);
}

/* RFC 6455, 7.4: the others are for what is to come, or say how a connection ended on which no such
 * frame was sent. */
static bool may_be_sent(unsigned code)
{
    return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
           (code >= 3000 && code < 5000);
}

bool ws_codec_read_close(struct bytes payload, uint16_t *code, struct bytes *reason)
{
    *code = payload.len == 0 ? CODE_NONE : CODE_BAD;
    *reason = BYTES_ABSENT;
    if (payload.len < 2)
        return payload.len == 0;
    const unsigned char *byte = (const unsigned char *)payload.data;
    unsigned said = (unsigned)byte[0] << 8 | byte[1];
    struct bytes why = bytes_make(payload.data + 2, payload.len - 2);
    if (!may_be_sent(said))
        return false;
    if (!utf8_is_text(why)) {
        *code = CODE_NO_TEXT;
        return false;
    }
    *code = (uint16_t)said;
    *reason = why;
    return true;
}
