/* SPDX-License-Identifier: Apache-2.0
 *
 * cards_pace.h - when a host that strangers named may be asked again.
 *
 * Always holds: between two turns of one host lie at least `per_host_us`, and no turn lies within a
 * pause its server asked for. Who would have to wait long is told when to come back instead; those
 * times are spread as well, so that many pages of one host do not stand in the way of others.
 *
 * Hosts share a fixed number of clocks by a secret hash (I6): two of one clock are asked more
 * slowly, never faster.
 *
 * Owner: whoever asks.  Thread: the owner's.  Reads no clock; all times are monotonic. */
#ifndef SOURCE_CARDS_PACE_H
#define SOURCE_CARDS_PACE_H

#include "base/bytes.h"
#include "base/rc.h"

#define CARDS_PACE_CLOCKS   1024
#define CARDS_PACE_AHEAD_US INT64_C(2000000)  /* so long a turn is worth waiting for */
#define CARDS_PACE_FAR_US   INT64_C(60000000) /* and so long in the middle of something */

struct cards_pace {
    uint64_t seed;
    int64_t per_host_us;
    struct {
        int64_t next_us;  /* the first turn that is free */
        int64_t later_us; /* the last time that somebody was told to come back */
    } clocks[CARDS_PACE_CLOCKS];
};

void cards_pace_init(struct cards_pace *pace, uint64_t seed, int64_t per_host_us);
/* RC_OK: the turn at `at_us` is the caller's. RC_AGAIN: it is further away than `ahead_us`; come
 * back at `at_us`. */
must_check enum rc cards_pace_take(struct cards_pace *pace, struct bytes host, int64_t now_us,
                                   int64_t ahead_us, int64_t *at_us);
void cards_pace_pause(struct cards_pace *pace, struct bytes host, int64_t until_us);

#endif
