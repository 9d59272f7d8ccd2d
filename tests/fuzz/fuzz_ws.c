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

static void send_lines(struct ws_codec *codec, const uint8_t *data, size_t size, struct text *out)
{
    while (size > 0) {
        const uint8_t *end = memchr(data, '\n', size);
        size_t len = end == NULL ? size : (size_t)(end - data);
        ws_codec_write(codec, WS_OPCODE_TEXT, bytes_make(data, len), out);
        len += end != NULL;
        data += len;
        size -= len;
    }
}

/* What came back is whole frames, and a message is an answer or a push. */
static void check(struct ws_codec *codec, struct bytes input)
{
    struct bytes payload;
    struct err err;
    enum ws_event event;
    while ((event = ws_codec_next(codec, &input, &payload, &err)) != WS_EVENT_NONE) {
        assert(event != WS_EVENT_PROTOCOL && event != WS_EVENT_TOO_LARGE);
        if (event != WS_EVENT_TEXT)
            continue;
        assert(bytes_starts_with(payload, "{\"id\":") || bytes_starts_with(payload, "{\"push\":"));
        /* What the store says about a statement it refuses ends in one of these. */
        assert(memmem(payload.data, payload.len, "\"code\":\"INTERNAL\"", 17) == NULL);
        assert(memmem(payload.data, payload.len, "\"code\":\"UNAVAILABLE\"", 20) == NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct text out = {0};
    fuzz_server_start();
    if (size == 0)
        return 0;
    struct ws_codec *codec = ws_codec_new(1 << 20, no_mask, NULL);
    text_append_string(&out, upgrade);
    if ((data[0] & 1) != 0)
        text_append(&out, data + 1, size - 1);
    else
        send_lines(codec, data + 1, size - 1, &out);
    int fd = fuzz_dial(true);
    fuzz_speak(fd, out.data, out.len);
    /* The answer may be late; what it says is looked at as far as it came. */
    size_t len = fuzz_listen(fd, FUZZ_SILENCE_MS);
    const char *frames = strstr(fuzz_answer, "\r\n\r\n");
    assert(frames == NULL || strncmp(fuzz_answer, "HTTP/1.1 101 ", 13) == 0);
    if (frames != NULL)
        check(codec, bytes_make(frames + 4, len - (size_t)(frames + 4 - fuzz_answer)));
    close(fd);
    ws_codec_free(codec);
    text_free(&out);
    fuzz_look_after();
    return 0;
}
