/* SPDX-License-Identifier: Apache-2.0 */
#include "store/reader_pool.h"

#include "sys/thread.h"
#include "sys/thread_queue.h"

#include <assert.h>
#include <stdlib.h>

#define WAIT_US INT64_C(60000000)

struct reader {
    struct reader_pool *pool;
    struct thread *thread;
    struct store *store; /* NULL: not open */
};

struct reader_pool {
    char *store_url;
    int64_t query_us_max;
    struct queue *todo, *done;
    unsigned outstanding, jobs_max; /* submitted and not yet taken; the loop's */
    void (*ready)(void *arg);
    void *arg;
    unsigned count;
    struct reader readers[];
};

static bool is_stopping(void *arg)
{
    struct reader_pool *pool = arg;
    return queue_is_closed(pool->todo);
}

static enum rc try_job(struct reader *reader, struct reader_job *job)
{
    struct reader_pool *pool = reader->pool;
    job->err.text[0] = '\0';
    job->begun = true;
    if (reader->store == NULL) {
        if (store_open(pool->store_url, STORE_READ, &reader->store, &job->err) != RC_OK)
            return RC_RETRY; /* whatever keeps the store from opening may pass */
        reader->store->stop = is_stopping;
        reader->store->stop_arg = pool;
    }
    /* The job before may have lifted it for itself. */
    store_limit_queries(reader->store, pool->query_us_max);
    return job->work(job, reader->store, &job->err);
}

static void do_job(struct reader *reader, struct reader_job *job)
{
    bool fresh = reader->store == NULL;
    job->rc = try_job(reader, job);
    while (job->rc == RC_RETRY || job->rc == RC_FATAL) {
        store_close(reader->store);
        reader->store = NULL;
        if (fresh)
            break;
        fresh = true;
        job->rc = try_job(reader, job);
    }
}

static void hand_back(struct reader_pool *pool, struct reader_job *job)
{
    enum rc rc = queue_push(pool->done, job);
    assert(rc == RC_OK); /* it has room for all that may be outstanding */
    (void)rc;
}

static void run_reader(void *arg)
{
    struct reader *reader = arg;
    struct reader_pool *pool = reader->pool;
    for (;;) {
        struct reader_job *job = queue_pop(pool->todo, WAIT_US);
        if (job != NULL) {
            do_job(reader, job);
            hand_back(pool, job);
            pool->ready(pool->arg);
        } else if (queue_is_closed(pool->todo) && queue_count(pool->todo) == 0) {
            break;
        }
    }
    store_close(reader->store);
}

struct reader_pool *reader_pool_start(const struct reader_options *options,
                                      void (*ready)(void *arg), void *arg)
{
    unsigned threads = options->threads, jobs_max = options->jobs_max;
    assert(threads > 0 && jobs_max > 0 && ready != NULL);
    struct reader_pool *pool = memory_new_zeroed(1, sizeof *pool + threads * sizeof(struct reader));
    pool->store_url = memory_copy_string(options->store_url);
    pool->query_us_max = options->query_us_max;
    pool->todo = queue_new(jobs_max);
    pool->done = queue_new(jobs_max);
    pool->jobs_max = jobs_max;
    pool->ready = ready;
    pool->arg = arg;
    pool->count = threads;
    for (unsigned i = 0; i < threads; i++) {
        pool->readers[i].pool = pool;
        pool->readers[i].thread = thread_start("reader", run_reader, &pool->readers[i]);
    }
    return pool;
}

enum rc reader_pool_submit(struct reader_pool *pool, struct reader_job *job)
{
    assert(job->work != NULL);
    job->rc = RC_AGAIN;
    job->begun = false;
    if (pool->outstanding == pool->jobs_max || queue_push(pool->todo, job) != RC_OK)
        return RC_AGAIN;
    pool->outstanding++;
    return RC_OK;
}

struct reader_job *reader_pool_take(struct reader_pool *pool)
{
    struct reader_job *job = queue_pop(pool->done, 0);
    if (job != NULL) {
        assert(pool->outstanding > 0);
        pool->outstanding--;
    }
    return job;
}

void reader_pool_stop(struct reader_pool *pool)
{
    struct reader_job *job;
    queue_close(pool->todo);
    while ((job = queue_pop(pool->todo, 0)) != NULL)
        hand_back(pool, job);
    for (unsigned i = 0; i < pool->count; i++)
        thread_join(pool->readers[i].thread);
    pool->count = 0;
}

void reader_pool_free(struct reader_pool *pool)
{
    assert(pool->count == 0 && pool->outstanding == 0);
    queue_free(pool->todo);
    queue_free(pool->done);
    free(pool->store_url);
    free(pool);
}
