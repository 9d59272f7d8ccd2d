/* SPDX-License-Identifier: Apache-2.0
 *
 * desk_clock.h - the time of a machine that a test plays: it passes when the test says so, and
 * chance is always in the middle. */
#ifndef TESTS_UNIT_DESK_CLOCK_H
#define TESTS_UNIT_DESK_CLOCK_H

#include "sys/runtime.h"

#define DESK_T0 INT64_C(1790000000000000) /* wall time when a desk begins */

struct desk_clock {
    struct runtime runtime; /* first: the runtime is the clock, and the desk that begins with it */
    int64_t mono_us;
    int64_t back_us; /* by so much the wall clock was set back */
    struct timer_heap timers;
};

/* For the operations of a desk's runtime. */
int64_t desk_wall_us(struct runtime *runtime);
int64_t desk_mono_us(struct runtime *runtime);
uint64_t desk_chance(struct runtime *runtime);
void desk_arm(struct runtime *runtime, struct timer *timer, int64_t delay_us);
void desk_disarm(struct runtime *runtime, struct timer *timer);

#endif
