/* SPDX-License-Identifier: Apache-2.0
 *
 * due.h - owed rows that the store made by itself, worked off a few at a time.
 *
 * What a commit finds missing (the card of a link, the post that somebody quotes) it notes as owed.
 * The table is the truth: it is asked every second for rows whose time has come, the earliest
 * first, and a fixed number of them is held here (I6). Whoever works one off says what became of it
 * in the batch that holds what was found: done, again later, or given up (I2).
 *
 *   free -row-> READY -next-> RUNNING -done, later, dead-> STAGED -answered-> SETTLED -ask-> free
 *                 ^------put back-----'
 *
 * A row whose time lies further ahead than any wait is long was written before the clock was set
 * back: its time has come, too.
 *
 * Always holds: at most one question and one batch are under way; an item keeps its place until the
 * table was asked after its batch was answered, so an older answer cannot bring it back, and one
 * whose batch was not committed is found again.
 *
 * Owner: a source.  Thread: the ingest loop. */
#ifndef SOURCE_DUE_H
#define SOURCE_DUE_H

#include "ingest/retry.h"
#include "source/source.h"

enum due_place { DUE_FREE, DUE_READY, DUE_RUNNING, DUE_STAGED, DUE_SETTLED };

struct due_item {
    enum due_place place;
    uint64_t turn;             /* those that came first go first */
    const struct batch *batch; /* that holds its row */
    struct text item, address;
    int64_t flags;
    uint32_t attempts; /* failed ones */
    int64_t since_us;
    bool alone; /* the owner's mark, gone when the table is read again */
};

/* There are items ready, or room for more answers: take what can be worked on. */
typedef void due_work_fn(void *arg);

struct due_options {
    const char *source, *stream; /* must outlive it */
    /* Reads item, attempts, since_us, address and flags of what is due: of source ?1 and stream ?2,
     * not after ?3, ?4 rows at most, the earliest first; then as many of what is after ?5. */
    const char *sql;
    size_t items_max;
    struct retry_schedule schedule; /* and after how many failures an item is given up */
    due_work_fn *work;
    void *arg;
};

struct due_counts {
    size_t ready, running;
    uint64_t done, failed, dead;
};

struct due {
    struct source_env env;
    struct due_options options;
    struct due_item *items;
    struct timer look;
    struct batch *filling, *under_way;
    uint64_t turns;
    bool asking, more, stopping;
    struct due_counts counts;
};

void due_init(struct due *due, const struct source_env *env, const struct due_options *options);
/* Everything under way was answered. */
void due_deinit(struct due *due);
void due_start(struct due *due);
/* Takes nothing more; what is staged is still handed over. */
void due_stop(struct due *due);
bool due_stopped(const struct due *due);

/* The next item that waits, now running; NULL: none. */
struct due_item *due_next(struct due *due);
/* Nothing became of it: it is ready again, as if it had not been taken. */
void due_put_back(struct due *due, struct due_item *item);
/* The batch that takes what is found now; NULL: none is to be had. */
struct batch *due_batch(struct due *due);

/* All that end an item's run add its row to that batch. RC_AGAIN: it does not fit; the item runs
 * on and the caller takes back what it added for it. */
must_check enum rc due_done(struct due *due, struct due_item *item);
/* Not tried: it is due again at `next_us`, or earlier when no wait is as long. */
must_check enum rc due_postpone(struct due *due, struct due_item *item, int64_t next_us);
/* A failure of that class; `dead` says whether it was the last. */
must_check enum rc due_failed(struct due *due, struct due_item *item, enum retry_class class,
                              const char *reason, int64_t retry_after_us, bool *dead);
/* Hands the batch over as soon as the one before it was answered. */
void due_send(struct due *due);

#endif
