/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/coverage.h"

#include "base/bytes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The neighbours of `at` are in order; a whole walk would make each call linear. */
static bool sane(const struct coverage *coverage, size_t at)
{
    const struct interval *items = coverage->items;
    if (coverage->count > coverage->capacity || at > coverage->count)
        return false;
    if (at < coverage->count && items[at].lo >= items[at].hi)
        return false;
    return at == 0 || at == coverage->count || items[at - 1].hi < items[at].lo;
}

/* Index of the first interval whose end is at or above `point`. */
static size_t first_ending_from(const struct coverage *coverage, int64_t point)
{
    size_t low = 0, high = coverage->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (coverage->items[middle].hi < point)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Puts `count` intervals in the place of those in [from, to). */
static enum rc splice(struct coverage *coverage, size_t from, size_t to,
                      const struct interval *with, size_t count)
{
    assert(from <= to && to <= coverage->count);
    size_t after = coverage->count - to;
    size_t total = from + count + after;
    if (total > coverage->capacity)
        return RC_AGAIN;
    memmove(&coverage->items[from + count], &coverage->items[to], after * sizeof *with);
    if (count > 0)
        memcpy(&coverage->items[from], with, count * sizeof *with);
    coverage->count = total;
    assert(sane(coverage, from) && sane(coverage, from + count));
    return RC_OK;
}

void coverage_init(struct coverage *coverage, size_t capacity)
{
    assert(capacity > 0);
    assert(capacity < SIZE_MAX / sizeof *coverage->items);
    *coverage = (struct coverage){.capacity = capacity};
    coverage->items = memory_new_zeroed(capacity, sizeof *coverage->items);
}

void coverage_deinit(struct coverage *coverage)
{
    assert(coverage->items != NULL);
    assert(sane(coverage, 0));
    free(coverage->items);
    *coverage = (struct coverage){0};
}

void coverage_clear(struct coverage *coverage)
{
    assert(sane(coverage, 0));
    coverage->count = 0;
    assert(sane(coverage, 0));
}

enum rc coverage_add(struct coverage *coverage, struct interval added)
{
    assert(coverage->items != NULL);
    assert(sane(coverage, 0));
    if (added.hi <= added.lo)
        return RC_OK;
    size_t from = first_ending_from(coverage, added.lo), to = from;
    while (to < coverage->count && coverage->items[to].lo <= added.hi)
        to++;
    if (to > from) { /* everything it meets becomes part of it */
        if (coverage->items[from].lo < added.lo)
            added.lo = coverage->items[from].lo;
        if (coverage->items[to - 1].hi > added.hi)
            added.hi = coverage->items[to - 1].hi;
    }
    return splice(coverage, from, to, &added, 1);
}

enum rc coverage_remove(struct coverage *coverage, struct interval removed)
{
    assert(coverage->items != NULL);
    assert(sane(coverage, 0));
    struct interval rest[2];
    size_t count = 0;
    if (removed.hi <= removed.lo)
        return RC_OK;
    size_t from = first_ending_from(coverage, removed.lo), to = from;
    while (to < coverage->count && coverage->items[to].lo < removed.hi)
        to++;
    if (to == from)
        return RC_OK;
    if (coverage->items[from].lo < removed.lo)
        rest[count++] = (struct interval){coverage->items[from].lo, removed.lo};
    if (coverage->items[to - 1].hi > removed.hi)
        rest[count++] = (struct interval){removed.hi, coverage->items[to - 1].hi};
    return splice(coverage, from, to, rest, count);
}

bool coverage_contains(const struct coverage *coverage, int64_t point)
{
    assert(coverage->items != NULL);
    if (point == INT64_MAX)
        return false;
    size_t at = first_ending_from(coverage, point + 1);
    assert(sane(coverage, at));
    return at < coverage->count && coverage->items[at].lo <= point;
}

bool coverage_contains_all(const struct coverage *coverage, struct interval wanted)
{
    assert(coverage->items != NULL);
    if (wanted.hi <= wanted.lo)
        return true;
    size_t at = first_ending_from(coverage, wanted.hi);
    assert(sane(coverage, at));
    return at < coverage->count && coverage->items[at].lo <= wanted.lo;
}

bool coverage_next_gap(const struct coverage *coverage, struct interval range, struct interval *gap)
{
    assert(coverage->items != NULL);
    if (range.hi <= range.lo)
        return false;
    size_t at = first_ending_from(coverage, range.lo);
    assert(sane(coverage, at));
    if (at < coverage->count && coverage->items[at].lo <= range.lo)
        range.lo = coverage->items[at++].hi;
    if (range.lo >= range.hi)
        return false;
    gap->lo = range.lo;
    gap->hi = at < coverage->count && coverage->items[at].lo < range.hi ? coverage->items[at].lo
                                                                        : range.hi;
    return true;
}
