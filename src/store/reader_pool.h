/* SPDX-License-Identifier: Apache-2.0
 *
 * reader_pool.h - a few threads that read the store for a loop.
 *
 * Each thread has a reading connection of its own, opened when its first job comes and opened anew
 * after a failure; a job that fails on an old connection is tried once more on a fresh one, so it
 * must be able to start over. Jobs that wait, run or are done and not yet taken are bounded (I6).
 *
 * A stop breaks off a read of SQLite that has no time limit.
 *
 * Owner: whoever has the loop.  Thread: the loop, but for the work, which a reader does. */
#ifndef STORE_READER_POOL_H
#define STORE_READER_POOL_H

#include "store/store.h"

struct reader_job;

typedef enum rc reader_work_fn(struct reader_job *job, struct store *store, struct err *err);

/* Embedded in what the job is about; owned by whoever submitted it. */
struct reader_job {
    reader_work_fn *work;
    enum rc rc; /* what `work` answered last */
    bool begun; /* false: it was never called, and `rc` is RC_AGAIN */
    struct err err;
};

struct reader_pool;

struct reader_options {
    const char *store_url;
    unsigned threads, jobs_max;
    int64_t query_us_max; /* a query that takes longer ends with RC_AGAIN */
};

/* `ready` is called on a reader's thread whenever a job is done and must only pass it on. */
struct reader_pool *reader_pool_start(const struct reader_options *options,
                                      void (*ready)(void *arg), void *arg);
/* RC_AGAIN: too many jobs; the caller keeps it. */
must_check enum rc reader_pool_submit(struct reader_pool *pool, struct reader_job *job);
/* A job that is done, or NULL. */
struct reader_job *reader_pool_take(struct reader_pool *pool);
/* Waits for the jobs that run; those that wait are done with RC_AGAIN. What is done can still be
 * taken afterwards. */
void reader_pool_stop(struct reader_pool *pool);
/* After stop, when every job was taken. */
void reader_pool_free(struct reader_pool *pool);

#endif
