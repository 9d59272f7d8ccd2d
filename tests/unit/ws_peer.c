/* SPDX-License-Identifier: Apache-2.0 */
#include "ws_peer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

static uint64_t mask_of_test(void *arg)
{
    (void)arg;
    return UINT64_C(0x1234567890abcdef);
}

int ws_peer_open(struct ws_peer *peer, unsigned port, const char *path, const char *headers)
{
    char request[1024], byte;
    int status = 0;
    *peer = (struct ws_peer){0};
    http_peer_connect(&peer->peer, port);
    snprintf(request, sizeof request,
             "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive, Upgrade\r\n"
             "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
             "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n%s\r\n",
             path, headers);
    http_peer_say(&peer->peer, request);
    while (strstr(text_string(&peer->message), "\r\n\r\n") == NULL &&
           http_peer_receive(&peer->peer, &byte, 1) == 1)
        text_append_char(&peer->message, byte);
    sscanf(text_string(&peer->message), "HTTP/1.1 %d", &status);
    if (status == 101)
        assert_non_null(strstr(text_string(&peer->message), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    peer->codec = ws_codec_new(64 << 20, mask_of_test, NULL);
    return status;
}

void ws_peer_close(struct ws_peer *peer)
{
    http_peer_close(&peer->peer);
    ws_codec_free(peer->codec);
    text_free(&peer->received);
    text_free(&peer->message);
}

void ws_peer_send(struct ws_peer *peer, enum ws_opcode opcode, struct bytes payload)
{
    struct text frame = {0};
    ws_codec_write(peer->codec, opcode, payload, &frame);
    http_peer_send(&peer->peer, frame.data, frame.len);
    text_free(&frame);
}

void ws_peer_say(struct ws_peer *peer, const char *text)
{
    ws_peer_send(peer, WS_OPCODE_TEXT, bytes_of(text));
}

enum ws_event ws_peer_read(struct ws_peer *peer)
{
    char buffer[65536];
    struct bytes payload;
    struct err err;
    for (;;) {
        enum ws_event event = ws_codec_next(peer->codec, &peer->input, &payload, &err);
        assert_int_not_equal(event, WS_EVENT_PROTOCOL);
        text_clear(&peer->message);
        text_append(&peer->message, payload.len > 0 ? payload.data : "", payload.len);
        if (event != WS_EVENT_NONE)
            return event;
        ssize_t got = http_peer_receive(&peer->peer, buffer, sizeof buffer);
        if (got <= 0)
            return WS_EVENT_NONE;
        text_clear(&peer->received);
        text_append(&peer->received, buffer, (size_t)got);
        peer->input = text_bytes(&peer->received);
    }
}

const char *ws_peer_hear(struct ws_peer *peer)
{
    enum ws_event event;
    do
        event = ws_peer_read(peer);
    while (event == WS_EVENT_PING || event == WS_EVENT_PONG);
    assert_int_equal(event, WS_EVENT_TEXT);
    return text_string(&peer->message);
}

unsigned ws_peer_read_close(struct ws_peer *peer)
{
    uint16_t code = 0;
    struct bytes reason;
    enum ws_event event;
    do
        event = ws_peer_read(peer);
    while (event != WS_EVENT_CLOSE && event != WS_EVENT_NONE);
    if (event == WS_EVENT_CLOSE)
        assert_true(ws_codec_read_close(text_bytes(&peer->message), &code, &reason));
    return code;
}
