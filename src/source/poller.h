/* SPDX-License-Identifier: Apache-2.0
 *
 * poller.h - reads what is new in the feed of every account that is followed, again and again.
 *
 * A cycle visits everybody once. An account without a position is read back so many hours; one with
 * a position down to it, however long ago that was. What is more than one run may read stays in the
 * queue, and the next cycle goes on where the run stopped. The position rises with the rows it
 * stands for (I2), and people can look it up, and take it back, in `poll_state`. Names pass from
 * one account to another, positions do not.
 *
 * An account that cannot be read never holds up the others. One that is gone is left alone for a
 * day.
 *
 * Owner: the daemon.  Thread: the ingest loop. */
#ifndef SOURCE_POLLER_H
#define SOURCE_POLLER_H

#include "source/feed_sweep.h"

#define POLLER_RUNNING_MAX 100

struct poller_settings {
    int64_t interval_us, lookback_us;
    int64_t kept_us; /* what was shared longer ago is not stored; 0: everything is */
    uint32_t page_size, pages_max;
    uint32_t running_max; /* at most POLLER_RUNNING_MAX */
    bool alone;           /* nobody else reads feeds: it goes on with its own rests */
};

/* What one cycle came to. */
struct poller_cycle {
    int64_t began_us, took_us; /* wall time */
    uint32_t accounts, placed; /* visited or left alone; of these with a position afterwards */
    uint32_t fresh;            /* accounts with something new */
    uint32_t initial, skipped, failed;
};

struct poller_view {
    bool polling; /* cycles run */
    uint64_t cycles, pages;
    struct poller_cycle last; /* that ended */
};

struct poller;

struct poller *poller_new(const struct source_env *env, struct appview *appview,
                          const struct poller_settings *settings);
/* Nothing of it is under way. */
void poller_free(struct poller *poller);
void poller_tune(struct poller *poller, const struct poller_settings *settings);
/* Cycles run while they are allowed. `covered_us`: everything before it came another way; 0:
 * nothing did. */
void poller_allow(struct poller *poller, bool allowed, int64_t covered_us);
/* There may be others to visit: where there was nobody, a cycle begins at once. */
void poller_heed(struct poller *poller);
/* To be called a few times a second; `now_us` never goes back. */
void poller_look(struct poller *poller, int64_t now_us);
void poller_stop(struct poller *poller);
bool poller_stopped(const struct poller *poller);
void poller_show(const struct poller *poller, struct poller_view *view);

#endif
