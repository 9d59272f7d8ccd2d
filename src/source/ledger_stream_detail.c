/* SPDX-License-Identifier: Apache-2.0
 *
 * Records that tell only half: for each that is new one more request is made, and the page goes on
 * with what both say. They are put together in groups, so that a page of long records never stands
 * in memory whole. A request that fails is made again and the group waits for it; where that is not
 * to be, what the group has by then is stored. */
#include "source/ledger_stream_steps.h"

#include <assert.h>
#include <string.h>

#define GROUP_RECORDS_MAX 100
#define GROUP_BYTES_MAX   ((size_t)1 << 20)

static void list_records(struct ledger_stream *stream)
{
    struct json_walk walk = json_walk(json_pointer(stream->answer.root, stream->shape->records.at));
    struct bytes key;
    struct json record;
    while (json_walk_next(&walk, &key, &record)) {
        if (stream->detail_count == stream->detail_capacity) {
            stream->detail_capacity =
                stream->detail_capacity == 0 ? 64 : stream->detail_capacity * 2;
            stream->details =
                memory_resize(stream->details, stream->detail_capacity * sizeof *stream->details);
        }
        stream->details[stream->detail_count++] = (struct ledger_detail){.record = record};
    }
}

/* The row came with a record before; what waits is told from what no longer does. */
static bool was_named(struct ledger_stream *stream)
{
    struct window_id id;
    memcpy(id.byte, stream->row_id, sizeof id.byte);
    return stream->shape->equals == EQUALS_NONE && stream->row.block >= 0 &&
           !window_add(&stream->named, &id);
}

/* What is stored as it is needs no further request, and what the page names again no second one. */
static void choose_wanted(struct ledger_stream *stream)
{
    struct err ignored; /* it is read again with its detail, and refused then if it is bad */
    enum rc rc;
    size_t before = SIZE_MAX; /* a record of several rows is not one of them */
    window_clear(&stream->named);
    while ((rc = connector_page_next(&stream->page, &stream->row, &ignored)) != RC_AGAIN) {
        size_t number = stream->page.record_count - 1;
        bool known = false;
        if (number >= stream->detail_count)
            continue;
        struct ledger_detail *detail = &stream->details[number];
        struct bytes key = connector_detail_key(stream->shape, detail->record);
        if (rc == RC_OK) {
            ledger_row_identity(&stream->row, 0, stream->row_id);
            detail->position = ledger_walk_position(stream->shape, &stream->row);
            known = ledger_stream_row_known(stream, false) || ledger_stream_is_older(stream);
            detail->repeats = was_named(stream) && number != before;
        }
        before = number;
        detail->wanted = !known || ledger_stream_debt(stream, key) != NULL;
    }
}

enum rc ledger_stream_open_details(struct ledger_stream *stream, struct err *err)
{
    enum rc rc = connector_page_open(&stream->page, stream->provider->connector, stream->shape,
                                     &stream->vars, stream->answer.root, err);
    if (rc != RC_OK)
        return rc;
    list_records(stream);
    choose_wanted(stream);
    ledger_stream_note_end(stream);
    if (stream->detail_count == 0)
        return ledger_walk_page(&stream->walk, stream->page_records, stream->last_page,
                                stream->has_token ? text_bytes(&stream->token) : BYTES_ABSENT, err);
    return RC_OK;
}

static void append_separator(struct ledger_stream *stream)
{
    text_append_char(&stream->group, stream->group.len == 0 ? '[' : ',');
}

/* The group is read like a page. */
static enum rc open_group(struct ledger_stream *stream, struct err *err)
{
    struct json root;
    text_append_string(&stream->group, stream->group.len == 0 ? "[]" : "]");
    enum rc rc = json_parse_copy(stream->list_doc, text_bytes(&stream->group), &root, err);
    text_clear(&stream->group);
    stream->group_records = 0;
    if (rc == RC_OK)
        rc = connector_page_open_list(&stream->page, stream->provider->connector, stream->shape,
                                      &stream->vars, root, err);
    stream->reading = rc == RC_OK;
    return rc;
}

static void store_group(struct ledger_stream *stream)
{
    struct err err;
    stream->purpose = ASK_PAGE;
    if (open_group(stream, &err) != RC_OK) {
        stream->detail_count = stream->detail_at = 0;
        ledger_stream_failed(stream, RETRY_PERMANENT, -1, err.text);
        return;
    }
    ledger_stream_store(stream);
}

bool ledger_stream_cut_group(struct ledger_stream *stream)
{
    struct err ignored; /* it is asked for again */
    return stream->purpose == ASK_DETAIL && stream->group.len > 0 &&
           open_group(stream, &ignored) == RC_OK;
}

void ledger_stream_drop_details(struct ledger_stream *stream)
{
    stream->detail_count = stream->detail_at = stream->group_records = 0;
    text_clear(&stream->group);
}

void ledger_stream_next_detail(struct ledger_stream *stream)
{
    while (stream->detail_at < stream->detail_count && stream->group.len < GROUP_BYTES_MAX &&
           stream->group_records < GROUP_RECORDS_MAX) {
        const struct ledger_detail *detail = &stream->details[stream->detail_at];
        if (detail->repeats) {
            stream->detail_at++;
            continue;
        }
        if (detail->wanted && connector_detail_key(stream->shape, detail->record).len > 0) {
            stream->purpose = ASK_DETAIL;
            ledger_stream_choose(stream);
            return;
        }
        append_separator(stream);
        json_print(detail->record, &stream->group);
        stream->detail_at++;
        stream->group_records++;
    }
    store_group(stream);
}

/* The record with what the answer says of it is added to the group; false: it says nothing. */
static bool merge(struct ledger_stream *stream)
{
    size_t before = stream->group.len;
    append_separator(stream);
    if (connector_detail_merge(stream->shape, stream->details[stream->detail_at].record,
                               stream->side.root, &stream->group))
        return true;
    assert(stream->group.len == before + 1);
    stream->group.len = before;
    return false;
}

bool ledger_stream_detail_came(struct ledger_stream *stream)
{
    size_t before = stream->group.len;
    bool came = merge(stream);
    stream->group.len = before;
    return came || stream->shape->detail.absent != MISSING_ERROR;
}

void ledger_stream_take_detail(struct ledger_stream *stream)
{
    const struct ledger_detail *detail = &stream->details[stream->detail_at];
    if (merge(stream)) {
        struct bytes key = connector_detail_key(stream->shape, detail->record);
        struct ledger_debt *debt = ledger_stream_debt(stream, key);
        if (debt != NULL)
            debt->paid = true;
    } else {
        append_separator(stream);
        json_print(detail->record, &stream->group);
        ledger_stream_owe(stream, detail);
    }
    stream->detail_at++;
    stream->group_records++;
    ledger_stream_next_detail(stream);
}
