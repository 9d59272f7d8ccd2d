/* SPDX-License-Identifier: Apache-2.0
 *
 * From an answer to batches. A batch holds the rows of a page that are new or have changed, the
 * cursor as far as those rows go, and what the session counts; a page that does not fit into one
 * goes on in the next. */
#include "base/json_member.h"
#include "source/ledger_stream_steps.h"
#include "sys/crashpoint.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum rc ledger_stream_open_page(struct ledger_stream *stream, bool empty, struct err *err)
{
    enum rc rc = RC_OK;
    stream->reading = false;
    if (!stream->due)
        stream->last_count = 0;
    for (; stream->here_count < stream->id_count; stream->here_count++)
        window_add(&stream->here, &stream->ids[stream->here_count]);
    ledger_stream_drop_details(stream);
    if (!empty && stream->shape->detail.given)
        return ledger_stream_open_details(stream, err);
    if (!empty)
        rc = connector_page_open(&stream->page, stream->provider->connector, stream->shape,
                                 &stream->vars, stream->answer.root, err);
    else
        rc = ledger_walk_page(&stream->walk, 0, true, BYTES_ABSENT, err);
    if (rc == RC_OK)
        stream->reading = !empty;
    return rc;
}

/* ---- one row ---- */

static void put_number(struct json_writer *json, const char *key, int64_t value)
{
    json_key(json, key);
    if (value >= 0)
        json_put_i64(json, value);
    else
        json_put_null(json);
}

static void normalize(struct ledger_stream *stream)
{
    const struct ledger_row *row = &stream->row;
    struct json_writer json;
    char id[2 * EVENT_ID_SIZE + 1];
    for (size_t i = 0; i < EVENT_ID_SIZE; i++)
        snprintf(id + 2 * i, 3, "%02x", stream->row_id[i]);
    text_clear(&stream->words);
    json_writer_init(&json, &stream->words);
    json_begin_object(&json);
    json_member_string(&json, "id", bytes_of(id));
    json_member_string(&json, "hash", row->hash);
    json_member_string(&json, "kind", bytes_of(row->kind));
    put_number(&json, "block", row->block);
    put_number(&json, "time", row->time_us);
    json_member_string(&json, "from", row->from);
    json_member_string(&json, "to", row->to);
    json_member_string(&json, "asset", row->asset);
    json_member_string(&json, "tokenId", row->token_id);
    json_member_string(&json, "amount", row->amount);
    json_member_string(&json, "fee", row->fee);
    json_member_string(&json, "status", bytes_of(row->status));
    json_end_object(&json);
}

bool ledger_stream_has_room(const struct ledger_stream *stream, const struct batch *batch)
{
    return batch->record_count < LEDGER_CHUNK_ROWS && stream->id_count < LEDGER_CHUNK_ROWS &&
           arena_left(&batch->arena) >= LEDGER_ROW_ROOM;
}

/* What came, unless it is too much to be kept with every row. */
static struct bytes raw_of(struct ledger_stream *stream, char note[64])
{
    if (stream->row.raw.len <= LEDGER_RAW_MAX)
        return stream->row.raw;
    snprintf(note, 64, "{\"omitted\":\"%zu bytes\"}", stream->row.raw.len);
    return bytes_of(note);
}

static void add_row(struct ledger_stream *stream, struct batch *batch, bool replaces)
{
    const struct ledger_row *row = &stream->row;
    struct record *record = batch_add(batch, RECORD_TRANSACTION);
    char note[64];
    assert(record != NULL);
    normalize(stream);
    bool fits =
        batch_set_text(batch, record, TRANSACTION_ACCOUNT, bytes_of(stream->run->account)) &&
        batch_set_text(batch, record, TRANSACTION_EVENT_ID,
                       bytes_make(stream->row_id, EVENT_ID_SIZE)) &&
        batch_set_text(batch, record, TRANSACTION_STREAM, bytes_of(stream->name)) &&
        batch_set_text(batch, record, TRANSACTION_PROVIDER, bytes_of(stream->view.provider)) &&
        batch_set_text(batch, record, TRANSACTION_HASH, row->hash) &&
        batch_set_text(batch, record, TRANSACTION_STATUS, bytes_of(row->status)) &&
        batch_set_text(batch, record, TRANSACTION_PROVIDER_DATA, raw_of(stream, note)) &&
        batch_set_text(batch, record, TRANSACTION_NORMALIZED_DATA, text_bytes(&stream->words));
    assert(fits);
    batch_set_int(record, TRANSACTION_SESSION_US, stream->run->started_us);
    if (row->block >= 0)
        batch_set_int(record, TRANSACTION_BLOCK, row->block);
    if (row->time_us >= 0)
        batch_set_int(record, TRANSACTION_AT_US, row->time_us);
    if (!stream->shape->map[FIELD_STATUS].mapped)
        batch_set_int(record, TRANSACTION_UNTOLD, 1);
    if (stream->shares && strcmp(row->status, "pending") != 0)
        batch_set_int(record, TRANSACTION_CLAIMED, 1);
    if (replaces)
        batch_set_int(record, TRANSACTION_REPLACES, 1);
    else if (strcmp(row->status, "pending") == 0)
        stream->pending_here++; /* it comes again and is news then: no window may hold it */
    else
        memcpy(stream->ids[stream->id_count++].byte, stream->row_id, EVENT_ID_SIZE);
}

/* A row in no block yet is judged by the store: it may have got into one since. */
bool ledger_stream_row_known(struct ledger_stream *stream, bool seen)
{
    struct ledger_known_row *known = ledger_known_find(&stream->known, stream->row_id);
    struct window_id id;
    memcpy(id.byte, stream->row_id, sizeof id.byte);
    if (ledger_walk_below(&stream->walk, ledger_walk_position(stream->shape, &stream->row)))
        return true;
    if (known == NULL)
        return stream->row.block >= 0 && !window_contains(&stream->strayed, &id) &&
               (window_contains(&stream->stored.stream_window, &id) ||
                window_contains(&stream->here, &id));
    /* It has left its block: what is stored of that is given up like a row that does not come. */
    if (known->block >= 0 && stream->row.block < 0 && strcmp(known->status, "orphaned") != 0)
        return true;
    bool same = known->block == stream->row.block && strcmp(known->status, stream->row.status) == 0;
    if (seen)
        ledger_known_see(&stream->known, known, stream->row.block, stream->row.status);
    return same;
}

static void note_last(struct ledger_stream *stream)
{
    const struct ledger_row *row = &stream->row;
    enum cursor_kind block =
        stream->shape->resume.kind == RESUME_SLOT ? CURSOR_SLOT : CURSOR_BLOCK_NUMBER;
    unsigned count = 0;
    int64_t at = ledger_walk_position(stream->shape, row);
    if (at < 0)
        return;
    stream->shown = at > stream->shown ? at : stream->shown;
    if (strcmp(row->status, "pending") == 0 && (stream->waits_from < 0 || at < stream->waits_from))
        stream->waits_from = at;
    if (row->block >= 0)
        stream->last[count++] = cursor_make_number(block, row->block, NULL);
    if (ledger_stream_time_passed(stream))
        stream->last[count++] = cursor_make_number(CURSOR_TIMESTAMP, row->time_us, NULL);
    if (row->hash.len > 0 && row->hash.len <= CURSOR_VALUE_MAX)
        stream->last[count++] = cursor_make_text(CURSOR_TX_HASH, row->hash, NULL);
    for (unsigned i = 0; i < count; i++)
        stream->last[i].inclusive = true;
    stream->last_count = count;
}

static void take_row(struct ledger_stream *stream, struct batch *batch)
{
    bool known = ledger_stream_row_known(stream, true);
    struct ledger_debt *debt = ledger_stream_debt(stream, stream->row.hash);
    if (debt != NULL && !stream->shape->detail.given)
        debt->paid = true; /* who lists the whole record owes nothing */
    bool replaces = known && debt != NULL && debt->paid;
    stream->waiting += strcmp(stream->row.status, "pending") == 0;
    if (known && !replaces)
        stream->known_here++;
    else
        add_row(stream, batch, replaces);
    if (debt != NULL)
        debt->stored = debt->paid;
    note_last(stream);
}

static void refuse_row(struct ledger_stream *stream, struct batch *batch, const char *reason)
{
    uint8_t digest[DIGEST_SIZE];
    struct window_id id;
    digest_sha256(stream->row.raw, digest);
    memcpy(id.byte, digest, sizeof id.byte);
    window_add(&stream->unreadable, &id);
    enum rc rc = quarantine_add(&stream->quarantine, batch, stream->view.provider, stream->row.raw,
                                stream->row.raw.len, reason, ledger_stream_wall(stream));
    assert(rc == RC_OK);
    stream->view.refused++;
}

/* A line of a file that is no row. */
static void refuse_line(struct ledger_stream *stream, struct batch *batch)
{
    struct ledger_file *file = stream->run->file;
    if (file->bad.data == NULL)
        return;
    stream->row.raw = file->bad;
    refuse_row(stream, batch, file->why.text);
    file->bad = BYTES_ABSENT;
}

/* ---- a batch ---- */

/* Pages that are numbered are pages of one list only as long as it does not get shorter. */
static void note_total(struct ledger_stream *stream)
{
    bool numbered = stream->shape->page.by == PAGE_NUMBER || stream->shape->page.by == PAGE_OFFSET;
    int64_t total = stream->view.total;
    if (stream->shape->count.request != NULL || stream->walk.leg_count > 1)
        return;
    if (ledger_walk_at_top(&stream->walk))
        stream->total_top = total;
    if (stream->total_first < 0)
        stream->total_first = total;
    else if (total >= 0 && total < stream->total_first && numbered)
        stream->shrank = true;
}

void ledger_stream_note_end(struct ledger_stream *stream)
{
    stream->has_token = connector_page_token(&stream->page, &stream->answer, &stream->token);
    stream->last_page = connector_page_last(&stream->page, &stream->answer);
    stream->page_records = stream->page.record_count;
    if (stream->shape->count.given && stream->shape->count.request == NULL &&
        !connector_figure_read(&stream->shape->count, stream->answer.root, &stream->view.total))
        stream->view.total = -1;
    note_total(stream);
}

static enum rc end_page(struct ledger_stream *stream, struct err *err)
{
    const struct ledger_file *file = stream->run->file;
    stream->reading = false;
    if (stream->detail_at < stream->detail_count || (file != NULL && !file->ended))
        return RC_OK; /* this was one group of its records */
    if (file != NULL)
        return ledger_walk_page(&stream->walk, stream->page.record_count, true, BYTES_ABSENT, err);
    if (stream->detail_count == 0)
        ledger_stream_note_end(stream);
    return ledger_walk_page(&stream->walk, stream->page_records, stream->last_page,
                            stream->has_token ? text_bytes(&stream->token) : BYTES_ABSENT, err);
}

/* RC_OK: the page has no more. RC_AGAIN: the batch has no more room. RC_REJECT: the walk cannot be
 * followed any further. */
static enum rc fill(struct ledger_stream *stream, struct batch *batch, struct err *err)
{
    while (stream->reading) {
        uint32_t ordinal;
        if (!ledger_stream_has_room(stream, batch))
            return RC_AGAIN;
        enum rc rc = connector_page_next(&stream->page, &stream->row, err);
        if (rc == RC_AGAIN)
            return end_page(stream, err);
        if (rc == RC_OK)
            rc = ledger_stream_check_place(stream, err);
        if (rc != RC_OK) {
            refuse_row(stream, batch, err->text);
            continue;
        }
        rc = ledger_walk_row(&stream->walk, &stream->row, &ordinal, err);
        if (rc != RC_OK)
            return rc;
        ledger_row_identity(&stream->row, ordinal, stream->row_id);
        if (!ledger_stream_leaves_out(stream))
            take_row(stream, batch);
    }
    return RC_OK;
}

static bool add_session(struct ledger_stream *stream, struct batch *batch, bool complete)
{
    struct record *row = batch_add(batch, RECORD_SESSION);
    if (row == NULL ||
        !batch_set_text(batch, row, SESSION_ACCOUNT, bytes_of(stream->run->account)) ||
        !batch_set_text(batch, row, SESSION_STATUS, bytes_of("started")) ||
        !batch_set_text(batch, row, SESSION_STREAM, bytes_of(stream->name)) ||
        !batch_set_text(batch, row, SESSION_PROVIDER, bytes_of(stream->view.provider)))
        return false;
    batch_set_int(row, SESSION_STARTED_US, stream->run->started_us);
    batch_set_int(row, SESSION_COMPLETE, complete);
    batch_set_int(row, SESSION_SKIPPED, (int64_t)stream->known_here);
    batch_set_int(row, SESSION_AT_US, ledger_stream_wall(stream));
    stream->announced =
        ledger_nonces_announce(stream->run->nonces, ledger_stream_wall(stream) / 1000, row);
    return true;
}

/* Cursor, coverage and totals, beside the rows. */
static enum rc add_progress(struct ledger_stream *stream, struct batch *batch, struct err *err)
{
    const struct ledger_walk *walk = &stream->walk;
    bool over = !stream->reading && ledger_walk_over(walk);
    bool doubted = over && ledger_stream_doubt(stream) != NULL;
    bool complete_now = over && !stream->marking && !doubted;
    /* A sweep whose end is not believed is one that was interrupted there. */
    bool sweeping = stream->shape->order != ORDER_ASC && (!over || doubted);
    /* A row that has a place and still waits is read again: the next run begins there. */
    bool waits = stream->waits_from >= 0 && stream->waits_from < walk->complete;
    struct cursor complete =
        cursor_make_number(stream->view.kind, waits ? stream->waits_from : walk->complete, NULL);
    struct cursor back = {0};
    /* One part has come to somewhere, another one nowhere yet: no position is true of both. */
    bool unequal = walk->leg_count > 1 && walk->complete < 0;
    /* What did not come again would be forgotten by a run that begins above it. */
    bool behind = ledger_stream_left_behind(stream) || (sweeping && over);
    /* That a sweep was interrupted stays true until something is claimed. */
    bool unclaimed = stream->skips || (!sweeping && (walk->complete < 0 || behind));
    /* What lies before the time that was asked for is not there: no position is true. */
    bool nowhere = unequal || stream->skips;
    size_t fresh;
    complete.inclusive = true;
    if (sweeping && stream->last_count > 0)
        back = stream->last[0];
    const struct ledger_leg *leg = &walk->legs[walk->leg];
    struct stream_page page = {
        .provider_name = stream->view.provider,
        .ids = stream->ids,
        .id_count = stream->id_count,
        .next_token = !stream->reading && !stream->skips && leg->token[0] != '\0' && !leg->over
                          ? bytes_of(leg->token)
                          : BYTES_ABSENT,
        .extracted = stream->last,
        .extracted_count = nowhere ? 0 : stream->last_count,
        .completion = complete_now ? CURSOR_COMPLETE : CURSOR_INCOMPLETE,
        .high_water = walk->complete >= 0 && !behind && !stream->skips ? &complete : NULL,
        .backfill = unclaimed || (sweeping && back.kind == CURSOR_NONE) ? NULL : &back,
        .covered = {stream->covered_from, behind ? stream->covered_from : walk->complete},
        .now_us = ledger_stream_wall(stream)};
    ledger_stream_note_place(stream, sweeping, complete_now);
    enum rc rc =
        stream_take(&stream->stored, &page, stream->cursor_doc, batch, stream->fresh, &fresh, err);
    if (rc == RC_OK &&
        (!ledger_stream_add_owed(stream, batch) || !add_session(stream, batch, complete_now)))
        rc = RC_AGAIN;
    assert(rc != RC_AGAIN); /* room was left for it */
    return rc;
}

static void begin_batch(struct ledger_stream *stream)
{
    stream->due = false;
    stream->id_count = 0;
    stream->known_here = stream->pending_here = 0;
    if (stream->here_count > 0)
        window_clear(&stream->here);
    stream->here_count = 0;
}

/* Nothing of the batch was stored, and its pages are asked for again. */
static void drop_batch(struct ledger_stream *stream, const char *why)
{
    ledger_stream_break_off(stream);
    begin_batch(stream);
    ledger_known_undo(&stream->known);
    ledger_stream_drop_payments(stream);
    stream->reading = stream->marking = false;
    stream->marked = 0;
    stream->provider = NULL;
    ledger_walk_deinit(&stream->walk);
    delivery_drop(ledger_stream_filling(stream));
    if (stream->run->file != NULL) /* what came is not read again: to go on would leave it out */
        ledger_stream_end(stream, LEDGER_FAILED, why);
    else
        ledger_stream_failed(stream, RETRY_PERMANENT, -1, why);
}

void ledger_stream_send(struct ledger_stream *stream)
{
    struct err err;
    struct delivery *delivery = ledger_stream_filling(stream);
    assert(!stream->storing && delivery->batch != NULL);
    enum rc rc = add_progress(stream, delivery->batch, &err);
    if (rc != RC_OK) {
        drop_batch(stream, err.text);
        return;
    }
    ledger_known_keep(&stream->known);
    stream->view.rows += stream->id_count + stream->pending_here;
    stream->view.known += stream->known_here;
    stream->view.position = stream->walk.complete;
    delivery->batch->urgent = true; /* the next one has to wait for it */
    stream->storing = true;
    stream->filling ^= 1;
    begin_batch(stream);
    delivery_send(delivery);
    crashpoint(CRASH_LEDGER_PAGE_SENT);
}

/* What follows can be asked for before this is stored: nothing hangs on what the store will say. A
 * batch has room for what one group of details owes, not for another's. */
static bool may_go_ahead(const struct ledger_stream *stream)
{
    if (stream->due && stream->shape->detail.given)
        return false;
    return !stream->reading && stream->storing && stream->run->file == NULL &&
           stream->detail_at == stream->detail_count && !ledger_walk_over(&stream->walk);
}

void ledger_stream_store(struct ledger_stream *stream)
{
    struct err err;
    struct batch *batch = delivery_take(ledger_stream_filling(stream));
    stream->view.state = LEDGER_STORING;
    if (batch == NULL)
        return; /* comes back when there is one */
    if (stream->run->file != NULL)
        refuse_line(stream, batch);
    if (fill(stream, batch, &err) == RC_REJECT) {
        drop_batch(stream, err.text);
        return;
    }
    stream->due = true;
    if (!stream->storing)
        ledger_stream_send(stream);
    if (may_go_ahead(stream))
        ledger_stream_choose(stream);
}
