/* SPDX-License-Identifier: Apache-2.0
 *
 * send_queue.h - bytes that wait for a socket to take them.
 *
 * Always holds: the front piece stays at one address with one content until all of it was sent,
 * which TLS demands of a write that is tried again; what is appended meanwhile waits behind it.
 *
 * Owner: one connection.  The bound is the owner's business: ask for the length first. */
#ifndef SYS_SEND_QUEUE_H
#define SYS_SEND_QUEUE_H

#include "base/bytes.h"

#define SEND_QUEUE_PIECE 16384

struct send_queue {
    struct text tail; /* append here */
    size_t tail_at;   /* what went to the front already lies before it */
    size_t front_at, front_len;
    char front[SEND_QUEUE_PIECE];
};

void send_queue_deinit(struct send_queue *queue);
size_t send_queue_len(const struct send_queue *queue);
/* The piece to send next; absent when nothing waits. */
struct bytes send_queue_front(struct send_queue *queue);
/* The socket took the first `len` bytes of the front piece. */
void send_queue_sent(struct send_queue *queue, size_t len);

#endif
