/* SPDX-License-Identifier: Apache-2.0
 *
 * runtime.h - the machine as the ingest half sees it: time, timers, chance, HTTP and websockets.
 *
 * A source never touches a socket or a clock; it asks its runtime. The daemon hands it one made of
 * a libuv loop; a simulation hands it one made of a seed, so the same code runs in both. Everything
 * here happens on the runtime's own thread; callbacks are never called from inside the call that
 * asked for them.
 *
 * Owner: the daemon (or the simulation), which outlives every user.  Thread: the ingest loop. */
#ifndef SYS_RUNTIME_H
#define SYS_RUNTIME_H

#include "base/bytes.h"
#include "base/err.h"
#include "base/timer_heap.h"

struct runtime;

/* ---- HTTP ---- */

struct http_header {
    const char *name, *value;
};

struct http_request {
    const char *method; /* "GET" when NULL */
    const char *url;
    const struct http_header *headers;
    size_t header_count;
    struct bytes body;
    uint32_t connect_ms_max, total_ms_max; /* 0: 10 s and 30 s; they begin when the host's turn
                                            * comes, and redirects share the total */
    size_t body_bytes_max;                 /* decoded size of the answer; 0: 16 MiB */
    bool body_cut; /* what is over is not fetched, and the beginning is the answer */
    bool stranger; /* the URL was named by a stranger: private addresses are refused, no proxy,
                    * redirects are followed (each checked again), https and http only */
    uint32_t redirects_max; /* strangers only; 0: the redirect itself is the answer */
};

struct http_response {
    enum rc rc; /* RC_OK: `status` is what the server said. RC_RETRY: no answer (see `err`).
                 * RC_REJECT: refused by us: address, size, protocol (see `err`) */
    struct err err;
    int status;
    struct bytes body;         /* decoded, ARENA_PAD readable bytes follow; borrowed for the call */
    struct bytes headers;      /* "name: value\r\n" lines of the last answer, names lowercased */
    int64_t retry_after_ms;    /* from Retry-After, -1 when absent */
    const char *effective_url; /* after redirects */
};

/* The value of header `name` (lowercase) in a response, or absent. */
struct bytes http_header_value(const struct http_response *response, const char *name);

typedef void http_done_fn(void *arg, const struct http_response *response);

struct http_call; /* an exchange under way; gone once its function was called */

/* ---- websocket ---- */

struct ws_request {
    const char *url; /* ws:// or wss:// */
    const struct http_header *headers;
    size_t header_count;
    uint32_t connect_ms_max;  /* 0: 10 s */
    size_t message_bytes_max; /* 0: 4 MiB */
    uint32_t ping_ms,
        pong_ms_max; /* liveness: ping every `ping_ms` (0: 30 s), dead when no pong and
                                    * no data came for `pong_ms_max` after it (0: 10 s) */
};

/* `closed` is called exactly once, also when the dial fails; nothing is called after it. */
struct ws_events {
    void (*opened)(void *arg);
    /* One whole message, borrowed for the call; at least ARENA_PAD readable bytes follow it. */
    void (*message)(void *arg, bool binary, struct bytes payload);
    /* `status` is the HTTP status of a refused upgrade or the websocket close code, 0 if neither;
     * `body` the first bytes of a refusal's body. */
    void (*closed)(void *arg, int status, struct bytes body, const struct err *why);
    /* A refused upgrade said for how long it wants to be left alone; `closed` follows. NULL: nobody
     * wants to know. */
    void (*refused)(void *arg, int64_t retry_after_ms);
    /* A message over the limit came in its place, and its bytes are gone. NULL: it closes the
     * connection. */
    void (*too_large)(void *arg, uint64_t bytes);
};

struct ws;

/* ---- the table ---- */

struct runtime_ops {
    int64_t (*wall_us)(struct runtime *runtime); /* UTC; may step */
    int64_t (*mono_us)(struct runtime *runtime); /* never goes back */
    uint64_t (*random)(struct runtime *runtime);
    void (*timer_arm)(struct runtime *runtime, struct timer *timer, int64_t delay_us);
    void (*timer_disarm)(struct runtime *runtime, struct timer *timer);
    struct http_call *(*http_send)(struct runtime *runtime, const struct http_request *request,
                                   http_done_fn *done, void *arg);
    /* Ends the exchange without calling its function. */
    void (*http_cancel)(struct runtime *runtime, struct http_call *call);
    struct ws *(*ws_open)(struct runtime *runtime, const struct ws_request *request,
                          const struct ws_events *events, void *arg);
    /* RC_AGAIN: too much waits to be sent already. RC_REJECT: the connection is not open. */
    enum rc (*ws_send_text)(struct ws *ws, struct bytes payload);
    /* While `on` nothing is taken off the wire, pings included; a little that was taken before may
     * still come. */
    void (*ws_hold)(struct ws *ws, bool on);
    /* Sends a close frame, ends the connection and calls `closed` later. */
    void (*ws_close)(struct ws *ws, uint16_t code, const char *reason);
};

struct runtime {
    const struct runtime_ops *ops;
};

#endif
