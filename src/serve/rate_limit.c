/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/rate_limit.h"

#include "base/hash.h"

#include <assert.h>
#include <stdlib.h>

#define WAYS 8 /* places that one key may have */
#define SETS (RATE_LIMIT_KEYS_MAX / WAYS)
#define NS   1000

/* All that is known of a key: the time at which everything it asked for would be paid, one request
 * every `interval_ns`. A time in the past is a full allowance. */
struct account {
    uint64_t key; /* 0: the place is free */
    int64_t paid_ns;
};

struct rate_limit {
    int64_t interval_ns, ahead_ns_max;
    uint64_t seed;
    struct account accounts[SETS][WAYS];
};

struct rate_limit *rate_limit_new(unsigned per_second, unsigned burst, uint64_t seed)
{
    struct rate_limit *limit = memory_new_zeroed(1, sizeof *limit);
    assert(per_second <= RATE_LIMIT_PER_SECOND_MAX && (per_second == 0 || burst > 0));
    limit->seed = seed;
    limit->interval_ns = per_second == 0 ? 0 : INT64_C(1000000000) / per_second;
    limit->ahead_ns_max = limit->interval_ns * ((int64_t)burst - 1);
    return limit;
}

void rate_limit_free(struct rate_limit *limit)
{
    free(limit);
}

static struct account *find(struct rate_limit *limit, uint64_t key)
{
    struct account *set = limit->accounts[key % SETS], *richest = &set[0];
    for (size_t i = 0; i < WAYS; i++) {
        if (set[i].key == key)
            return &set[i];
        if (set[i].paid_ns < richest->paid_ns)
            richest = &set[i];
    }
    *richest = (struct account){.key = key};
    return richest;
}

int64_t rate_limit_take(struct rate_limit *limit, struct bytes who, int64_t now_us)
{
    if (limit->interval_ns == 0)
        return 0;
    uint64_t key = hash_bytes(who, limit->seed);
    struct account *account = find(limit, key == 0 ? 1 : key);
    int64_t now_ns = now_us * NS;
    if (account->paid_ns < now_ns)
        account->paid_ns = now_ns;
    int64_t over_ns = account->paid_ns - now_ns - limit->ahead_ns_max;
    if (over_ns > 0)
        return (over_ns + NS - 1) / NS;
    account->paid_ns += limit->interval_ns;
    return 0;
}
