/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/gap.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMN_FROM_US, COLUMN_TO_US, COLUMN_REASON, COLUMN_DETECTED_US, COLUMNS };

const char gap_load_sql[] =
    "SELECT from_us, to_us, reason, detected_us FROM gaps WHERE source = ?1 AND stream = ?2 "
    "AND closed_us IS NULL AND from_us < to_us ORDER BY from_us, to_us LIMIT ?3";

/* Looked at around a change only: sorted, not empty, never touching. */
static bool sane(const struct gap_set *set, size_t at)
{
    if (set->open == NULL || set->count > set->capacity) /* (I6) */
        return false;
    size_t lo = at > 0 ? at - 1 : 0;
    for (size_t i = lo; i < set->count && i < at + 2; i++) {
        if (set->open[i].from_us >= set->open[i].to_us)
            return false;
        if (i > lo && set->open[i - 1].to_us >= set->open[i].from_us)
            return false;
    }
    return true;
}

void gap_set_init(struct gap_set *set, const char *source, const char *stream, size_t capacity)
{
    assert(source != NULL && stream != NULL);
    assert(capacity <= GAP_OPEN_MAX); /* closing all of them fits into one batch */
    *set = (struct gap_set){.source = source, .stream = stream};
    set->capacity = capacity == 0 ? GAP_OPEN_MAX : capacity;
    set->open = memory_new_zeroed(set->capacity, sizeof *set->open);
}

void gap_set_deinit(struct gap_set *set)
{
    assert(sane(set, 0));
    free(set->open);
    *set = (struct gap_set){0};
    assert(set->count == 0);
}

/* The first gap that ends at or after `us`. */
static size_t first_ending_from(const struct gap_set *set, int64_t us)
{
    size_t lo = 0, hi = set->count;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (set->open[middle].to_us < us)
            lo = middle + 1;
        else
            hi = middle;
    }
    assert(lo == set->count || set->open[lo].to_us >= us);
    assert(lo == 0 || set->open[lo - 1].to_us < us);
    return lo;
}

/* ---- rows ---- */

static bool add_row(const struct gap_set *set, struct batch *batch, const struct gap *gap,
                    bool closed, int64_t now_us)
{
    assert(gap->from_us < gap->to_us);
    struct record *row = batch_add(batch, RECORD_GAP);
    if (row == NULL)
        return false;
    if (!batch_set_text(batch, row, GAP_SOURCE, bytes_of(set->source)) ||
        !batch_set_text(batch, row, GAP_STREAM, bytes_of(set->stream)) ||
        !batch_set_text(batch, row, GAP_REASON, bytes_of(gap->reason))) {
        batch_drop_last(batch, row);
        return false;
    }
    batch_set_int(row, GAP_FROM_US, gap->from_us);
    batch_set_int(row, GAP_TO_US, gap->to_us);
    batch_set_int(row, GAP_DETECTED_US, gap->detected_us);
    if (closed)
        batch_set_int(row, GAP_CLOSED_US, now_us);
    assert(row->fields[GAP_CLOSED_US].null == !closed);
    return true;
}

static void splice(struct gap_set *set, size_t at, size_t end, const struct gap *rest,
                   size_t rest_count)
{
    assert(set->count - (end - at) + rest_count <= set->capacity);
    memmove(set->open + at + rest_count, set->open + end, (set->count - end) * sizeof *set->open);
    if (rest_count > 0)
        memcpy(set->open + at, rest, rest_count * sizeof *rest);
    set->count = set->count - (end - at) + rest_count;
    assert(sane(set, at));
}

/* Puts `rest` in the place of the gaps [at, end): the old rows are closed, the new ones opened. All
 * rows or none. */
static enum rc replace(struct gap_set *set, struct batch *batch, size_t at, size_t end,
                       const struct gap *rest, size_t rest_count, int64_t now_us)
{
    assert(at <= end && end <= set->count);
    assert(set->count - (end - at) + rest_count <= set->capacity);
    size_t added = 0;
    bool fits = true;
    for (size_t i = at; i < end && fits; i++, added += fits)
        fits = add_row(set, batch, &set->open[i], true, now_us);
    for (size_t i = 0; i < rest_count && fits; i++, added += fits)
        fits = add_row(set, batch, &rest[i], false, now_us);
    if (!fits) {
        while (added-- > 0)
            batch_drop_last(batch, batch->last[RECORD_GAP]);
        return RC_AGAIN;
    }
    splice(set, at, end, rest, rest_count);
    return RC_OK;
}

/* Words from elsewhere are cut: only what cannot be cut wrongly is kept. */
static void copy_reason(struct gap *gap, struct bytes reason)
{
    size_t len = reason.len < GAP_REASON_MAX ? reason.len : GAP_REASON_MAX;
    assert(reason.data != NULL || len == 0);
    for (size_t i = 0; i < len; i++)
        gap->reason[i] = reason.data[i] >= ' ' && reason.data[i] <= '~' ? reason.data[i] : '?';
    gap->reason[len] = '\0';
    assert(strlen(gap->reason) <= GAP_REASON_MAX);
}

/* ---- opening and closing ---- */

/* Grows `gap` over [*at, *end), the open gaps it meets. */
static void take_in(const struct gap_set *set, struct gap *gap, size_t *at, size_t *end)
{
    *at = *end = first_ending_from(set, gap->from_us);
    while (*end < set->count && set->open[*end].from_us <= gap->to_us) {
        const struct gap *met = &set->open[(*end)++];
        gap->from_us = met->from_us < gap->from_us ? met->from_us : gap->from_us;
        gap->to_us = met->to_us > gap->to_us ? met->to_us : gap->to_us;
        gap->detected_us =
            met->detected_us > gap->detected_us ? met->detected_us : gap->detected_us;
    }
    assert(*end == set->count || set->open[*end].from_us > gap->to_us);
    assert(*at == 0 || set->open[*at - 1].to_us < gap->from_us);
}

/* Stretches `gap` to the neighbour that is nearest. */
static void reach_out(const struct gap_set *set, struct gap *gap, size_t at)
{
    assert(set->count > 0);
    assert(at <= set->count);
    uint64_t before = UINT64_MAX, after = UINT64_MAX;
    if (at > 0)
        before = (uint64_t)gap->from_us - (uint64_t)set->open[at - 1].to_us;
    if (at < set->count)
        after = (uint64_t)set->open[at].from_us - (uint64_t)gap->to_us;
    if (before <= after)
        gap->from_us = set->open[at - 1].to_us;
    else
        gap->to_us = set->open[at].from_us;
}

enum rc gap_open(struct gap_set *set, struct batch *batch, int64_t from_us, int64_t to_us,
                 const char *reason, int64_t now_us)
{
    assert(set->open != NULL && batch != NULL);
    assert(reason != NULL && reason[0] != '\0');
    struct gap gap = {.from_us = from_us, .to_us = to_us, .detected_us = now_us};
    size_t at, end;
    if (from_us >= to_us)
        return RC_OK;
    copy_reason(&gap, bytes_of(reason));
    take_in(set, &gap, &at, &end);
    if (end - at == 1 && set->open[at].from_us == gap.from_us && set->open[at].to_us == gap.to_us)
        return RC_OK;
    if (at == end && set->count == set->capacity) {
        reach_out(set, &gap, at);
        take_in(set, &gap, &at, &end);
    }
    return replace(set, batch, at, end, &gap, 1, now_us);
}

enum rc gap_close(struct gap_set *set, struct batch *batch, int64_t from_us, int64_t to_us,
                  int64_t now_us)
{
    assert(set->open != NULL);
    assert(batch != NULL);
    if (from_us >= to_us || from_us == INT64_MAX)
        return RC_OK;
    struct gap rest[2];
    size_t rest_count = 0, at = first_ending_from(set, from_us + 1), end = at;
    while (end < set->count && set->open[end].from_us < to_us)
        end++;
    if (at == end)
        return RC_OK;
    if (set->open[at].from_us < from_us) {
        rest[rest_count] = set->open[at];
        rest[rest_count++].to_us = from_us;
    }
    if (set->open[end - 1].to_us > to_us) {
        rest[rest_count] = set->open[end - 1];
        rest[rest_count++].from_us = to_us;
    }
    if (set->count - (end - at) + rest_count > set->capacity)
        return RC_AGAIN;
    return replace(set, batch, at, end, rest, rest_count, now_us);
}

enum rc gap_end(const struct gap_set *set, struct batch *batch, int64_t from_us, int64_t to_us,
                const char *reason, int64_t now_us)
{
    assert(set->open != NULL && from_us < GAP_NO_END_US);
    assert(to_us < GAP_NO_END_US && reason != NULL);
    struct gap gap = {.from_us = from_us, .to_us = GAP_NO_END_US, .detected_us = now_us};
    copy_reason(&gap, bytes_of(reason));
    if (!add_row(set, batch, &gap, true, now_us))
        return RC_AGAIN;
    gap.to_us = to_us;
    if (from_us >= to_us || add_row(set, batch, &gap, false, now_us))
        return RC_OK;
    batch_drop_last(batch, batch->last[RECORD_GAP]);
    return RC_AGAIN;
}

void gap_abandoned(struct gap_set *set)
{
    assert(set->open != NULL);
    assert(set->count <= set->capacity);
    set->unsure = true;
}

int64_t gap_complete_since(const struct gap_set *set)
{
    assert(set->open != NULL);
    assert(set->count <= set->capacity);
    return set->count == 0 ? INT64_MIN : set->open[set->count - 1].to_us;
}

const struct gap *gap_find(const struct gap_set *set, int64_t from_us, int64_t to_us)
{
    assert(set->open != NULL);
    if (from_us >= to_us || from_us == INT64_MAX)
        return NULL;
    size_t at = first_ending_from(set, from_us + 1);
    assert(sane(set, at));
    return at < set->count && set->open[at].from_us < to_us ? &set->open[at] : NULL;
}

/* ---- reading the table ---- */

void gap_load_begin(struct gap_set *set, struct field params[GAP_LOAD_PARAMS])
{
    assert(set->open != NULL);
    assert(params != NULL);
    set->count = 0;
    set->unsure = false;
    params[0] = field_text(bytes_of(set->source));
    params[1] = field_text(bytes_of(set->stream));
    params[2] = field_int(INT32_MAX); /* in memory what does not fit is taken together */
}

bool gap_load_row(void *arg, const struct field *columns, size_t count)
{
    struct gap_set *set = arg;
    assert(count == COLUMNS);
    assert(!columns[COLUMN_FROM_US].null && !columns[COLUMN_TO_US].null);
    struct gap gap = {.from_us = columns[COLUMN_FROM_US].i,
                      .to_us = columns[COLUMN_TO_US].i,
                      .detected_us = columns[COLUMN_DETECTED_US].i};
    copy_reason(&gap, columns[COLUMN_REASON].b);
    size_t at, end;
    take_in(set, &gap, &at, &end);
    if (at == end && set->count == set->capacity) {
        reach_out(set, &gap, at);
        take_in(set, &gap, &at, &end);
    }
    splice(set, at, end, &gap, 1);
    return true;
}

void gap_note(struct gap_set *set, int64_t from_us, int64_t to_us, const char *reason)
{
    assert(set->noted_count <= GAP_NOTED_MAX && from_us < to_us && reason != NULL);
    if (set->noted_count == GAP_NOTED_MAX) {
        set->noted_count--;
        if (from_us > set->noted[set->noted_count].from_us)
            from_us = set->noted[set->noted_count].from_us;
        if (to_us < set->noted[set->noted_count].to_us)
            to_us = set->noted[set->noted_count].to_us;
    }
    set->noted[set->noted_count].from_us = from_us;
    set->noted[set->noted_count].to_us = to_us;
    set->noted[set->noted_count].reason = reason;
    set->noted_count++;
    assert(set->noted_count <= GAP_NOTED_MAX);
}

void gap_forget(struct gap_set *set)
{
    assert(set->open != NULL && set->count <= set->capacity);
    splice(set, 0, set->count, NULL, 0);
    assert(set->count == 0);
}

enum rc gap_open_noted(struct gap_set *set, struct batch *batch, int64_t now_us)
{
    assert(set->open != NULL && set->noted_count <= GAP_NOTED_MAX);
    for (; set->noted_count > 0; set->noted_count--) {
        size_t last = set->noted_count - 1;
        enum rc rc = gap_open(set, batch, set->noted[last].from_us, set->noted[last].to_us,
                              set->noted[last].reason, now_us);
        if (rc != RC_OK)
            return rc;
    }
    assert(set->noted_count == 0);
    return RC_OK;
}
