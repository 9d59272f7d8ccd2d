/* SPDX-License-Identifier: Apache-2.0
 *
 * http_server.h - a small HTTP/1.1 server for tests, on the loopback address only.
 *
 * One request at a time per connection, kept alive unless the client says otherwise; a body needs
 * a Content-Length. What it does not understand it answers with 400, 411, 413 or 431 and closes. A
 * handler answers at once or takes the connection over. Requests are counted per route.
 *
 * Owner: the program.  Thread: loop. */
#ifndef SIM_HTTP_SERVER_H
#define SIM_HTTP_SERVER_H

#include "base/bytes.h"
#include "base/err.h"
#include "sim/peer.h"

#define HTTP_HEADERS_MAX 64

struct http_request {
    struct bytes method, path, query;
    struct {
        struct bytes name, value;
    } headers[HTTP_HEADERS_MAX];
    unsigned header_count;
    struct bytes body;
};

struct http_exchange;
typedef void http_handler_fn(struct http_exchange *exchange, void *arg);

struct http_route {
    const char *method, *path; /* a path that ends in * stands for all that begin so */
    http_handler_fn *handler;
    uint64_t requests;
};

struct http_server;

/* `routes` stays the caller's and ends with a route without a path, whose handler (may be NULL)
 * gets everything else. Port 0 picks a free one. */
must_check enum rc http_server_start(struct http_server **out, uv_loop_t *loop, unsigned port,
                                     struct http_route *routes, void *arg, struct err *err);
/* Everything is spoken over TLS from now on; `ask` says what the next connection meets. */
typedef enum tls_manner http_manner_fn(void *arg);
void http_server_secure(struct http_server *server, struct tls_keys *keys, http_manner_fn *ask);
/* Tells `watch` of every request that was answered, taken over (101) or dropped (0). */
typedef void http_watch_fn(void *arg, const struct http_request *request, int status);
void http_server_watch(struct http_server *server, http_watch_fn *watch);
unsigned http_server_port(const struct http_server *server);
/* Stops listening and ends all connections that nobody took over; free it when the loop ran dry. */
void http_server_stop(struct http_server *server);
void http_server_free(struct http_server *server);

const struct http_request *http_exchange_request(const struct http_exchange *exchange);
/* Value of a header, name without regard to case; absent when it is not there. */
struct bytes http_request_header(const struct http_request *request, const char *name);
/* `headers`: further lines, each ended by CRLF, or NULL. */
void http_reply(struct http_exchange *exchange, int status, const char *type, const char *headers,
                struct bytes body);
/* Bytes that are a whole answer already; `close` ends the connection after them. */
void http_reply_raw(struct http_exchange *exchange, int status, struct bytes answer, bool close);
void http_reply_text(struct http_exchange *exchange, int status, const char *text);
/* The connection is the caller's from now on; the request stays readable until the handler
 * returns. Call peer_hand_over before that. */
struct peer *http_take_over(struct http_exchange *exchange);
/* For the ways in which a connection can misbehave. */
struct peer *http_exchange_peer(const struct http_exchange *exchange);
/* Ends the connection without an answer. */
void http_drop(struct http_exchange *exchange);

#endif
