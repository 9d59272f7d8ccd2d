/* SPDX-License-Identifier: Apache-2.0
 *
 * ws_server.h - the server's side of one websocket.
 *
 * Frames to the client are whole and unmasked. The server pings; a client that does not answer in
 * time is cut off without a close frame. Always holds: on_closed is the last call a handler gets,
 * exactly once.
 *
 * Owner: itself, until it closed.  Thread: loop. */
#ifndef SIM_WS_SERVER_H
#define SIM_WS_SERVER_H

#include "sim/http_server.h"

enum ws_opcode { WS_TEXT = 1, WS_BINARY = 2, WS_CLOSE = 8, WS_PING = 9, WS_PONG = 10 };

struct ws_options {
    uint64_t ping_ms, pong_wait_ms; /* ping_ms 0: no pings */
    uint64_t message_bytes_max;
    const char *subprotocol; /* chosen when the client offers it; NULL: none */
};

struct ws;

struct ws_handler {
    void (*on_message)(void *arg, enum ws_opcode opcode, struct bytes message);
    void (*on_ready)(void *arg); /* everything sent so far went to the kernel */
    void (*on_closed)(void *arg);
};

/* Answers the handshake and takes the connection over; a request that is no handshake is answered
 * with 400 and NULL returned. */
struct ws *ws_accept(struct http_exchange *exchange, const struct ws_options *options,
                     const struct ws_handler *handler, void *arg);
/* Appends one frame; it leaves with ws_flush. */
void ws_send(struct ws *ws, enum ws_opcode opcode, struct bytes payload);
/* Appends only the head of a frame whose payload has `len` bytes. */
void ws_send_head(struct ws *ws, enum ws_opcode opcode, uint64_t len);
void ws_flush(struct ws *ws);
/* True when on_ready is not to be waited for and more frames may be appended. */
bool ws_has_room(const struct ws *ws);
/* Sends a close frame and ends the connection. */
void ws_close(struct ws *ws, unsigned code, const char *reason);
struct peer *ws_peer(struct ws *ws);

#endif
