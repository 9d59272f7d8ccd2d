/* SPDX-License-Identifier: Apache-2.0
 *
 * xrpc_session.h - who may ask: app-password sessions with tokens that expire.
 *
 * Tokens are JWTs in shape and carry what has to be known about them; nothing is kept but which
 * refresh tokens were used. They are no secret and prove nothing. */
#ifndef SIM_XRPC_SESSION_H
#define SIM_XRPC_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xrpc;

struct sim_sessions {
    uint64_t created, refreshed, expired;
    int64_t issued;
    bool *used; /* by the number of a refresh token */
    size_t used_cap;
};

/* False when the call needs a good token and has none, which has been answered. */
bool xrpc_session_admits(struct xrpc *call);

#endif
