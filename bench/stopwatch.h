/* SPDX-License-Identifier: Apache-2.0
 *
 * stopwatch.h - the time that benchmarks measure with. */
#ifndef BENCH_STOPWATCH_H
#define BENCH_STOPWATCH_H

#include <time.h>

static inline double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

#endif
