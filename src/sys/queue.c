/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/queue.h"

#include "base/bytes.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct queue {
    pthread_mutex_t mutex;
    pthread_cond_t filled;
    queue_wake_fn *wake;
    void *wake_arg;
    bool closed;
    size_t cap, head, count;
    void *items[];
};

struct queue *queue_new(size_t cap)
{
    assert(cap > 0 && cap < SIZE_MAX / sizeof(void *) / 2);
    struct queue *queue = memory_new_zeroed(1, sizeof *queue + cap * sizeof(void *));
    queue->cap = cap;
    pthread_condattr_t attr;
    if (pthread_mutex_init(&queue->mutex, NULL) != 0 || pthread_condattr_init(&attr) != 0 ||
        pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) != 0 ||
        pthread_cond_init(&queue->filled, &attr) != 0)
        abort();
    pthread_condattr_destroy(&attr);
    return queue;
}

void queue_free(struct queue *queue)
{
    pthread_cond_destroy(&queue->filled);
    pthread_mutex_destroy(&queue->mutex);
    free(queue);
}

void queue_on_wake(struct queue *queue, queue_wake_fn *fn, void *arg)
{
    assert(queue->count == 0);
    queue->wake = fn;
    queue->wake_arg = arg;
}

enum rc queue_push(struct queue *queue, void *item)
{
    assert(item != NULL);
    enum rc rc = RC_OK;
    bool was_empty = false;
    pthread_mutex_lock(&queue->mutex);
    if (queue->closed) {
        rc = RC_REJECT;
    } else if (queue->count == queue->cap) {
        rc = RC_AGAIN;
    } else {
        was_empty = queue->count == 0;
        queue->items[(queue->head + queue->count) % queue->cap] = item;
        queue->count++;
        pthread_cond_signal(&queue->filled);
    }
    pthread_mutex_unlock(&queue->mutex);
    if (was_empty && queue->wake != NULL)
        queue->wake(queue->wake_arg);
    return rc;
}

static struct timespec deadline_in(uint32_t ms)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += ms / 1000;
    at.tv_nsec += (long)(ms % 1000) * 1000000;
    if (at.tv_nsec >= 1000000000) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000;
    }
    return at;
}

static void wait_for_item(struct queue *queue, uint32_t timeout_ms)
{
    struct timespec until = deadline_in(timeout_ms == UINT32_MAX ? 0 : timeout_ms);
    int result = timeout_ms == 0 ? ETIMEDOUT : 0;
    while (queue->count == 0 && !queue->closed && result != ETIMEDOUT)
        result = timeout_ms == UINT32_MAX
                     ? pthread_cond_wait(&queue->filled, &queue->mutex)
                     : pthread_cond_timedwait(&queue->filled, &queue->mutex, &until);
}

void *queue_pop(struct queue *queue, uint32_t timeout_ms)
{
    void *item = NULL;
    pthread_mutex_lock(&queue->mutex);
    wait_for_item(queue, timeout_ms);
    if (queue->count > 0) {
        item = queue->items[queue->head];
        queue->head = (queue->head + 1) % queue->cap;
        queue->count--;
    }
    pthread_mutex_unlock(&queue->mutex);
    return item;
}

void queue_close(struct queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    queue->closed = true;
    pthread_cond_broadcast(&queue->filled);
    pthread_mutex_unlock(&queue->mutex);
    if (queue->wake != NULL)
        queue->wake(queue->wake_arg);
}

bool queue_is_closed(struct queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    bool closed = queue->closed;
    pthread_mutex_unlock(&queue->mutex);
    return closed;
}

size_t queue_count(struct queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    size_t count = queue->count;
    pthread_mutex_unlock(&queue->mutex);
    return count;
}
