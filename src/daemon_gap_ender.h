/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_gap_ender.h - ends what a reset of the firehose left open, where no firehose is followed.
 *
 * Such a gap ends with the first event since. Where feeds are polled instead none will come: polls
 * show what happens from now on, so it ends now, and histories are read for what lies in it.
 *
 * Owner: the part that reads feeds.  Thread: the ingest loop. */
#ifndef DAEMON_GAP_ENDER_H
#define DAEMON_GAP_ENDER_H

#include "daemon_part.h"
#include "ingest/gap.h"
#include "source/delivery.h"

struct gap_ender {
    const struct part_env *env;
    struct gap_notes gaps;
    struct delivery delivery;
    int64_t from_us; /* where the gap begins that is being ended */
    bool wanted, asking, stopping;
};

void gap_ender_init(struct gap_ender *ender, const struct part_env *env);
/* There may be such a gap, as at the start. */
void gap_ender_heed(struct gap_ender *ender);
void gap_ender_look(struct gap_ender *ender);
void gap_ender_stop(struct gap_ender *ender);
bool gap_ender_stopped(const struct gap_ender *ender);

#endif
