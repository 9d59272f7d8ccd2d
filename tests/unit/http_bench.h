/* SPDX-License-Identifier: Apache-2.0
 *
 * http_bench.h - an HTTP client at work against a scripted server, on one loop.
 *
 * The server says the same to every request, or what a script says; what the client was told last
 * lies in the bench. */
#ifndef TESTS_HTTP_BENCH_H
#define TESTS_HTTP_BENCH_H

#include "script_server.h"
#include "sys/network.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { CALLS_MAX = 64 };

struct bench {
    struct loop *loop;
    struct runtime *runtime;
    struct network *network;
    struct script_server *server;
    const char *answer; /* what the server says to each request; NULL: nothing */
    struct text answer_text;
    script_fn *script; /* instead of the answer */
    bool hang_up;
    struct text heard; /* all requests */
    size_t requests;

    struct http_call *calls[CALLS_MAX];
    size_t told, wanted;
    bool inside;
    /* of the last one told */
    enum rc rc;
    int status;
    int64_t retry_after_ms;
    struct text body, headers, effective_url;
    struct err err;
};

#define TEST(name) cmocka_unit_test_setup_teardown(name, bench_start, bench_finish)

int bench_start(void **state);
int bench_start_with(void **state, struct network_options options);
int bench_finish(void **state);
/* Sends a request to the server's `path`, or to the address in it. */
struct http_call *ask(struct bench *bench, const char *path, struct http_request request);
/* Asks once and waits for the end. */
void fetch(struct bench *bench, const char *path, struct http_request request);
void assert_says(struct bench *bench, enum rc rc, const char *words);

#endif
