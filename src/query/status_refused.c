/* SPDX-License-Identifier: Apache-2.0 */
#include "query/status_refused.h"

#include "base/utf8.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define REFUSED_SQL                                                                                \
    "SELECT id, size, times, at_us, source, provider, reason, substr(raw, 1, 256), length(raw) "   \
    "FROM quarantine ORDER BY id DESC LIMIT %d"

/* What a person may read of it, whatever it is: control characters are shown as bytes too. */
static void quote(struct bytes raw, char out[STATUS_EXCERPT_MAX])
{
    const unsigned char *at = (const unsigned char *)raw.data, *end = at + raw.len;
    size_t used = 0, bad;
    while (at < end && used + 5 < STATUS_EXCERPT_MAX) {
        bool plain = *at >= 0x20 && *at < 0x7f;
        size_t len = plain ? 1 : *at < 0x80 ? 0 : utf8_sequence(at, (size_t)(end - at), &bad);
        if (len > 0)
            memcpy(out + used, at, len);
        else
            snprintf(out + used, 5, "\\x%02x", *at);
        used += len > 0 ? len : 4;
        at += len > 0 ? len : 1;
    }
    out[used] = '\0';
}

static bool take_refused(void *arg, const struct field *columns, size_t count)
{
    struct status_refusals *out = arg;
    assert(count == 9 && out->count < STATUS_REFUSED_MAX);
    struct status_refused *input = &out->inputs[out->count++];
    input->id = columns[0].i;
    input->size = columns[1].i;
    input->times = columns[2].i;
    input->at_us = columns[3].i;
    utf8_copy(columns[4].b, input->source, sizeof input->source);
    utf8_copy(columns[5].null ? BYTES_ABSENT : columns[5].b, input->provider,
              sizeof input->provider);
    utf8_copy(columns[6].b, input->reason, sizeof input->reason);
    quote(columns[7].null ? bytes_of("") : columns[7].b, input->excerpt);
    input->whole = !columns[8].null && columns[8].i == input->size;
    return true;
}

enum rc status_read_refused(struct store *store, struct status_refusals *out, struct err *err)
{
    char sql[160];
    out->count = 0;
    snprintf(sql, sizeof sql, REFUSED_SQL, STATUS_REFUSED_MAX);
    return store_query(store, sql, NULL, 0, take_refused, out, err);
}
