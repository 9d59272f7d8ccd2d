/* SPDX-License-Identifier: Apache-2.0
 *
 * ws_bench.h - a websocket client at work against a scripted server, on one loop.
 *
 * A test says what the server sends with its 101 and how it takes frames; what either side heard
 * lies in the bench. */
#ifndef TESTS_WS_BENCH_H
#define TESTS_WS_BENCH_H

#include "script_server.h"
#include "sys/network.h"
#include "ws_script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

struct bench;
typedef void frame_fn(struct bench *bench, struct script_conn *conn, int opcode,
                      struct bytes payload);

struct bench {
    struct loop *loop;
    struct runtime *runtime;
    struct network *network;
    struct script_server *server;

    /* the server's side */
    struct text at_once; /* sent together with the 101 */
    frame_fn *on_frame;
    struct text heard; /* "opcode:payload;" of each client frame */
    size_t wanted, sent, pongs;

    /* the client's side */
    struct ws *ws;
    struct text hello; /* sent when open */
    struct text log;   /* "t:payload;" or "b:payload;" of each message */
    bool patient;      /* a message over the limit does not end it */
    bool quiet;        /* count messages only */
    size_t messages, message_bytes;
    uint64_t sum;
    bool close_on_message, inside;
    int opened, closed, status;
    struct text body;
    struct err why;
};

#define TEST(name) cmocka_unit_test_setup_teardown(name, ws_bench_start, ws_bench_finish)

/* Opens, runs until it is closed, and says how. */
void converse(struct bench *bench, struct ws_request request);
void assert_says(struct bench *bench, const char *words);
int ws_bench_start(void **state);
int ws_bench_finish(void **state);

#endif
