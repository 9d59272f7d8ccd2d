/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/worker.h"

#include "sys/thread.h"
#include "sys/thread_queue.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

struct worker {
    struct worker_pool *pool;
    struct thread *thread;
    unsigned number;
};

struct worker_pool {
    struct queue *waiting;
    struct loop_waker *waker;
    size_t jobs_max, jobs; /* the loop's thread only */
    pthread_mutex_t mutex; /* guards the list of those that ran, oldest first */
    struct worker_job *first, *last;
    unsigned worker_count;
    struct worker workers[];
};

static void give_back(struct worker_pool *pool, struct worker_job *job)
{
    job->next = NULL;
    pthread_mutex_lock(&pool->mutex);
    *(pool->last == NULL ? &pool->first : &pool->last->next) = job;
    pool->last = job;
    pthread_mutex_unlock(&pool->mutex);
    loop_waker_wake(pool->waker);
}

static void work(void *arg)
{
    struct worker *worker = arg;
    struct worker_job *job;
    while ((job = queue_pop(worker->pool->waiting, QUEUE_FOR_EVER)) != NULL) {
        job->run(job, worker->number);
        give_back(worker->pool, job);
    }
}

/* Takes the whole list at once: a `done` that submits again cannot keep the loop here. */
static void deliver(void *arg)
{
    struct worker_pool *pool = arg;
    pthread_mutex_lock(&pool->mutex);
    struct worker_job *job = pool->first;
    pool->first = pool->last = NULL;
    pthread_mutex_unlock(&pool->mutex);
    while (job != NULL) {
        struct worker_job *next = job->next;
        assert(pool->jobs > 0);
        pool->jobs--;
        job->done(job);
        job = next;
    }
}

struct worker_pool *worker_pool_new(struct loop *loop, unsigned threads, size_t jobs_max)
{
    assert(threads > 0 && jobs_max > 0);
    struct worker_pool *pool = memory_new_zeroed(1, sizeof *pool + threads * sizeof(struct worker));
    pool->jobs_max = jobs_max;
    pool->waiting = queue_new((unsigned)jobs_max);
    pool->waker = loop_waker_new(loop, deliver, pool);
    pool->worker_count = threads;
    if (pthread_mutex_init(&pool->mutex, NULL) != 0)
        abort();
    for (unsigned i = 0; i < threads; i++) {
        pool->workers[i] = (struct worker){.pool = pool, .number = i};
        pool->workers[i].thread = thread_start("worker", work, &pool->workers[i]);
    }
    return pool;
}

void worker_pool_free(struct worker_pool *pool)
{
    queue_close(pool->waiting);
    for (unsigned i = 0; i < pool->worker_count; i++)
        thread_join(pool->workers[i].thread);
    deliver(pool);
    assert(pool->jobs == 0);
    loop_waker_free(pool->waker);
    queue_free(pool->waiting);
    pthread_mutex_destroy(&pool->mutex);
    free(pool);
}

enum rc worker_submit(struct worker_pool *pool, struct worker_job *job)
{
    assert(job->run != NULL && job->done != NULL);
    if (pool->jobs == pool->jobs_max)
        return RC_AGAIN;
    enum rc rc = queue_push(pool->waiting, job);
    if (rc == RC_OK)
        pool->jobs++;
    return rc;
}
