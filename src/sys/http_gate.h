/* SPDX-License-Identifier: Apache-2.0
 *
 * http_gate.h - who may talk to which host now, and who waits.
 *
 * Always holds: at most `host_max` passes per origin and `total_max` together; at most `queue_max`
 * wait, first come first served among those whose host has room. libcurl's own limits are not used,
 * because it makes room by closing connections that are still good.
 *
 * Owner: the HTTP client.  Touches nothing outside. */
#ifndef SYS_HTTP_GATE_H
#define SYS_HTTP_GATE_H

#include "base/rc.h"

#include <stdbool.h>
#include <stddef.h>

#define HTTP_GATE_BUCKETS 256

struct http_gate_host;

/* Owned by the caller, in place from enter to leave. */
struct http_gate_pass {
    struct http_gate_host *host; /* NULL: outside */
    struct http_gate_pass *previous, *next;
    bool waiting;
};

struct http_gate {
    size_t host_max, total_max, queue_max;
    size_t running, waiting;
    struct http_gate_host *hosts[HTTP_GATE_BUCKETS];
    struct http_gate_pass *first, *last;
};

void http_gate_init(struct http_gate *gate, size_t host_max, size_t total_max, size_t queue_max);
/* Everybody has left before. */
void http_gate_deinit(struct http_gate *gate);

/* RC_OK: go. RC_AGAIN: wait for http_gate_next(). RC_RETRY: too many wait; the pass is outside. */
must_check enum rc http_gate_enter(struct http_gate *gate, struct http_gate_pass *pass,
                                   const char *origin);
/* Also for one that waits; nothing happens to one that is outside. */
void http_gate_leave(struct http_gate *gate, struct http_gate_pass *pass);
/* Lets the next one go that may; NULL when none may. */
struct http_gate_pass *http_gate_next(struct http_gate *gate);

#endif
