/* SPDX-License-Identifier: Apache-2.0
 *
 * backfill_progress.h - tells people how far the reading of histories has come.
 *
 * A stretch of work begins when an account is being read and ends when the queue is empty. While it
 * lasts there is a line in the log for every so many accounts, and at least one a minute when
 * something happens; a stretch that was told of is also told to be over. Short ones say nothing.
 * What is left is counted in the store, when a line is due.
 *
 * Owner: the backfill.  Thread: the ingest loop. */
#ifndef SOURCE_BACKFILL_PROGRESS_H
#define SOURCE_BACKFILL_PROGRESS_H

#include "source/source.h"

struct backfill_progress {
    const struct source_env *env;
    bool working, told; /* a stretch is under way, and people know */
    bool asking;        /* the store, for what is left */
    int64_t began_us, told_us, asked_us;
    int64_t now_us; /* of the last look */
    uint64_t done;  /* accounts that left the queue, then ... */
    uint64_t began_at, told_at;
    unsigned running;
};

void backfill_progress_init(struct backfill_progress *progress, const struct source_env *env);
/* To be called a few times a second; `now_us` never goes back, nor does `done`. */
void backfill_progress_look(struct backfill_progress *progress, uint64_t done, unsigned running,
                            int64_t now_us);
/* Accounts that left the queue a minute, since the stretch began; 0: none is under way. */
int64_t backfill_progress_per_minute(const struct backfill_progress *progress);

#endif
