/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_serve.h - the serving half as the configuration wants it.
 *
 * Thread: the daemon's. */
#ifndef DAEMON_SERVE_H
#define DAEMON_SERVE_H

#include "config.h"
#include "serve/server.h"

/* Fills in what settings decide, which stay borrowed; everything else is zero. */
void serve_options_init(struct server_options *options, const struct config *config);
/* Takes over what can change while it serves, and logs what cannot or is not good. `has_tokens`:
 * whether it was started with tokens. */
void serve_reload(struct server *server, bool has_tokens, const struct config *fresh);

#endif
