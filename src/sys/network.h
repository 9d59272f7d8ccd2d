/* SPDX-License-Identifier: Apache-2.0
 *
 * network.h - the upstream side of a loop: its HTTP and websocket clients.
 *
 * Making one attaches it to the loop, so that the loop's runtime answers the whole table.
 *
 * Owner: whoever owns the loop.  Thread: the loop's. */
#ifndef SYS_NETWORK_H
#define SYS_NETWORK_H

#include "sys/loop.h"

struct network;

/* 0 in a number is its default. */
struct network_options {
    const char *ca_file;        /* who signs the servers' certificates; NULL: the system's list */
    bool allow_private;         /* strangers may name private addresses and any port */
    size_t http_host_calls_max; /* HTTP exchanges under way per origin: 8 */
    size_t http_calls_max;      /* under way together: 64 */
    size_t http_queue_max;      /* waiting: 4,096 */
};

struct network *network_new(struct loop *loop, const struct network_options *options);
/* Ends every exchange and connection without a word to its user. */
void network_free(struct network *network);

#endif
