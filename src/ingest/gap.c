/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/gap.h"

#include <assert.h>

void gap_notes_init(struct gap_notes *notes, const char *source, const char *stream)
{
    assert(source != NULL);
    assert(stream != NULL);
    *notes = (struct gap_notes){.source = source, .stream = stream};
}

static bool add_row(const struct gap_notes *notes, struct batch *batch, const struct gap *gap,
                    bool closed, int64_t now_us)
{
    assert(gap->from_us < gap->to_us);
    struct record *row = batch_add(batch, RECORD_GAP);
    if (row == NULL)
        return false;
    if (!batch_set_text(batch, row, GAP_SOURCE, bytes_of(notes->source)) ||
        !batch_set_text(batch, row, GAP_STREAM, bytes_of(notes->stream)) ||
        !batch_set_text(batch, row, GAP_REASON, bytes_of(gap->reason))) {
        batch_drop_last(batch, row);
        return false;
    }
    batch_set_int(row, GAP_FROM_US, gap->from_us);
    batch_set_int(row, GAP_TO_US, gap->to_us);
    batch_set_int(row, GAP_DETECTED_US, now_us);
    if (closed)
        batch_set_int(row, GAP_CLOSED_US, now_us);
    assert(row->fields[GAP_CLOSED_US].null == !closed);
    return true;
}

/* ---- noting ---- */

static void stretch(struct gap *gap, const struct gap *over)
{
    gap->from_us = over->from_us < gap->from_us ? over->from_us : gap->from_us;
    gap->to_us = over->to_us > gap->to_us ? over->to_us : gap->to_us;
    assert(gap->from_us <= over->from_us && gap->to_us >= over->to_us);
    assert(gap->from_us < gap->to_us);
}

/* Takes every noted gap that meets it into `gap`. */
static void take_in(struct gap_notes *notes, struct gap *gap)
{
    assert(notes->count <= GAP_NOTED_MAX);
    for (size_t i = 0; i < notes->count;) {
        const struct gap *other = &notes->noted[i];
        if (other->to_us < gap->from_us || other->from_us > gap->to_us) {
            i++;
            continue;
        }
        stretch(gap, other);
        notes->noted[i] = notes->noted[--notes->count];
        i = 0; /* it may meet now what it did not meet before */
    }
    assert(notes->count <= GAP_NOTED_MAX);
}

void gap_note(struct gap_notes *notes, int64_t from_us, int64_t to_us, const char *reason)
{
    assert(from_us < to_us);
    assert(reason != NULL && reason[0] != '\0');
    struct gap gap = {from_us, to_us, reason};
    take_in(notes, &gap);
    if (notes->count == GAP_NOTED_MAX) {
        stretch(&gap, &notes->noted[--notes->count]);
        take_in(notes, &gap);
    }
    notes->noted[notes->count++] = gap;
}

/* ---- rows ---- */

enum rc gap_open_noted(struct gap_notes *notes, struct batch *batch, int64_t now_us)
{
    assert(batch != NULL);
    assert(notes->count <= GAP_NOTED_MAX);
    for (; notes->count > 0; notes->count--)
        if (!add_row(notes, batch, &notes->noted[notes->count - 1], false, now_us))
            return RC_AGAIN;
    return RC_OK;
}

enum rc gap_end(const struct gap_notes *notes, struct batch *batch, int64_t from_us, int64_t to_us,
                const char *reason, int64_t now_us)
{
    assert(from_us < GAP_NO_END_US && to_us < GAP_NO_END_US);
    assert(reason != NULL && reason[0] != '\0');
    struct gap gap = {from_us, GAP_NO_END_US, reason};
    if (!add_row(notes, batch, &gap, true, now_us))
        return RC_AGAIN;
    gap.to_us = to_us;
    if (from_us >= to_us || add_row(notes, batch, &gap, false, now_us))
        return RC_OK;
    batch_drop_last(batch, batch->last[RECORD_GAP]);
    return RC_AGAIN;
}
