/* SPDX-License-Identifier: Apache-2.0
 *
 * times.h - what was measured several times, in order. */
#ifndef BENCH_TIMES_H
#define BENCH_TIMES_H

#include <stddef.h>
#include <stdlib.h>

static inline int times_compare(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static inline void times_sort(double *times, size_t count)
{
    qsort(times, count, sizeof *times, times_compare);
}

/* Sorts them, too. */
static inline double times_median(double *times, size_t count)
{
    times_sort(times, count);
    return times[count / 2];
}

#endif
