/* SPDX-License-Identifier: Apache-2.0
 *
 * worker.h - a few threads that do what would hold up a loop.
 *
 * A job goes loop -> thread -> loop: `run` is called on a worker, then `done` on the loop, each
 * exactly once, and in between the job belongs to the pool. At most `jobs_max` jobs are with the
 * pool, run or not, so what waits for the loop is bounded too. `thread` numbers the workers from 0,
 * for what each of them keeps for itself (a read connection, a parser).
 *
 * Owner: whoever owns the loop.  Thread: the loop's. */
#ifndef SYS_WORKER_H
#define SYS_WORKER_H

#include "sys/loop.h"

struct worker_pool;
struct worker_job;

typedef void worker_run_fn(struct worker_job *job, unsigned thread);
typedef void worker_done_fn(struct worker_job *job);

/* The caller's, who embeds it in what the job is about. */
struct worker_job {
    worker_run_fn *run;
    worker_done_fn *done;
    struct worker_job *next; /* the pool's */
};

struct worker_pool *worker_pool_new(struct loop *loop, unsigned threads, size_t jobs_max);
/* Waits until every job has run, and calls what is still to be called before it returns. */
void worker_pool_free(struct worker_pool *pool);

/* RC_AGAIN: `jobs_max` jobs are with the pool already. RC_REJECT: the pool is being freed. The job
 * is still the caller's then. */
must_check enum rc worker_submit(struct worker_pool *pool, struct worker_job *job);

#endif
