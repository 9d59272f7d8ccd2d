/* SPDX-License-Identifier: Apache-2.0
 *
 * service.h - what a route may use of the server it is of.
 *
 * Owner: the server.  Thread: the serving loop. */
#ifndef SERVE_SERVICE_H
#define SERVE_SERVICE_H

#include "query/refusal.h"
#include "serve/server.h"
#include "serve/unsent.h"

struct desk;
struct gate;
struct handles;
struct json_doc;
struct rate_log;
struct reader_pool;
struct request;
struct runtime;
struct seq_waits;
struct tail_hub;
struct tail_watches;
struct view_cache;
struct worker_pool;
struct ws_sessions;

struct service {
    const struct server_options *options;
    struct runtime *runtime;
    struct gate *gate;
    struct worker_pool *packers; /* make large answers smaller; NULL: none do */
    struct handles *handles;
    struct tail_hub *tails;
    struct tail_watches *watches;
    struct seq_waits *waits;
    struct ws_sessions *websockets;
    struct rate_log *rates;
    struct view_cache *views; /* pages of the last moments */
    /* A request that is whole is answered, or is so later; it is to be freed. */
    void (*dispatch)(void *server, struct request *request);
    void (*completed)(void *server, struct request *request);
    void *server; /* for both */
    struct reader_pool *readers;
    unsigned waiting, waiting_max; /* requests that wait for a reader, or are with one */
    unsigned polls[LISTENER_COUNT], polls_max; /* requests that wait for a change, of each */
    struct desk *desk;     /* where what is to be written goes; NULL: nothing can be */
    struct json_doc *doc;  /* for request bodies; its values last until the next parse */
    size_t body_bytes;     /* of all requests */
    struct unsent unsent;  /* of all answers */
    unsigned ws_reads_max; /* large answers of one websocket that are read at a time */
    uint64_t list_cursors; /* lists that went on from a client's own cursor */
    uint64_t refusals[REFUSAL_COUNT];
    uint64_t cuts; /* connections that took too long */
    bool draining;
};

#endif
