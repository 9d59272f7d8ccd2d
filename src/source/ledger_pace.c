/* SPDX-License-Identifier: Apache-2.0 */
#include "source/ledger_pace.h"

#include <assert.h>

#define SECOND_US INT64_C(1000000)

static uint32_t at_most(int64_t value, uint32_t max)
{
    return value > (int64_t)max ? max : (uint32_t)value;
}

/* A tenth may be saved up and the rest flows, so that both together stay within the limit. */
static struct bucket_limits window_of(int64_t limit, int64_t per_us)
{
    if (limit <= 0)
        return (struct bucket_limits){0};
    int64_t burst = limit >= 10 ? limit / 10 : 1;
    int64_t tokens = limit > burst ? limit - burst : 1;
    return (struct bucket_limits){.tokens = at_most(tokens, BUCKET_TOKENS_MAX),
                                  .per_us = per_us,
                                  .burst = at_most(burst, BUCKET_BURST_MAX)};
}

void ledger_pace_init(struct ledger_pace *pace, const struct connector_rate *rate, int64_t now_us)
{
    struct bucket_limits limits[LEDGER_PACE_WINDOWS] = {
        {.flights_max = at_most(rate->concurrency, UINT32_MAX)},
        window_of(rate->per_minute, 60 * SECOND_US),
        window_of(rate->per_hour, 3600 * SECOND_US),
        window_of(rate->per_day, BUCKET_PER_US_MAX),
    };
    if (rate->per_1000_seconds > 0) {
        limits[0].tokens = at_most(rate->per_1000_seconds, BUCKET_TOKENS_MAX);
        limits[0].per_us = 1000 * SECOND_US;
        limits[0].burst = at_most(rate->burst > 0 ? rate->burst : 1, BUCKET_BURST_MAX);
    }
    *pace = (struct ledger_pace){0};
    for (int i = 0; i < LEDGER_PACE_WINDOWS; i++)
        bucket_init(&pace->windows[i], &limits[i], now_us);
}

enum rc ledger_pace_take(struct ledger_pace *pace, int64_t now_us, int64_t *at_us)
{
    *at_us = now_us;
    for (int i = 0; i < LEDGER_PACE_WINDOWS; i++) {
        int64_t when_us = bucket_when(&pace->windows[i], 1, now_us);
        *at_us = when_us > *at_us ? when_us : *at_us;
    }
    if (*at_us > now_us)
        return RC_AGAIN;
    for (int i = 0; i < LEDGER_PACE_WINDOWS; i++) {
        enum rc rc = bucket_take(&pace->windows[i], 1, now_us, at_us);
        assert(rc == RC_OK);
    }
    pace->requests++;
    return RC_OK;
}

void ledger_pace_release(struct ledger_pace *pace)
{
    for (int i = 0; i < LEDGER_PACE_WINDOWS; i++)
        bucket_release(&pace->windows[i], 1);
}

void ledger_pace_pause(struct ledger_pace *pace, int64_t until_us, int64_t now_us)
{
    bucket_pause(&pace->windows[0], until_us, now_us);
}
