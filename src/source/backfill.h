/* SPDX-License-Identifier: Apache-2.0
 *
 * backfill.h - works off the queue of accounts whose history is to be read.
 *
 * The queue is a table: what is asked for is a row, progress is kept in it with the rows it brought
 * (I2), and a program that was killed goes on where it stood. In memory are only the accounts being
 * read, at most so many at a time (I6). The most urgent goes first: gaps, then new follows, then
 * the first reading of everybody, then what a person asked for.
 *
 * An account that was read has its mark raised, if the reading came down to it. One that is gone
 * leaves the queue; whoever is still followed is looked for again a day later. What could not be
 * read this time waits, longer each time.
 *
 * Owner: the daemon.  Thread: the ingest loop. */
#ifndef SOURCE_BACKFILL_H
#define SOURCE_BACKFILL_H

#include "source/feed_sweep.h"

#define BACKFILL_RUNNING_MAX 100

struct backfill_settings {
    uint32_t page_size;
    uint32_t running_max; /* at most BACKFILL_RUNNING_MAX */
    int64_t lookback_us;  /* of those who are newly followed */
    int64_t kept_us;      /* what was shared longer ago is not stored; 0: everything is */
    bool follows;         /* whether these are read at all */
    bool only_asked;      /* a poller reads everybody: only what goes further back is left to do */
    bool polls;           /* the table of polls is in use: positions that stand there are kept up */
    /* Whether all that an account which counts does from now on is heard: before, its history has
     * no end. NULL: nothing is heard, histories are all there is. */
    bool (*hears)(void *arg, struct bytes did);
    void *hears_arg;
};

struct backfill_view {
    unsigned running;
    uint64_t pages, completed, dropped, failed;
    int64_t per_minute; /* accounts that leave the queue; 0: nothing is read */
};

struct backfill;

struct backfill *backfill_new(const struct source_env *env, struct appview *appview,
                              const struct backfill_settings *settings);
/* Nothing of it is under way. */
void backfill_free(struct backfill *backfill);
void backfill_tune(struct backfill *backfill, const struct backfill_settings *settings);
/* Begins, or goes on, to work; before, it waits. */
void backfill_release(struct backfill *backfill);
/* There may be more to do: rows in the queue, or follows that were never read. */
void backfill_heed(struct backfill *backfill);
/* To be called a few times a second; `now_us` never goes back. */
void backfill_look(struct backfill *backfill, int64_t now_us);
void backfill_stop(struct backfill *backfill);
bool backfill_stopped(const struct backfill *backfill);
void backfill_show(const struct backfill *backfill, struct backfill_view *view);

#endif
