/* SPDX-License-Identifier: Apache-2.0
 *
 * xrpc.h - one XRPC query: its parameters checked the way the real AppView does, its answer, and
 * the planned misfortunes of such requests.
 *
 * Everything is decided within the handler's call; after the answer nothing may be added. */
#ifndef SIM_XRPC_H
#define SIM_XRPC_H

#include "sim/sim.h"

#define XRPC_CURSOR_SIZE 128

struct xrpc {
    struct http_exchange *exchange;
    struct sim *sim;
    struct bytes query;
    char method[64]; /* "app.bsky.actor.getProfile" */
    struct text body;
};

/* False when a fault or a bad token has been answered already. */
bool xrpc_begin(struct xrpc *call, struct http_exchange *exchange, void *arg);
/* Sends the body as the answer. */
void xrpc_finish(struct xrpc *call);
void xrpc_fail(struct xrpc *call, int status, const char *error, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Reads `limit` (1 to 100, else 50); false when it is bad, which has been answered. */
bool xrpc_read_limit(struct xrpc *call, unsigned *limit);
/* Finds the account that `actor` names by DID or handle; WORLD_NONE in `account` when nobody is
 * called that. False when the parameter is missing or malformed, which has been answered. */
bool xrpc_read_actor(struct xrpc *call, char actor[256], uint32_t *account);
uint32_t xrpc_find_actor(const struct world *world, struct bytes actor);

/* An answer that lists what a repeated parameter names: {"MEMBER":[...]}. */
struct xrpc_list {
    const char *parameter, *member;
    unsigned max;
    bool needed; /* it has to name something */
    /* Appends one; false: there is no such thing, and it is left out. */
    bool (*put)(const struct world *world, struct bytes name, struct text *out);
};
void xrpc_answer_list(struct xrpc *call, const struct xrpc_list *list);

#endif
