/* SPDX-License-Identifier: Apache-2.0
 *
 * ws_crowd.h - many websocket clients of one server, all on one thread.
 *
 * Pings are answered. A client whose connection ends ends the benchmark: nobody may be lost.
 *
 * Owner: the benchmark.  Thread: one. */
#ifndef BENCH_WS_CROWD_H
#define BENCH_WS_CROWD_H

#include "base/bytes.h"

struct ws_crowd;

/* A whole message, borrowed for the call. */
typedef void ws_heard_fn(void *arg, size_t client, struct bytes message);

/* Connects so many clients to the port on loopback, one after the other. */
struct ws_crowd *ws_crowd_open(unsigned port, size_t count, ws_heard_fn *heard, void *arg);
void ws_crowd_say(struct ws_crowd *crowd, size_t client, struct bytes message);
/* Takes what has come, waiting for it at most so long. */
void ws_crowd_hear(struct ws_crowd *crowd, int wait_ms);
/* Pings that were answered so far, of all clients. */
size_t ws_crowd_pings(const struct ws_crowd *crowd);
void ws_crowd_close(struct ws_crowd *crowd);

#endif
