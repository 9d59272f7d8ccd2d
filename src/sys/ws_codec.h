/* SPDX-License-Identifier: Apache-2.0
 *
 * ws_codec.h - websocket frames to messages and back, on either side.
 *
 * Always holds: at most `message_bytes_max` bytes of one message are kept, in one buffer that is
 * used again; payloads handed out live until the next call and are followed by ARENA_PAD readable
 * bytes. After a protocol error nothing more is decoded. A message that is too large is read to its
 * end and forgotten, up to a multiple of that bound. Text is not checked for UTF-8: its reader does
 * that.
 *
 * Owner: one connection.  Touches no socket. */
#ifndef SYS_WS_CODEC_H
#define SYS_WS_CODEC_H

#include "base/bytes.h"
#include "base/err.h"

enum ws_event {
    WS_EVENT_NONE, /* all input is used up */
    WS_EVENT_TEXT,
    WS_EVENT_BINARY,
    WS_EVENT_PING,
    WS_EVENT_PONG,
    WS_EVENT_CLOSE,
    WS_EVENT_TOO_LARGE, /* it has ended; what follows is decoded as ever */
    WS_EVENT_PROTOCOL,
};

enum ws_opcode { WS_OPCODE_TEXT = 1, WS_OPCODE_CLOSE = 8, WS_OPCODE_PING, WS_OPCODE_PONG };

struct ws_codec;

typedef uint64_t ws_random_fn(void *arg);

/* `random` gives the masks of what we send; NULL: we are the server, and what the client sends has
 * to be masked instead. */
struct ws_codec *ws_codec_new(size_t message_bytes_max, ws_random_fn *random, void *arg);
void ws_codec_free(struct ws_codec *codec);

/* Takes from `input` and moves it on; call until WS_EVENT_NONE. */
enum ws_event ws_codec_next(struct ws_codec *codec, struct bytes *input, struct bytes *payload,
                            struct err *err);

/* Bytes of the message that came last, kept or not. */
uint64_t ws_codec_message_len(const struct ws_codec *codec);

/* Appends one frame. A control frame holds at most 125 bytes. */
void ws_codec_write(struct ws_codec *codec, enum ws_opcode opcode, struct bytes payload,
                    struct text *out);
/* Appends a close frame; a reason over 123 bytes is cut. */
void ws_codec_write_close(struct ws_codec *codec, uint16_t code, const char *reason,
                          struct text *out);
/* Reads a close frame's payload. An empty one is code 1005; false when it is malformed: `code` is
 * then the one to answer with. */
bool ws_codec_read_close(struct bytes payload, uint16_t *code, struct bytes *reason);

#endif
