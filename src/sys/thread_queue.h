/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_queue.h - how ownership passes from thread to thread.
 *
 * A bounded first-in first-out queue of pointers: whoever pushed no longer owns, whoever popped
 * does. Full is an answer (RC_AGAIN), never a wait (I6). A closed queue takes nothing more and
 * gives out what it holds.
 *
 * Thread: any, on both ends. */
#ifndef SYS_THREAD_QUEUE_H
#define SYS_THREAD_QUEUE_H

#include "base/rc.h"

#include <stdbool.h>
#include <stdint.h>

#define QUEUE_FOR_EVER INT64_MAX

struct queue;

struct queue *queue_new(unsigned capacity);
void queue_free(struct queue *queue); /* must be empty */
/* RC_AGAIN when full, RC_REJECT when closed: the caller still owns `item`. */
must_check enum rc queue_push(struct queue *queue, void *item);
/* Waits up to `wait_us` (0: not at all); NULL when nothing came or the queue is closed and
 * empty. */
void *queue_pop(struct queue *queue, int64_t wait_us);
void queue_close(struct queue *queue);
bool queue_is_closed(struct queue *queue);
/* Waits up to `wait_us` for the queue to be closed. */
bool queue_wait_closed(struct queue *queue, int64_t wait_us);
/* Waits `wait_us` whatever happens: paces whoever serves the queue. */
void queue_rest(struct queue *queue, int64_t wait_us);
unsigned queue_count(struct queue *queue);

#endif
