/* SPDX-License-Identifier: Apache-2.0
 *
 * sim_http.h - exchanges with servers that fail.
 *
 * What a server says is decided when the question leaves or when the answer arrives, so some
 * answers are old news. It may be lost, late, cut off or an error; a server may be gone for
 * minutes, and a server that wants to be left alone must be.
 *
 * Thread: one. */
#ifndef TESTS_SIM_HTTP_H
#define TESTS_SIM_HTTP_H

#include "base/bytes.h"
#include "base/timer_heap.h"
#include "sys/runtime.h"

struct sim_life;
struct sim_world;

enum sim_server {
    SERVER_ALPHA, /* providers of the account */
    SERVER_BETA,
    SERVER_NODE_A,
    SERVER_NODE_B,
    SERVER_GATE_A,
    SERVER_GATE_B,
    SIM_SERVERS
};

/* Whom a process must leave alone, as that server told it. */
struct sim_manners {
    int64_t quiet_until_us;
};

struct http_call {
    struct http_call *next;
    struct sim_life *life;
    http_done_fn *done;
    void *arg;
    struct timer timer;
    enum sim_server server;
    struct text url, question, body;
    int status;
    bool said, lost, garbled;
    int64_t retry_after_ms;
};

struct http_call *sim_http_send(struct runtime *runtime, const struct http_request *request,
                                http_done_fn *done, void *arg);
void sim_http_cancel(struct runtime *runtime, struct http_call *call);
/* Ends what is under way for a life that is dropped. */
void sim_http_free(struct sim_life *life);

#endif
