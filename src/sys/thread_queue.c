/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/thread_queue.h"

#include "base/bytes.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define YEAR_S (365 * 86400)

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    void **items;
    unsigned first, count, capacity;
    bool closed;
};

struct queue *queue_new(unsigned capacity)
{
    assert(capacity > 0);
    struct queue *queue = memory_new_zeroed(1, sizeof *queue);
    pthread_condattr_t attributes;
    pthread_mutex_init(&queue->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&queue->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    queue->items = memory_new_zeroed(capacity, sizeof(void *));
    queue->capacity = capacity;
    return queue;
}

void queue_free(struct queue *queue)
{
    assert(queue->count == 0);
    pthread_cond_destroy(&queue->changed);
    pthread_mutex_destroy(&queue->lock);
    free(queue->items);
    free(queue);
}

enum rc queue_push(struct queue *queue, void *item)
{
    assert(item != NULL);
    pthread_mutex_lock(&queue->lock);
    enum rc rc = queue->closed ? RC_REJECT : queue->count == queue->capacity ? RC_AGAIN : RC_OK;
    if (rc == RC_OK) {
        queue->items[(queue->first + queue->count++) % queue->capacity] = item;
        pthread_cond_broadcast(&queue->changed);
    }
    pthread_mutex_unlock(&queue->lock);
    return rc;
}

static struct timespec deadline_after(int64_t wait_us)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += wait_us / 1000000 < YEAR_S ? wait_us / 1000000 : YEAR_S;
    at.tv_nsec += (wait_us % 1000000) * 1000;
    if (at.tv_nsec >= 1000000000) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000;
    }
    return at;
}

void *queue_pop(struct queue *queue, int64_t wait_us)
{
    struct timespec at = deadline_after(wait_us > 0 ? wait_us : 0);
    void *item = NULL;
    pthread_mutex_lock(&queue->lock);
    while (queue->count == 0 && !queue->closed && wait_us > 0)
        if (pthread_cond_timedwait(&queue->changed, &queue->lock, &at) != 0 &&
            wait_us != QUEUE_FOR_EVER)
            break;
    if (queue->count > 0) {
        item = queue->items[queue->first];
        queue->first = (queue->first + 1) % queue->capacity;
        queue->count--;
    }
    pthread_mutex_unlock(&queue->lock);
    return item;
}

void queue_close(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->closed = true;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

bool queue_is_closed(struct queue *queue)
{
    return queue_wait_closed(queue, 0);
}

bool queue_wait_closed(struct queue *queue, int64_t wait_us)
{
    struct timespec at = deadline_after(wait_us);
    pthread_mutex_lock(&queue->lock);
    while (!queue->closed && wait_us > 0)
        if (pthread_cond_timedwait(&queue->changed, &queue->lock, &at) != 0)
            break;
    bool closed = queue->closed;
    pthread_mutex_unlock(&queue->lock);
    return closed;
}

void queue_rest(struct queue *queue, int64_t wait_us)
{
    struct timespec at = deadline_after(wait_us);
    pthread_mutex_lock(&queue->lock);
    while (pthread_cond_timedwait(&queue->changed, &queue->lock, &at) == 0)
        continue;
    pthread_mutex_unlock(&queue->lock);
}

unsigned queue_count(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    unsigned count = queue->count;
    pthread_mutex_unlock(&queue->lock);
    return count;
}
