/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/ws_server.h"

#include <assert.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <wslay/wslay.h>

#define OUT_BYTES_ENOUGH 262144
#define ACCEPT_SIZE      32

struct ws {
    struct peer *peer;
    uv_timer_t timer;
    wslay_event_context_ptr context;
    struct bytes input; /* what wslay has not read yet */
    struct ws_options options;
    const struct ws_handler *handler;
    void *arg;
    bool pong_due, ending;
};

static ssize_t on_recv(wslay_event_context_ptr context, uint8_t *buf, size_t len, int flags,
                       void *arg)
{
    struct ws *ws = arg;
    (void)flags;
    if (ws->input.len == 0) {
        wslay_event_set_error(context, WSLAY_ERR_WOULDBLOCK);
        return -1;
    }
    if (len > ws->input.len)
        len = ws->input.len;
    memcpy(buf, ws->input.data, len);
    ws->input = bytes_make(ws->input.data + len, ws->input.len - len);
    return (ssize_t)len;
}

static ssize_t on_send(wslay_event_context_ptr context, const uint8_t *data, size_t len, int flags,
                       void *arg)
{
    struct ws *ws = arg;
    (void)context;
    (void)flags;
    text_append(peer_out(ws->peer), data, len);
    return (ssize_t)len;
}

static void on_timer(uv_timer_t *timer)
{
    struct ws *ws = timer->data;
    if (peer_is_stalled(ws->peer)) {
        uv_timer_start(&ws->timer, on_timer, ws->options.pong_wait_ms, 0);
    } else if (ws->pong_due) {
        peer_reset(ws->peer);
    } else {
        ws->pong_due = true;
        ws_send(ws, WS_PING, bytes_of("tide"));
        ws_flush(ws);
        uv_timer_start(&ws->timer, on_timer, ws->options.pong_wait_ms, 0);
    }
}

static void on_message(wslay_event_context_ptr context,
                       const struct wslay_event_on_msg_recv_arg *message, void *arg)
{
    struct ws *ws = arg;
    (void)context;
    if (message->opcode == WSLAY_PONG && ws->pong_due) {
        ws->pong_due = false;
        uv_timer_start(&ws->timer, on_timer, ws->options.ping_ms, 0);
    } else if (!wslay_is_ctrl_frame(message->opcode) && !ws->ending) {
        ws->handler->on_message(ws->arg, message->opcode,
                                bytes_make(message->msg, message->msg_length));
    }
}

static void on_bytes(void *arg, struct bytes input)
{
    struct ws *ws = arg;
    ws->input = input;
    int rc = wslay_event_recv(ws->context);
    if (rc == 0)
        rc = wslay_event_send(ws->context);
    if (rc != 0 || wslay_event_get_close_received(ws->context) != 0 ||
        wslay_event_get_close_sent(ws->context) != 0) {
        ws->ending = true;
        peer_finish(ws->peer);
    } else {
        ws_flush(ws);
    }
}

static void on_drained(void *arg)
{
    struct ws *ws = arg;
    if (!ws->ending)
        ws->handler->on_ready(ws->arg);
}

static void on_timer_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void on_closed(void *arg)
{
    struct ws *ws = arg;
    ws->handler->on_closed(ws->arg);
    wslay_event_context_free(ws->context);
    uv_close((uv_handle_t *)&ws->timer, on_timer_closed);
}

static const struct peer_handler ws_peer_handler = {
    .on_bytes = on_bytes, .on_drained = on_drained, .on_closed = on_closed};

static bool write_accept(struct bytes key, char out[ACCEPT_SIZE])
{
    static const char suffix[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    char joined[24 + sizeof suffix];
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    if (key.len != 24)
        return false;
    memcpy(joined, key.data, 24);
    memcpy(joined + 24, suffix, sizeof suffix);
    if (EVP_Digest(joined, 23 + sizeof suffix, digest, &len, EVP_sha1(), NULL) != 1)
        return false;
    EVP_EncodeBlock((unsigned char *)out, digest, (int)len);
    return true;
}

static bool has_word(struct bytes value, const char *word)
{
    size_t len = strlen(word);
    for (size_t i = 0; i + len <= value.len; i++)
        if (strncasecmp(value.data + i, word, len) == 0)
            return true;
    return false;
}

struct ws *ws_accept(struct http_exchange *exchange, const struct ws_options *options,
                     const struct ws_handler *handler, void *arg)
{
    const struct http_request *request = http_exchange_request(exchange);
    static const struct wslay_event_callbacks callbacks = {
        .recv_callback = on_recv, .send_callback = on_send, .on_msg_recv_callback = on_message};
    char accept[ACCEPT_SIZE];
    if (!has_word(http_request_header(request, "Upgrade"), "websocket") ||
        !has_word(http_request_header(request, "Connection"), "upgrade") ||
        !bytes_equal_string(http_request_header(request, "Sec-WebSocket-Version"), "13") ||
        !write_accept(http_request_header(request, "Sec-WebSocket-Key"), accept)) {
        http_reply_text(exchange, 400, "Bad Request: not a websocket handshake\n");
        return NULL;
    }
    struct ws *ws = memory_new_zeroed(1, sizeof *ws);
    ws->options = *options;
    ws->handler = handler;
    ws->arg = arg;
    if (wslay_event_context_server_init(&ws->context, &callbacks, ws) != 0)
        abort();
    wslay_event_config_set_max_recv_msg_length(ws->context, options->message_bytes_max);
    ws->peer = http_take_over(exchange);
    peer_hand_over(ws->peer, &ws_peer_handler, ws);
    uv_timer_init(peer_loop(ws->peer), &ws->timer);
    ws->timer.data = ws;
    if (options->ping_ms > 0)
        uv_timer_start(&ws->timer, on_timer, options->ping_ms, 0);
    text_appendf(peer_out(ws->peer),
                 "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                 "Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n",
                 accept);
    if (options->subprotocol != NULL &&
        has_word(http_request_header(request, "Sec-WebSocket-Protocol"), options->subprotocol))
        text_appendf(peer_out(ws->peer), "Sec-WebSocket-Protocol: %s\r\n", options->subprotocol);
    text_append_string(peer_out(ws->peer), "\r\n");
    peer_flush(ws->peer);
    return ws;
}

void ws_send_head(struct ws *ws, enum ws_opcode opcode, uint64_t len)
{
    uint8_t head[10] = {(uint8_t)(0x80u | opcode)};
    size_t size = 2;
    if (len < 126) {
        head[1] = (uint8_t)len;
    } else if (len < 65536) {
        head[1] = 126;
        head[2] = (uint8_t)(len >> 8);
        head[3] = (uint8_t)len;
        size = 4;
    } else {
        head[1] = 127;
        for (int i = 0; i < 8; i++)
            head[2 + i] = (uint8_t)(len >> (56 - 8 * i));
        size = 10;
    }
    text_append(peer_out(ws->peer), head, size);
}

void ws_send(struct ws *ws, enum ws_opcode opcode, struct bytes payload)
{
    ws_send_head(ws, opcode, payload.len);
    text_append(peer_out(ws->peer), payload.data, payload.len);
}

void ws_flush(struct ws *ws)
{
    peer_flush(ws->peer);
}

bool ws_has_room(const struct ws *ws)
{
    return !ws->ending && !peer_is_busy(ws->peer) && peer_out(ws->peer)->len < OUT_BYTES_ENOUGH;
}

void ws_close(struct ws *ws, unsigned code, const char *reason)
{
    size_t len = strlen(reason);
    char payload[125] = {(char)(code >> 8), (char)code};
    if (len > sizeof payload - 2)
        len = sizeof payload - 2;
    memcpy(payload + 2, reason, len);
    ws->ending = true;
    ws_send(ws, WS_CLOSE, bytes_make(payload, len + 2));
    peer_finish(ws->peer);
}

struct peer *ws_peer(struct ws *ws)
{
    return ws->peer;
}
