/* SPDX-License-Identifier: Apache-2.0
 *
 * retention.h - how long things are kept.
 *
 * Posts go when they leave the window; who shared a link by them is remembered. A link stays while
 * posts share it, and beyond that while enough people ever shared it: until it has been below that
 * number for a day, and at the longest until nobody has shared it for the days that are configured.
 * A tombstone outlives every replay that could bring its row back; a closed gap stays for people to
 * look at; what is known of polling goes when nobody polls.
 *
 * A prune takes a bounded number of rows of each kind, so that no commit grows long: it is repeated
 * until nothing is left, not enlarged.
 *
 * A clock that is wrongly ahead would make everything old at once. So what is old is judged by what
 * the sources have told: their newest time, and how much has passed since, by a clock that nobody
 * sets. The wall clock counts as long as it is not further ahead of that than RETENTION_AHEAD_US.
 *
 * Owner: whoever cleans up.  Never reads a clock, never allocates. */
#ifndef INGEST_RETENTION_H
#define INGEST_RETENTION_H

#include "config.h"
#include "record_batch.h"

#define RETENTION_TOMBSTONE_US (INT64_C(48) * 3600 * 1000000)
#define RETENTION_GAP_US       (INT64_C(30) * 24 * 3600 * 1000000)
#define RETENTION_BELOW_US     (INT64_C(24) * 3600 * 1000000)
#define RETENTION_PAGES_US     (INT64_C(24) * 3600 * 1000000)
#define RETENTION_AHEAD_US     (INT64_C(3600) * 1000000)
#define RETENTION_PARAMS       7

struct retention {
    int64_t window_hours, threshold, max_days;
    bool polling; /* accounts are polled, or may have to be */
};

/* What the sources have told of the time; zeroed: nothing. */
struct retention_clock {
    int64_t told_us, mono_us; /* their newest time, and when it was heard */
};

/* A source told this time; 0: none. What is older than what is known by now tells nothing. */
void retention_hear(struct retention_clock *clock, int64_t told_us, int64_t mono_us);
/* The time by which to judge what is old: never later than `wall_us`. */
int64_t retention_now(const struct retention_clock *clock, int64_t wall_us, int64_t mono_us);

struct retention retention_of(const struct config *config);
/* Adds the record that prunes what is too old at `now_us`; RC_AGAIN when the batch is full. */
must_check enum rc retention_prune(const struct retention *retention, struct batch *batch,
                                   int64_t now_us);
/* Answers the newest time of a post, as the sources told it; NULL: there is none. */
extern const char retention_newest_sql[];
/* Answers 1 as long as another prune of the same moment would find something, else 0. */
extern const char retention_left_sql[];
void retention_left_params(const struct retention *retention, int64_t now_us,
                           struct field params[RETENTION_PARAMS]);

#endif
