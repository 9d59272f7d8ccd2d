/* SPDX-License-Identifier: Apache-2.0
 *
 * listener.h - one address of the server, and the HTTP/1.1 that is spoken there.
 *
 * Bytes become requests and answers become bytes; what a request means is decided elsewhere. A
 * request whose length can be read in two ways (two Content-Length, one beside a Transfer-Encoding,
 * any coding but chunked) is refused and its connection closed, for a proxy in front might read it
 * the other way. Headers have to fit the connection's memory, from which the head of the answer is
 * made, too, and be LISTENER_HEADERS_MAX at most; bodies have to fit what their route allows.
 *
 * Always holds: a request that waits is suspended and costs no thread; the listener is freed only
 * when none waits. The library does not look at a suspended connection: who waits for long is
 * watched here, for a client that is gone must not keep its connection from others.
 *
 * Owner: the server.  Thread: the serving loop; made and freed while the loop does not run. */
#ifndef SERVE_LISTENER_H
#define SERVE_LISTENER_H

#include "serve/request.h"
#include "sys/loop.h"

#define LISTENER_BODY_MAX    (1 << 20)  /* where a route says nothing else */
#define LISTENER_BODIES_MAX  (64 << 20) /* of all requests together */
#define LISTENER_MEMORY_MAX  8192
#define LISTENER_HEAD_MAX    (LISTENER_MEMORY_MAX - 640) /* the answer's head needs the rest */
#define LISTENER_HEADER_COST 64 /* what the library notes of one header, beside its bytes */
#define LISTENER_HEADERS_MAX 64

struct listener_options {
    enum listener_kind kind;
    int fd;     /* listening; the listener takes it over, if it starts */
    bool local; /* a loopback address: only who means it is heard */
    struct loop *loop;
    struct service *service;
    unsigned connections_max;
    unsigned address_connections_max; /* of one client's address; 0: no limit */
    unsigned idle_s_max, request_s_max;
    unsigned send_bytes_s_min; /* a client that takes an answer more slowly is cut */
    /* The request is whole: answers it, or sees to it that listener_resume() is called later. */
    void (*dispatch)(void *arg, struct request *request);
    /* Its answer was sent, or its client is gone. The request is freed afterwards. */
    void (*completed)(void *arg, struct request *request);
    void *arg;
};

/* NULL when the library refuses to start. */
struct listener *listener_new(const struct listener_options *options);
void listener_free(struct listener *listener);
/* The request was answered: its connection goes on. */
void listener_resume(struct request *request);
/* There is more of its stream. */
void listener_wake(struct request *request);
/* A request that waits for something to happen: `gone` is called, at most once, when its client
 * hangs up first, and answers it or ends its stream. Of what came over a websocket this is called
 * when that ends. */
void listener_watch(struct request *request, route_fn *gone);
/* It waits no longer. */
void listener_unwatch(struct request *request);
/* Does what can be done without waiting. */
void listener_run(struct listener *listener);

#endif
