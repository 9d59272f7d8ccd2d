/* SPDX-License-Identifier: Apache-2.0
 *
 * health.h - what the daemon says about itself when it is asked how it is.
 *
 * The view is a copy of what the daemon knows already: filling it must not wait for anything, and
 * never asks the store. It is healthy when nobody gave a reason against it.
 *
 * Owner: the caller.  Thread: the serving loop fills it through the daemon's callback. */
#ifndef SERVE_HEALTH_H
#define SERVE_HEALTH_H

#include "base/bytes.h"
#include "base/err.h"

#define HEALTH_REASONS_MAX     8
#define HEALTH_REASON_TEXT_MAX 256

/* Whose histories are kept complete. */
struct health_accounts {
    int64_t count, complete, running, failed; /* complete, failed: their last import was */
    int64_t oldest_success_us_ago;            /* the longest of all; below 0: none yet */
};

struct health_view {
    bool websocket_connected;
    int64_t away_us;           /* for so long a firehose that is followed is not connected */
    int64_t last_event_us_ago; /* below 0: no event yet */
    int64_t cursor_time_us;    /* below 0: no cursor yet */
    int64_t follows_count;
    int64_t backfill_queue_depth;
    int64_t commit_seq; /* the last commit this process knows of */
    int64_t gaps_open;
    struct health_accounts accounts;
    int64_t uptime_us;
    char writer_trouble[ERR_TEXT_MAX]; /* "" when it writes */
    char reasons[HEALTH_REASONS_MAX][HEALTH_REASON_TEXT_MAX];
    size_t reason_count;
};

/* Fills a view that was zeroed. */
typedef void health_fn(void *arg, struct health_view *view);

/* Gives a reason why the daemon is not well; those beyond HEALTH_REASONS_MAX are left out. */
void health_degrade(struct health_view *view, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool health_is_good(const struct health_view *view);
/* Writes the view as one JSON object, the documented keys first. */
void health_print(const struct health_view *view, struct text *out);

#endif
