/* SPDX-License-Identifier: Apache-2.0 */
#include "source/cards_pace.h"

#include "base/hash.h"

#include <assert.h>

static size_t clock_of(const struct cards_pace *pace, struct bytes host)
{
    assert(host.len > 0);
    return (size_t)(hash_bytes(host, pace->seed) % CARDS_PACE_CLOCKS);
}

static int64_t later_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

void cards_pace_init(struct cards_pace *pace, uint64_t seed, int64_t per_host_us)
{
    assert(per_host_us >= 0);
    *pace = (struct cards_pace){.seed = seed, .per_host_us = per_host_us};
}

enum rc cards_pace_take(struct cards_pace *pace, struct bytes host, int64_t now_us,
                        int64_t ahead_us, int64_t *at_us)
{
    size_t clock = clock_of(pace, host);
    int64_t turn_us = later_of(pace->clocks[clock].next_us, now_us);
    if (turn_us - now_us <= ahead_us) {
        pace->clocks[clock].next_us = turn_us + pace->per_host_us;
        *at_us = turn_us;
        return RC_OK;
    }
    *at_us = later_of(pace->clocks[clock].later_us, turn_us) + pace->per_host_us;
    pace->clocks[clock].later_us = *at_us;
    return RC_AGAIN;
}

void cards_pace_pause(struct cards_pace *pace, struct bytes host, int64_t until_us)
{
    size_t clock = clock_of(pace, host);
    pace->clocks[clock].next_us = later_of(pace->clocks[clock].next_us, until_us);
}
