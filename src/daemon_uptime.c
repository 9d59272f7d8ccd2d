/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_uptime.h"

#include <assert.h>

#define HOUR_US INT64_C(3600000000)

static void count_bytes(struct uptime *uptime, uint64_t bytes, int64_t now_us)
{
    int64_t hour = (now_us - uptime->since_us) / HOUR_US;
    int64_t passed = hour - uptime->hour < UPTIME_HOURS ? hour - uptime->hour : UPTIME_HOURS;
    for (int64_t i = 0; i < passed; i++)
        uptime->hours[(hour - i) % UPTIME_HOURS] = 0;
    uptime->hour = hour;
    uptime->hours[hour % UPTIME_HOURS] += bytes - (bytes < uptime->bytes ? 0 : uptime->bytes);
    uptime->bytes = bytes;
}

void uptime_tell(struct uptime *uptime, bool up, uint64_t bytes, int64_t now_us)
{
    assert(now_us > 0 && now_us >= uptime->seen_us);
    if (uptime->since_us == 0)
        uptime->since_us = uptime->seen_us = now_us;
    if (uptime->up)
        uptime->up_us += now_us - uptime->seen_us;
    if (up)
        uptime->down_since_us = 0;
    else if (uptime->down_since_us == 0)
        uptime->down_since_us = now_us;
    uptime->up = up;
    uptime->seen_us = now_us;
    count_bytes(uptime, bytes, now_us);
}

double uptime_percent(const struct uptime *uptime)
{
    int64_t all_us = uptime->seen_us - uptime->since_us;
    if (all_us == 0)
        return uptime->up ? 100 : 0;
    return 100.0 * (double)uptime->up_us / (double)all_us;
}

int64_t uptime_down_us(const struct uptime *uptime, int64_t now_us)
{
    return uptime->down_since_us == 0 ? 0 : now_us - uptime->down_since_us;
}

uint64_t uptime_day_bytes(const struct uptime *uptime)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < UPTIME_HOURS; i++)
        sum += uptime->hours[i];
    return sum;
}
