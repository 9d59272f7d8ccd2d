/* SPDX-License-Identifier: Apache-2.0
 *
 * ws_peer.h - the client's end of a websocket, for a test.
 *
 * Reading blocks until a whole frame is there; a server that sends none fails the test by the
 * socket's own time limit. */
#ifndef TESTS_WS_PEER_H
#define TESTS_WS_PEER_H

#include "http_peer.h"
#include "sys/ws_codec.h"

struct ws_peer {
    struct http_peer peer;
    struct ws_codec *codec;
    struct bytes input; /* of what was received, not decoded yet */
    struct text received, message;
};

/* Connects and asks for `path`; the status of the answer, 101 when it is a websocket now. `headers`
 * are further lines, each with its line end. */
int ws_peer_open(struct ws_peer *peer, unsigned port, const char *path, const char *headers);
void ws_peer_close(struct ws_peer *peer);
void ws_peer_say(struct ws_peer *peer, const char *text);
void ws_peer_send(struct ws_peer *peer, enum ws_opcode opcode, struct bytes payload);
/* The next message, pings and pongs apart, valid until the next call. */
const char *ws_peer_hear(struct ws_peer *peer);
/* The next frame of any kind; WS_EVENT_NONE: the connection ended. Its payload is in `message`. */
enum ws_event ws_peer_read(struct ws_peer *peer);
/* Reads up to the close frame; its code, 0 when the connection just ended. */
unsigned ws_peer_read_close(struct ws_peer *peer);

#endif
