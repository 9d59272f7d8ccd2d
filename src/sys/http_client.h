/* SPDX-License-Identifier: Apache-2.0
 *
 * http_client.h - HTTP exchanges with upstreams, and with hosts that strangers named.
 *
 * An exchange is waiting (for its host's turn) -> under way -> told; its function is called exactly
 * once, from a later turn of the loop, unless it is cancelled. Its time begins when it gets its
 * turn, and redirects share it. An answer's decoded size is counted as it comes, so a small bomb is
 * cut while it is still small.
 *
 * A stranger's address never gets a connection to a host that is not public, however it is spelt:
 * the check is made on the address that is about to be connected, and again on the one in use. It
 * shares no connections with configured upstreams.
 *
 * Owner: the network.  Thread: the loop's.  Never retries: that is its user's decision. */
#ifndef SYS_HTTP_CLIENT_H
#define SYS_HTTP_CLIENT_H

#include "sys/loop.h"

struct http_client;

/* 0 in a number is its default. */
struct http_client_options {
    const char *ca_file;   /* who signs the servers' certificates; NULL: the system's list */
    bool allow_private;    /* strangers may name addresses that are not public */
    bool any_port;         /* strangers may name other ports than 80 and 443 */
    size_t host_calls_max; /* under way per origin: 8 */
    size_t calls_max;      /* under way together: 64 */
    size_t queue_max;      /* waiting: 4,096 */
};

struct http_client *http_client_new(struct loop *loop, const struct http_client_options *options);
/* Ends every exchange without a word to its user. */
void http_client_free(struct http_client *client);

/* What these promise stands with the runtime's table. */
struct http_call *http_client_send(struct http_client *client, const struct http_request *request,
                                   http_done_fn *done, void *arg);
void http_client_cancel(struct http_client *client, struct http_call *call);

#endif
