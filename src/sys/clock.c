/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/clock.h"

#include <assert.h>
#include <stddef.h>
#include <time.h>

static int64_t read_clock(clockid_t id)
{
    struct timespec now;
    int failed = clock_gettime(id, &now);
    assert(failed == 0);
    (void)failed;
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t clock_wall_us(void)
{
    return read_clock(CLOCK_REALTIME);
}

int64_t clock_mono_us(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t clock_wall(void *arg)
{
    (void)arg;
    return clock_wall_us();
}
