/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/quarantine.h"

#include "base/digest.h"

#include <assert.h>

#define HOUR_US INT64_C(3600000000)

void quarantine_init(struct quarantine *quarantine, const char *source)
{
    assert(source != NULL && source[0] != '\0');
    *quarantine = (struct quarantine){.source = source, .bytes_left = QUARANTINE_HOUR_BYTES_MAX};
    assert(quarantine->rows == 0);
}

static bool may_keep(struct quarantine *quarantine, struct bytes raw, int64_t now_us)
{
    int64_t hour = now_us / HOUR_US;
    if (hour != quarantine->hour) {
        quarantine->hour = hour;
        quarantine->bytes_left = QUARANTINE_HOUR_BYTES_MAX;
    }
    assert(quarantine->bytes_left >= 0 && quarantine->bytes_left <= QUARANTINE_HOUR_BYTES_MAX);
    return raw.len <= QUARANTINE_ROW_BYTES_MAX && (int64_t)raw.len <= quarantine->bytes_left;
}

static bool fill(struct batch *batch, struct record *row, const struct quarantine *quarantine,
                 const char *provider, struct bytes raw, bool keep, const char *reason)
{
    uint8_t digest[DIGEST_SIZE];
    assert(row->kind == RECORD_QUARANTINE && reason != NULL);
    digest_sha256(raw, digest);
    struct bytes kept = bytes_make(raw.data == NULL ? "" : raw.data, raw.len);
    return batch_set_text(batch, row, QUARANTINE_SOURCE, bytes_of(quarantine->source)) &&
           batch_set_text(batch, row, QUARANTINE_DIGEST, bytes_make(digest, EVENT_ID_SIZE)) &&
           batch_set_text(batch, row, QUARANTINE_PROVIDER, bytes_of(provider)) &&
           batch_set_text(batch, row, QUARANTINE_REASON, bytes_of(reason)) &&
           batch_set_text(batch, row, QUARANTINE_RAW, keep ? kept : BYTES_ABSENT);
}

enum rc quarantine_add(struct quarantine *quarantine, struct batch *batch, const char *provider,
                       struct bytes raw, uint64_t size, const char *reason, int64_t now_us)
{
    assert(quarantine->source != NULL && batch != NULL);
    bool keep = may_keep(quarantine, raw, now_us);
    struct record *row = batch_add(batch, RECORD_QUARANTINE);
    if (row == NULL)
        return RC_AGAIN;
    if (!fill(batch, row, quarantine, provider, raw, keep, reason)) {
        batch_drop_last(batch, row);
        return RC_AGAIN;
    }
    batch_set_int(row, QUARANTINE_SIZE, (int64_t)size);
    batch_set_int(row, QUARANTINE_AT_US, now_us);
    quarantine->bytes_left -= keep ? (int64_t)raw.len : 0;
    quarantine->rows++;
    quarantine->cut += keep ? 0 : 1;
    return RC_OK;
}

enum rc quarantine_leave(struct batch *batch, struct bytes source, struct bytes digest)
{
    assert(source.len > 0 && digest.len > 0);
    struct record *row = batch_add(batch, RECORD_QUARANTINE);
    if (row == NULL)
        return RC_AGAIN;
    if (!batch_set_text(batch, row, QUARANTINE_SOURCE, source) ||
        !batch_set_text(batch, row, QUARANTINE_DIGEST, digest)) {
        batch_drop_last(batch, row);
        return RC_AGAIN;
    }
    assert(row->kind == RECORD_QUARANTINE); /* it has no reason: none is left to keep it */
    return RC_OK;
}
