/* SPDX-License-Identifier: Apache-2.0
 *
 * curve_point.h - one result of a benchmark that belongs to a curve: how something behaves as `x`
 * grows. */
#ifndef BENCH_CURVE_POINT_H
#define BENCH_CURVE_POINT_H

#include <stdbool.h>
#include <stdio.h>

/* Prints it and answers whether `value` is at most `goal` times `against`. */
static inline bool curve_point(const char *curve, double x, double value, const char *unit,
                               double against, double goal)
{
    bool ok = value <= against * goal;
    printf("{\"name\":\"%s_%.0f\",\"value\":%.3f,\"unit\":\"%s\",\"against\":%.3f,\"ratio\":%.3f,"
           "\"goal\":%.2f,\"ok\":%s,\"curve\":\"%s\",\"x\":%.0f}\n",
           curve, x, value, unit, against, value / against, goal, ok ? "true" : "false", curve, x);
    fflush(stdout);
    return ok;
}

#endif
