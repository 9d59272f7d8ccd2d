/* SPDX-License-Identifier: Apache-2.0
 *
 * rate_limit.h - how often each of many may ask.
 *
 * Who asks is a key: an address or a token, hashed with a secret seed. Each may ask `burst` times
 * at once and `per_second` times in the long run. The table has a fixed size (I6): where it is
 * full, the one forgotten first is the one that has the most left, who loses nothing by it.
 *
 * Owner: the gate.  Thread: the serving loop.  Never allocates after it was made, never waits. */
#ifndef SERVE_RATE_LIMIT_H
#define SERVE_RATE_LIMIT_H

#include "base/bytes.h"

#define RATE_LIMIT_PER_SECOND_MAX 1000000
#define RATE_LIMIT_KEYS_MAX       4096

struct rate_limit;

/* `per_second` 0: there is no limit. */
struct rate_limit *rate_limit_new(unsigned per_second, unsigned burst, uint64_t seed);
void rate_limit_free(struct rate_limit *limit);
/* 0: it may go, and is counted. Otherwise it may not, and would at the earliest in so many
 * microseconds. */
int64_t rate_limit_take(struct rate_limit *limit, struct bytes who, int64_t now_us);

#endif
