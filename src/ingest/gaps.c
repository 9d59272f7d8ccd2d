/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/gaps.h"

#include <assert.h>

void gaps_init(struct gaps *gaps, const char *source, const char *stream)
{
    assert(source != NULL && stream != NULL);
    *gaps = (struct gaps){.source = source, .stream = stream};
    assert(gaps->count == 0);
}

void gaps_note(struct gaps *gaps, int64_t from_us, int64_t to_us)
{
    assert(gaps->count <= GAPS_MAX && from_us < to_us);
    if (gaps->count == GAPS_MAX) {
        gaps->count--;
        if (from_us > gaps->noted[gaps->count].from_us)
            from_us = gaps->noted[gaps->count].from_us;
        if (to_us < gaps->noted[gaps->count].to_us)
            to_us = gaps->noted[gaps->count].to_us;
    }
    gaps->noted[gaps->count].from_us = from_us;
    gaps->noted[gaps->count].to_us = to_us;
    gaps->count++;
    assert(gaps->count <= GAPS_MAX);
}

enum rc gaps_add(struct gaps *gaps, struct batch *batch, const char *reason, int64_t now_us)
{
    assert(gaps->source != NULL && reason != NULL);
    for (; gaps->count > 0; gaps->count--) {
        struct record *row = batch_add(batch, RECORD_GAP);
        if (row == NULL)
            return RC_AGAIN;
        if (!batch_set_text(batch, row, GAP_SOURCE, bytes_of(gaps->source)) ||
            !batch_set_text(batch, row, GAP_STREAM, bytes_of(gaps->stream)) ||
            !batch_set_text(batch, row, GAP_REASON, bytes_of(reason))) {
            batch_drop_last(batch, row);
            return RC_AGAIN;
        }
        batch_set_int(row, GAP_FROM_US, gaps->noted[gaps->count - 1].from_us);
        batch_set_int(row, GAP_TO_US, gaps->noted[gaps->count - 1].to_us);
        batch_set_int(row, GAP_DETECTED_US, now_us);
    }
    return RC_OK;
}
