/* SPDX-License-Identifier: Apache-2.0 */
#include "query/status_refused.h"

#include "base/utf8.h"

#include <assert.h>
#include <stdio.h>

#define REFUSED_SQL                                                                                \
    "SELECT id, size, times, at_us, source, provider, reason FROM quarantine "                     \
    "ORDER BY id DESC LIMIT %d"

static bool take_refused(void *arg, const struct field *columns, size_t count)
{
    struct status_refusals *out = arg;
    assert(count == 7 && out->count < STATUS_REFUSED_MAX);
    struct status_refused *input = &out->inputs[out->count++];
    input->id = columns[0].i;
    input->size = columns[1].i;
    input->times = columns[2].i;
    input->at_us = columns[3].i;
    utf8_copy(columns[4].b, input->source, sizeof input->source);
    utf8_copy(columns[5].null ? BYTES_ABSENT : columns[5].b, input->provider,
              sizeof input->provider);
    utf8_copy(columns[6].b, input->reason, sizeof input->reason);
    return true;
}

enum rc status_read_refused(struct store *store, struct status_refusals *out, struct err *err)
{
    char sql[160];
    out->count = 0;
    snprintf(sql, sizeof sql, REFUSED_SQL, STATUS_REFUSED_MAX);
    return store_query(store, sql, NULL, 0, take_refused, out, err);
}
