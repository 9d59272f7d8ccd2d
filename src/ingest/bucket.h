/* SPDX-License-Identifier: Apache-2.0
 *
 * bucket.h - how fast, and how many at once, one upstream may be asked.
 *
 * A bucket holds at most `burst` tokens and gains `tokens` of them every `per_us`; a request takes
 * as many as it weighs, and one of `flights_max` places until it is given back. What the server
 * tells about its own budget, and a pause it asks for, can only slow the bucket down.
 *
 * Always holds: in any interval of t microseconds at most burst + tokens * t / per_us is admitted,
 * and 0 <= level <= burst. Levels are whole numbers of 1/per_us token, so nothing is rounded and
 * nothing drifts. Time that goes back is taken as standing still.
 *
 * Owner: the provider it protects.  Thread: loop.  Never allocates, never waits. */
#ifndef INGEST_BUCKET_H
#define INGEST_BUCKET_H

#include "base/rc.h"

#include <stdint.h>

#define BUCKET_BURST_MAX    UINT32_C(1000000)
#define BUCKET_TOKENS_MAX   UINT32_C(1000000)
#define BUCKET_PER_US_MAX   INT64_C(86400000000)
#define BUCKET_PAUSE_US_MAX INT64_C(3600000000) /* a server is believed this far ahead */
#define BUCKET_NEVER        INT64_MAX

struct bucket_limits {
    uint32_t tokens; /* gained every `per_us`; 0: no rate limit */
    int64_t per_us;
    uint32_t burst;       /* most tokens that can be saved up */
    uint32_t flights_max; /* requests under way at once; 0: no limit */
};

struct bucket {
    struct bucket_limits limits;
    int64_t level;   /* in 1/per_us token */
    int64_t seen_us; /* when `level` was true */
    uint32_t flights, weight_in_flight;
    int64_t paused_us;             /* nothing before this time */
    int64_t told_left, told_reset; /* the server's budget until then; told_left -1: untold */
};

/* Begins full. */
void bucket_init(struct bucket *bucket, const struct bucket_limits *limits, int64_t now_us);
/* Other limits from now on. Nothing is saved up then, and requests under way beyond the new number
 * of places are waited for. */
void bucket_tune(struct bucket *bucket, const struct bucket_limits *limits, int64_t now_us);
/* The first time at which a request of that weight can go, if nobody takes before: now or later, or
 * BUCKET_NEVER when it waits for a place rather than for time. For those who need several at once.
 */
int64_t bucket_when(struct bucket *bucket, uint32_t weight, int64_t now_us);
/* RC_OK: the request may go now, its tokens and its place are taken. RC_AGAIN: not now; `at_us` is
 * the first time at which it can, if nobody takes before, or BUCKET_NEVER when it waits for a place
 * rather than for time. A weight must not exceed the burst. */
must_check enum rc bucket_take(struct bucket *bucket, uint32_t weight, int64_t now_us,
                               int64_t *at_us);
/* The request of that weight is over, well or badly: its place is free. Tokens stay spent. */
void bucket_release(struct bucket *bucket, uint32_t weight);
/* The server says that `remaining` tokens are left until `reset_us`. Requests still under way are
 * taken off, since the server may not have counted them. */
void bucket_told(struct bucket *bucket, uint32_t remaining, int64_t reset_us, int64_t now_us);
/* Nothing goes before `until_us`; an earlier time than already asked for changes nothing. */
void bucket_pause(struct bucket *bucket, int64_t until_us, int64_t now_us);
/* Until when the server's word (a pause or an empty budget) stops everything; `now_us` when it does
 * not. */
int64_t bucket_closed_until(const struct bucket *bucket, int64_t now_us);

#endif
