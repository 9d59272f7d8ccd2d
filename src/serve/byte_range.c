/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/byte_range.h"

#include <assert.h>
#include <string.h>

#define UNIT "bytes="

/* Digits up to `end`; none: `absent`. */
static bool take_number(const char *from, const char *end, int64_t absent, int64_t *out)
{
    *out = absent;
    if (from == end)
        return true;
    return *from >= '0' && *from <= '9' &&
           bytes_to_i64(bytes_make(from, (size_t)(end - from)), out);
}

struct byte_range byte_range_parse(struct bytes header)
{
    const struct byte_range all = {.kind = BYTE_RANGE_ALL};
    size_t unit = sizeof UNIT - 1;
    struct byte_range range = {.kind = BYTE_RANGE_FROM};
    if (header.len <= unit || !bytes_starts_with(header, UNIT))
        return all;
    const char *from = header.data + unit, *end = header.data + header.len;
    const char *dash = memchr(from, '-', (size_t)(end - from));
    if (dash == NULL || !take_number(from, dash, -1, &range.first) ||
        !take_number(dash + 1, end, INT64_MAX, &range.last))
        return all;
    if (from == dash)
        range.kind = BYTE_RANGE_LAST;
    bool empty = from == dash ? dash + 1 == end : range.last < range.first;
    return empty ? all : range;
}

bool byte_range_resolve(const struct byte_range *range, int64_t size, int64_t *at, int64_t *len)
{
    assert(size >= 0);
    *at = 0;
    *len = size;
    if (range->kind == BYTE_RANGE_ALL)
        return true;
    if (range->kind == BYTE_RANGE_LAST) {
        *len = range->last < size ? range->last : size;
        *at = size - *len;
        return *len > 0;
    }
    if (range->first >= size)
        return false;
    *at = range->first;
    *len = (range->last < size ? range->last + 1 : size) - *at;
    return true;
}
