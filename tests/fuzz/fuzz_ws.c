/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes on a websocket of the server: it answers with frames of its own, never with a word of
 * the store, and goes on serving others.
 *
 * The first byte says how the rest is meant: as bare frames, or as lines, each of which is sent as
 * one message, so that commands are reached without guessing lengths and masks. */
#include "fuzz_server.h"
#include "sys/ws_codec.h"

#include <unistd.h>

#include <assert.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char upgrade[] =
    "GET /api/ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

static uint64_t no_mask(void *arg)
{
    (void)arg;
    return 0;
}

/* How many messages they are. */
static size_t send_lines(struct ws_codec *codec, const uint8_t *data, size_t size, struct text *out)
{
    size_t messages = 0;
    while (size > 0) {
        const uint8_t *end = memchr(data, '\n', size);
        size_t len = end == NULL ? size : (size_t)(end - data);
        ws_codec_write(codec, WS_OPCODE_TEXT, bytes_make(data, len), out);
        len += end != NULL;
        data += len;
        size -= len;
        messages++;
    }
    return messages;
}

/* What comes back is read as it comes: behind the head whole frames, and a message is an answer or
 * a push. */
struct hearing {
    struct ws_codec *codec;
    size_t seen;    /* bytes of it */
    size_t awaited; /* answers; SIZE_MAX: it is not known how many */
    size_t answers;
    bool open, closed;
};

static void hear_message(struct hearing *hearing, struct bytes payload)
{
    bool answer = bytes_starts_with(payload, "{\"id\":");
    assert(answer || bytes_starts_with(payload, "{\"push\":"));
    hearing->answers += answer;
    /* What the store says about a statement it refuses ends in one of these. */
    assert(memmem(payload.data, payload.len, "\"code\":\"INTERNAL\"", 17) == NULL);
    assert(memmem(payload.data, payload.len, "\"code\":\"UNAVAILABLE\"", 20) == NULL);
}

static bool is_enough(void *arg, size_t len)
{
    struct hearing *hearing = arg;
    struct bytes input, payload;
    struct err err;
    enum ws_event event;
    if (!hearing->open) {
        const char *head_end = memmem(fuzz_answer, len, "\r\n\r\n", 4);
        assert(len < 13 || strncmp(fuzz_answer, "HTTP/1.1 101 ", 13) == 0);
        if (head_end == NULL)
            return false;
        hearing->open = true;
        hearing->seen = (size_t)(head_end + 4 - fuzz_answer);
    }
    input = bytes_make(fuzz_answer + hearing->seen, len - hearing->seen);
    hearing->seen = len;
    while ((event = ws_codec_next(hearing->codec, &input, &payload, &err)) != WS_EVENT_NONE) {
        assert(event != WS_EVENT_PROTOCOL && event != WS_EVENT_TOO_LARGE);
        hearing->closed |= event == WS_EVENT_CLOSE;
        if (event == WS_EVENT_TEXT)
            hear_message(hearing, payload);
    }
    /* Nobody is answered twice. */
    assert(hearing->answers <= hearing->awaited);
    return hearing->closed || hearing->answers == hearing->awaited;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct text out;
    fuzz_server_start();
    if (size == 0)
        return 0;
    text_clear(&out);
    struct hearing hearing = {.codec = ws_codec_new(1 << 20, no_mask, NULL), .awaited = SIZE_MAX};
    text_append_string(&out, upgrade);
    bool bare = (data[0] & 1) != 0;
    if (bare)
        text_append(&out, data + 1, size - 1);
    else
        hearing.awaited = send_lines(hearing.codec, data + 1, size - 1, &out);
    int fd = fuzz_dial(true);
    fuzz_speak(fd, out.data, out.len);
    if (bare)
        fuzz_hush(fd);
    /* The answer may be late; what it says is looked at as far as it came. */
    fuzz_listen(fd, is_enough, &hearing);
    close(fd);
    ws_codec_free(hearing.codec);
    fuzz_look_after();
    return 0;
}
