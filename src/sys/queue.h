/* SPDX-License-Identifier: Apache-2.0
 *
 * queue.h - ownership handed from threads to a thread, with a fixed bound.
 *
 * Pointers come out in the order they went in. Whoever pushed a pointer no longer owns it. Many may
 * push and many may pop. A queue that was closed takes nothing more and gives out what it holds.
 *
 * Any thread, everywhere, but for new and free. */
#ifndef SYS_QUEUE_H
#define SYS_QUEUE_H

#include "base/rc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct queue;

typedef void queue_wake_fn(void *arg);

struct queue *queue_new(size_t cap);
/* Nobody uses it any more. What it still holds is forgotten: pop it first. */
void queue_free(struct queue *queue);

/* For a consumer that does not block: `fn` is called after a push into an empty queue, and when the
 * queue is closed, on that caller's thread, without a lock held. Set before the first push. */
void queue_on_wake(struct queue *queue, queue_wake_fn *fn, void *arg);

/* RC_AGAIN: full. RC_REJECT: closed. The pointer is still the caller's then. It is not NULL. */
must_check enum rc queue_push(struct queue *queue, void *item);
/* Waits up to `timeout_ms` (0: not at all, UINT32_MAX: for ever) and answers NULL when nothing came
 * or the queue is closed and empty. */
void *queue_pop(struct queue *queue, uint32_t timeout_ms);
void queue_close(struct queue *queue);
bool queue_is_closed(struct queue *queue);
size_t queue_count(struct queue *queue);

#endif
