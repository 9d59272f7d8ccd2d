/* SPDX-License-Identifier: Apache-2.0
 *
 * breaking_proxy.h - stands between a client and PostgreSQL and breaks the line at a message.
 *
 * It knows the protocol's framing only: messages are counted on each side since the plan was made,
 * over all connections. When the plan strikes, the client's side is closed; the server gets to read
 * what was passed on and then the end. One plan strikes once.
 *
 * Thread: its own; the functions are for the test's. */
#ifndef TESTS_FAULT_BREAKING_PROXY_H
#define TESTS_FAULT_BREAKING_PROXY_H

#include <stdbool.h>

enum proxy_side { PROXY_CLIENT, PROXY_SERVER };

enum proxy_fate {
    PROXY_CUT,   /* the line breaks */
    PROXY_WALL,  /* and nobody comes back until new connections are allowed */
    PROXY_STALL, /* nothing passes any more, until the line is cut by hand */
};

struct proxy;

/* Forwards from a free loopback port to the server of `url`, whose database it keeps. */
struct proxy *proxy_start(const char *url);
void proxy_stop(struct proxy *proxy);
/* The address of the store behind the proxy. */
const char *proxy_url(const struct proxy *proxy);
/* `after` messages of `side` still pass. */
void proxy_break(struct proxy *proxy, enum proxy_side side, long after, enum proxy_fate fate);
/* Takes the plan back; whether it had struck. */
bool proxy_mend(struct proxy *proxy);
bool proxy_has_struck(struct proxy *proxy);
/* Connections made since the start; a cancelled query is one more. */
unsigned proxy_dialled(struct proxy *proxy);
/* Cuts every line there is now. */
void proxy_cut_all(struct proxy *proxy);
/* Whether new connections are closed at once. */
void proxy_refuse(struct proxy *proxy, bool refuse);

#endif
