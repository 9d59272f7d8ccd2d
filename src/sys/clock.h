/* SPDX-License-Identifier: Apache-2.0
 *
 * clock.h - the machine's time, and the shape of a clock that a test can replace.
 *
 * Thread: any. */
#ifndef SYS_CLOCK_H
#define SYS_CLOCK_H

#include <stdint.h>

/* Microseconds; `arg` belongs to whoever handed the function over. */
typedef int64_t clock_fn(void *arg);

/* Since 1970 UTC; may step. */
int64_t clock_wall_us(void);
/* Since some start; never goes back. */
int64_t clock_mono_us(void);
/* clock_wall_us as a clock_fn. */
int64_t clock_wall(void *arg);

#endif
