/* SPDX-License-Identifier: Apache-2.0
 *
 * peer.h - one accepted TCP connection, and the ways in which it can misbehave.
 *
 * Bytes to send are appended to peer_out() and leave with peer_flush(); when all have gone to the
 * kernel the handler hears on_drained and may append more, so the reader's pace is the writer's.
 * Always holds: on_closed is the last call a handler gets, exactly once, and the peer is gone after
 * it. A stalled peer neither reads nor writes; a slow one writes a few bytes per tick.
 *
 * Owner: itself, until it closed.  Thread: loop. */
#ifndef SIM_PEER_H
#define SIM_PEER_H

#include "base/bytes.h"
#include "sim/tls_line.h"

#include <uv.h>

struct peer;

struct peer_handler {
    void (*on_bytes)(void *arg, struct bytes input);
    void (*on_drained)(void *arg);
    void (*on_closed)(void *arg);
};

/* Takes the next waiting connection of the listener; NULL when that failed. With `keys` it speaks
 * TLS, in the manner given. */
struct peer *peer_accept(uv_stream_t *listener, const struct peer_handler *handler, void *arg,
                         struct tls_keys *keys, enum tls_manner manner);
void peer_hand_over(struct peer *peer, const struct peer_handler *handler, void *arg);
/* What waits to be sent; appended to by the handler. */
struct text *peer_out(struct peer *peer);
void peer_flush(struct peer *peer);
/* True while bytes are on their way or the peer is closing: no on_drained is missing. */
bool peer_is_busy(const struct peer *peer);
/* Ends the connection after what was appended so far went out. */
void peer_finish(struct peer *peer);
/* Ends it now with a reset: what was not sent is lost. */
void peer_reset(struct peer *peer);
void peer_stall(struct peer *peer, uint64_t ms);
bool peer_is_stalled(const struct peer *peer);
/* For `ms` milliseconds sends `bytes` every 10 ms. */
void peer_slow(struct peer *peer, size_t bytes, uint64_t ms);
uv_loop_t *peer_loop(const struct peer *peer);

#endif
