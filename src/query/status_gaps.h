/* SPDX-License-Identifier: Apache-2.0
 *
 * status_gaps.h - the intervals that could not be read, open ones and those that were filled.
 *
 * Owner: the caller.  Thread: any one that owns the store's connection. */
#ifndef QUERY_STATUS_GAPS_H
#define QUERY_STATUS_GAPS_H

#include "store/store.h"

#define STATUS_GAPS_MAX 200 /* the latest */

struct status_gap {
    char source[65], stream[65], reason[160]; /* longer ones are cut */
    int64_t from_us, to_us;
    int64_t closed_us; /* 0: open */
};

struct status_gaps {
    struct status_gap gaps[STATUS_GAPS_MAX];
    size_t count;
};

/* Those that reach beyond `since_us`, and all that are open, latest first. */
must_check enum rc status_read_gaps(struct store *store, int64_t since_us, struct status_gaps *out,
                                    struct err *err);

#endif
