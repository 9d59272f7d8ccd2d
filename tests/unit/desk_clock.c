/* SPDX-License-Identifier: Apache-2.0 */
#include "desk_clock.h"

#include "ingest/retry.h"

static struct desk_clock *of(struct runtime *runtime)
{
    return (struct desk_clock *)runtime;
}

int64_t desk_wall_us(struct runtime *runtime)
{
    return DESK_T0 + of(runtime)->mono_us - of(runtime)->back_us;
}

int64_t desk_mono_us(struct runtime *runtime)
{
    return of(runtime)->mono_us;
}

uint64_t desk_chance(struct runtime *runtime)
{
    (void)runtime;
    return RETRY_CENTRE;
}

void desk_arm(struct runtime *runtime, struct timer *timer, int64_t delay_us)
{
    timer_heap_arm(&of(runtime)->timers, timer, of(runtime)->mono_us + delay_us);
}

void desk_disarm(struct runtime *runtime, struct timer *timer)
{
    timer_heap_disarm(&of(runtime)->timers, timer);
}
