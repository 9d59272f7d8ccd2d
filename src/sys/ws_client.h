/* SPDX-License-Identifier: Apache-2.0
 *
 * ws_client.h - websocket connections to upstreams.
 *
 * A connection goes dialing -> upgrading -> open -> closing -> over and never back; from any state
 * it can be over at once. `closed` is called exactly once, from a later turn of the loop, and the
 * connection is gone when it returns. Pings are answered and silence is noticed without the owner's
 * help; bytes taken off the socket in one turn are bounded, so one loud peer starves nobody.
 *
 * Owner: the network.  Thread: the loop's.  Never reconnects: that is its user's decision. */
#ifndef SYS_WS_CLIENT_H
#define SYS_WS_CLIENT_H

#include "sys/loop.h"

struct ws_client;

/* `ca_file`: who signs the servers' certificates; NULL: the system's list. */
struct ws_client *ws_client_new(struct loop *loop, const char *ca_file);
/* Ends every connection without a word to its user. */
void ws_client_free(struct ws_client *client);

/* What these promise stands with the runtime's table. */
struct ws *ws_client_open(struct ws_client *client, const struct ws_request *request,
                          const struct ws_events *events, void *arg);
/* RC_AGAIN: too much waits to be sent already. RC_REJECT: the connection is not open. */
must_check enum rc ws_client_send_text(struct ws *ws, struct bytes payload);
void ws_client_hold(struct ws *ws, bool on);
void ws_client_close(struct ws *ws, uint16_t code, const char *reason);

#endif
