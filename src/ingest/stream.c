/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/stream.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define ID_TEXT_SIZE (2 * sizeof(struct window_id) + 1)

static bool sane(const struct stream *stream)
{
    return stream->source != NULL && stream->name != NULL &&
           stream->cursor.total_fetched >= stream->cursor_before.total_fetched;
}

void stream_init(struct stream *stream, const char *source, const char *name)
{
    assert(source != NULL && source[0] != '\0');
    assert(name != NULL && name[0] != '\0');
    *stream = (struct stream){.source = source, .name = name};
    window_init(&stream->provider_window, WINDOW_PROVIDER_SIZE);
    window_init(&stream->stream_window, WINDOW_STREAM_SIZE);
}

void stream_deinit(struct stream *stream)
{
    assert(sane(stream));
    window_deinit(&stream->provider_window);
    window_deinit(&stream->stream_window);
    *stream = (struct stream){0};
    assert(!stream->under_way);
}

enum rc stream_resume(struct stream *stream, struct json_doc *doc, struct bytes state,
                      struct err *err)
{
    assert(sane(stream));
    assert(!stream->under_way && stream->stream_window.added == 0);
    if (state.data == NULL)
        return RC_OK;
    enum rc rc = cursor_state_from_json(&stream->cursor, doc, state, err);
    if (rc != RC_OK)
        return err_wrap(err, rc, "the stored cursor of %s, stream %s, is unusable", stream->source,
                        stream->name);
    stream->cursor_before = stream->cursor;
    /* An id of another make seeds nothing: the windows then begin empty. */
    window_seed(&stream->stream_window, bytes_of(stream->cursor.last_transaction_id));
    return RC_OK;
}

/* The provider's window knows one provider's pages; another's begins with the last row stored. */
static void change_provider(struct stream *stream, const char *provider_name)
{
    assert(strlen(provider_name) <= CURSOR_PROVIDER_MAX);
    assert(!stream->under_way);
    if (strcmp(stream->window_of, provider_name) == 0)
        return;
    snprintf(stream->window_of, sizeof stream->window_of, "%s", provider_name);
    window_clear(&stream->provider_window);
    window_seed(&stream->provider_window, bytes_of(stream->cursor.last_transaction_id));
}

static void remember(struct stream *stream)
{
    assert(!stream->under_way);
    stream->cursor_before = stream->cursor;
    stream->provider_mark = window_mark(&stream->provider_window);
    stream->stream_mark = window_mark(&stream->stream_window);
    stream->skipped_before = stream->skipped;
    assert(sane(stream));
}

static void take_back(struct stream *stream)
{
    stream->cursor = stream->cursor_before;
    window_rewind(&stream->provider_window, stream->provider_mark);
    window_rewind(&stream->stream_window, stream->stream_mark);
    stream->skipped = stream->skipped_before;
    assert(sane(stream));
}

/* Which records are new. Returns their number; `last` is the last of them, as a cursor shows it. */
static size_t sift(struct stream *stream, const struct stream_page *page, bool *fresh,
                   char last[ID_TEXT_SIZE])
{
    size_t count = 0;
    const struct window_id *newest = NULL;
    for (size_t i = 0; i < page->id_count; i++) {
        bool new_here = window_add(&stream->provider_window, &page->ids[i]);
        bool new_at_all = window_add(&stream->stream_window, &page->ids[i]);
        fresh[i] = new_here && new_at_all;
        count += fresh[i];
        newest = fresh[i] ? &page->ids[i] : newest;
    }
    last[0] = '\0';
    for (size_t i = 0; newest != NULL && i < sizeof newest->byte; i++)
        snprintf(last + 2 * i, 3, "%02x", newest->byte[i]);
    stream->skipped += page->id_count - count;
    assert(count <= page->id_count);
    assert((count > 0) == (newest != NULL));
    return count;
}

/* The position people and queries see: the first number that means the same everywhere. */
static bool find_position(const struct cursor_state *state, int64_t *position)
{
    assert(state->alternative_count <= CURSOR_ALTERNATIVES_MAX);
    const struct cursor *cursor = &state->primary;
    for (unsigned i = 0; i <= state->alternative_count; i++) {
        if (cursor_kind_is_number(cursor->kind) && !cursor_kind_is_scoped(cursor->kind)) {
            *position = cursor->number;
            return true;
        }
        if (i < state->alternative_count)
            cursor = &state->alternatives[i];
    }
    return false;
}

static enum rc add_cursor(const struct stream *stream, struct json_doc *doc, struct batch *batch,
                          int64_t now_us, struct err *err)
{
    struct text json = {0};
    int64_t position;
    assert(batch != NULL);
    enum rc rc = cursor_state_to_json(&stream->cursor, doc, &json, err);
    if (rc != RC_OK)
        goto done;
    struct record *row = batch_add(batch, RECORD_CURSOR);
    if (row == NULL) {
        rc = RC_AGAIN;
        goto done;
    }
    if (!batch_set_text(batch, row, CURSOR_ROW_SOURCE, bytes_of(stream->source)) ||
        !batch_set_text(batch, row, CURSOR_ROW_STREAM, bytes_of(stream->name)) ||
        !batch_set_text(batch, row, CURSOR_ROW_STATE, text_bytes(&json))) {
        batch_drop_last(batch, row);
        rc = RC_AGAIN;
        goto done;
    }
    if (find_position(&stream->cursor, &position))
        batch_set_int(row, CURSOR_ROW_POSITION, position);
    batch_set_int(row, CURSOR_ROW_AT_US, now_us);
    assert(rc == RC_OK);
done:
    text_free(&json);
    return rc;
}

static bool add_coverage(const struct stream *stream, struct batch *batch, struct interval covered)
{
    assert(batch != NULL);
    if (covered.hi <= covered.lo)
        return true;
    struct record *row = batch_add(batch, RECORD_COVERAGE);
    if (row == NULL)
        return false;
    if (!batch_set_text(batch, row, COVERAGE_SOURCE, bytes_of(stream->source)) ||
        !batch_set_text(batch, row, COVERAGE_STREAM, bytes_of(stream->name))) {
        batch_drop_last(batch, row);
        return false;
    }
    batch_set_int(row, COVERAGE_LO, covered.lo);
    batch_set_int(row, COVERAGE_HI, covered.hi);
    return true;
}

/* The cursor brought forward, and its row and that of the coverage in the batch, or neither. */
static enum rc add_rows(struct stream *stream, const struct stream_page *page, size_t fresh_count,
                        const char *last, struct json_doc *doc, struct batch *batch,
                        struct err *err)
{
    struct cursor_page step = {.provider_name = page->provider_name,
                               .next_token = page->next_token,
                               .extracted = page->extracted,
                               .extracted_count = page->extracted_count,
                               .last_transaction_id = bytes_of(last),
                               .records = (int64_t)fresh_count,
                               .completion = page->completion,
                               .high_water = page->high_water,
                               .backfill = page->backfill,
                               .now_ms = page->now_us / 1000};
    assert(last != NULL && fresh_count <= page->id_count);
    enum rc rc = cursor_state_advance(&stream->cursor, &step, err);
    if (rc == RC_OK)
        rc = add_cursor(stream, doc, batch, page->now_us, err);
    if (rc != RC_OK)
        return rc;
    if (!add_coverage(stream, batch, page->covered)) {
        batch_drop_last(batch, batch->last[RECORD_CURSOR]);
        return RC_AGAIN;
    }
    assert(batch->last[RECORD_CURSOR] != NULL);
    return RC_OK;
}

enum rc stream_take(struct stream *stream, const struct stream_page *page, struct json_doc *doc,
                    struct batch *batch, bool *fresh, size_t *fresh_count, struct err *err)
{
    char last[ID_TEXT_SIZE];
    assert(sane(stream) && page->provider_name != NULL);
    assert(page->id_count == 0 || (page->ids != NULL && fresh != NULL));
    if (stream->under_way)
        return RC_AGAIN;
    if (page->id_count > STREAM_PAGE_IDS_MAX)
        return err_set(err, RC_REJECT, "a page of %zu records does not fit into a batch",
                       page->id_count);
    if (strlen(page->provider_name) > CURSOR_PROVIDER_MAX)
        return err_set(err, RC_REJECT, "the provider's name is too long");
    change_provider(stream, page->provider_name);
    remember(stream);
    *fresh_count = sift(stream, page, fresh, last);
    enum rc rc = add_rows(stream, page, *fresh_count, last, doc, batch, err);
    if (rc != RC_OK)
        take_back(stream);
    stream->under_way = rc == RC_OK;
    return rc;
}

void stream_answered(struct stream *stream, enum rc rc)
{
    assert(sane(stream));
    assert(stream->under_way);
    stream->under_way = false;
    if (rc != RC_OK)
        take_back(stream);
}

bool stream_is_complete(const struct stream *stream)
{
    assert(sane(stream));
    const struct cursor_state *stored =
        stream->under_way ? &stream->cursor_before : &stream->cursor;
    assert(stored->completion <= CURSOR_COMPLETE);
    return stored->completion == CURSOR_COMPLETE;
}
