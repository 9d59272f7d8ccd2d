/* SPDX-License-Identifier: Apache-2.0
 *
 * coverage.h - which parts of a range are complete.
 *
 * Half-open intervals [lo, hi) of int64, sorted, disjoint and never touching: neighbours that meet
 * are one. What is missing between them is the list of gaps, which is the work list. The number of
 * intervals is bounded (I6); a change that needs one more than there is room for is RC_AGAIN and
 * changes nothing. An interval with hi <= lo is empty: adding or removing it does nothing.
 *
 * Owner: its source.  Thread: the owner's.  Allocates in init only. INT64_MAX itself cannot be
 * covered, only what lies below it. */
#ifndef INGEST_COVERAGE_H
#define INGEST_COVERAGE_H

#include "base/rc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct interval {
    int64_t lo, hi;
};

struct coverage {
    struct interval *items;
    size_t count, capacity;
};

void coverage_init(struct coverage *coverage, size_t capacity);
void coverage_deinit(struct coverage *coverage);
void coverage_clear(struct coverage *coverage);

must_check enum rc coverage_add(struct coverage *coverage, struct interval added);
must_check enum rc coverage_remove(struct coverage *coverage, struct interval removed);
bool coverage_contains(const struct coverage *coverage, int64_t point);
/* Every point of the interval; true for an empty one. */
bool coverage_contains_all(const struct coverage *coverage, struct interval wanted);
/* The first gap inside `range`; false when it is all covered. Go on with range.lo = gap->hi. */
bool coverage_next_gap(const struct coverage *coverage, struct interval range,
                       struct interval *gap);

#endif
