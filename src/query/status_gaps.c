/* SPDX-License-Identifier: Apache-2.0 */
#include "query/status_gaps.h"

#include "base/utf8.h"

#include <assert.h>
#include <stdio.h>

#define GAPS_SQL                                                                                   \
    "SELECT source, stream, reason, from_us, to_us, closed_us FROM gaps "                          \
    "WHERE closed_us IS NULL OR to_us > ?1 ORDER BY from_us DESC, id DESC LIMIT %d"

static bool take_gap(void *arg, const struct field *columns, size_t count)
{
    struct status_gaps *out = arg;
    assert(count == 6 && out->count < STATUS_GAPS_MAX);
    struct status_gap *gap = &out->gaps[out->count++];
    utf8_copy(columns[0].b, gap->source, sizeof gap->source);
    utf8_copy(columns[1].b, gap->stream, sizeof gap->stream);
    utf8_copy(columns[2].b, gap->reason, sizeof gap->reason);
    gap->from_us = columns[3].i;
    gap->to_us = columns[4].i;
    gap->closed_us = columns[5].null ? 0 : columns[5].i;
    return true;
}

enum rc status_read_gaps(struct store *store, int64_t since_us, struct status_gaps *out,
                         struct err *err)
{
    struct field since = field_int(since_us);
    char sql[256];
    out->count = 0;
    snprintf(sql, sizeof sql, GAPS_SQL, STATUS_GAPS_MAX);
    return store_query(store, sql, &since, 1, take_gap, out, err);
}
