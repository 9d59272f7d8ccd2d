/* SPDX-License-Identifier: Apache-2.0 */
#include "source/feed_place.h"

#include "base/json_member.h"

#include <assert.h>
#include <string.h>

#define PROOF_ITEMS 2 /* below the bound at a page's end, so that no stray date ends a sweep */

static void keep_uri(char out[FEED_URI_MAX + 1], struct bytes uri)
{
    out[0] = '\0';
    if (uri.len == 0 || uri.len > FEED_URI_MAX || memchr(uri.data, '\0', uri.len) != NULL)
        return;
    memcpy(out, uri.data, uri.len);
    out[uri.len] = '\0';
}

/* ---- the mark ---- */

bool feed_mark_is_below(const struct feed_mark *mark, int64_t us, struct bytes uri)
{
    if (us != mark->us)
        return us > mark->us;
    return mark->uri[0] != '\0' && bytes_compare(uri, bytes_of(mark->uri)) > 0;
}

void feed_mark_raise(struct feed_mark *mark, int64_t us, struct bytes uri)
{
    if (!feed_mark_is_below(mark, us, uri) && mark->us != 0)
        return;
    mark->us = us;
    keep_uri(mark->uri, uri);
}

/* ---- a page ---- */

void feed_tally_begin(struct feed_tally *tally, const struct feed_place *place)
{
    *tally = (struct feed_tally){
        .orderly = true, .last_sort_us = place->reached_us == 0 ? INT64_MAX : place->reached_us};
}

void feed_tally_add(struct feed_tally *tally, const struct feed_item *item,
                    const struct feed_mark *mark, int64_t bound_us)
{
    assert(item->kind != FEED_PIN);
    tally->items++;
    tally->fresh += feed_mark_is_below(mark, item->seen_us, item->uri);
    tally->met |= mark->uri[0] != '\0' && bytes_equal_string(item->uri, mark->uri);
    tally->old = item->seen_us < bound_us ? tally->old + 1 : 0;
    tally->orderly &= item->sort_us <= tally->last_sort_us;
    tally->last_sort_us = item->sort_us;
}

bool feed_tally_is_enough(const struct feed_tally *tally, bool to_mark)
{
    if (to_mark && tally->met)
        return true;
    return tally->items > 0 && tally->old >= (tally->items < PROOF_ITEMS ? 1 : PROOF_ITEMS);
}

/* ---- the place as JSON ---- */

void feed_place_write(const struct feed_place *place, struct text *out)
{
    struct json_writer json;
    json_writer_init(&json, out);
    json_begin_object(&json);
    json_member_cstring(&json, "token", place->token);
    json_member_cstring(&json, "provider", place->provider);
    json_member_i64(&json, "newest_us", place->newest.us);
    json_member_cstring(&json, "newest_uri", place->newest.uri);
    json_member_i64(&json, "began_us", place->began_us);
    json_member_i64(&json, "reached_us", place->reached_us);
    json_end_object(&json);
}

static bool take_text(struct json object, const char *key, char *out, size_t size)
{
    struct bytes text = json_string_or_absent(json_get(object, key));
    if (text.data == NULL || text.len >= size || memchr(text.data, '\0', text.len) != NULL)
        return false;
    memcpy(out, text.data, text.len);
    out[text.len] = '\0';
    return true;
}

bool feed_place_read(struct json value, struct feed_place *out)
{
    struct feed_place read = {0};
    bool whole = take_text(value, "token", read.token, sizeof read.token) &&
                 take_text(value, "provider", read.provider, sizeof read.provider) &&
                 json_i64(json_get(value, "newest_us"), &read.newest.us) &&
                 take_text(value, "newest_uri", read.newest.uri, sizeof read.newest.uri) &&
                 json_i64(json_get(value, "began_us"), &read.began_us) &&
                 json_i64(json_get(value, "reached_us"), &read.reached_us);
    *out = whole ? read : (struct feed_place){0};
    return whole;
}

/* ---- the stored cursor ---- */

void feed_record_read(struct json_doc *doc, struct bytes state, struct feed_record *out)
{
    struct cursor_state read;
    struct err ignored;
    *out = (struct feed_record){0};
    if (state.len == 0 || cursor_state_from_json(&read, doc, state, &ignored) != RC_OK)
        return;
    struct json custom;
    out->initialised = read.completion == CURSOR_COMPLETE;
    if (read.custom[0] != '\0' &&
        json_parse_copy(doc, bytes_of(read.custom), &custom, &ignored) == RC_OK) {
        (void)take_text(custom, "handle", out->handle, sizeof out->handle);
        if (!json_i64(json_get(custom, "doubt_us"), &out->doubt_us))
            out->doubt_us = 0;
    }
    out->total = read.total_fetched;
    if (read.high_water.kind != CURSOR_TIMESTAMP)
        return;
    out->mark.us = read.high_water.number;
    keep_uri(out->mark.uri, bytes_of(read.last_transaction_id));
}

static void write_custom(const struct feed_record *record, char *out, size_t size)
{
    struct text json = {0};
    struct json_writer writer;
    json_writer_init(&writer, &json);
    json_begin_object(&writer);
    if (record->handle[0] != '\0')
        json_member_cstring(&writer, "handle", record->handle);
    if (record->doubt_us != 0)
        json_member_i64(&writer, "doubt_us", record->doubt_us);
    json_end_object(&writer);
    assert(json.len < size); /* a handle is short */
    memcpy(out, json.data, json.len + 1);
    text_free(&json);
}

enum rc feed_record_add(const struct feed_record *record, struct json_doc *doc, struct bytes did,
                        const char *provider, int64_t now_us, struct batch *batch)
{
    struct cursor_state state = {
        .primary = cursor_make_number(CURSOR_TIMESTAMP, record->mark.us, NULL),
        .total_fetched = record->total,
        .updated_ms = now_us / 1000,
        .completion = record->initialised ? CURSOR_COMPLETE : CURSOR_INCOMPLETE};
    struct text json = {0};
    struct err err;
    size_t len = strnlen(provider, CURSOR_PROVIDER_MAX);
    memcpy(state.provider_name, provider, len);
    memcpy(state.last_transaction_id, record->mark.uri, strlen(record->mark.uri) + 1);
    if (record->mark.us > 0)
        state.high_water = state.primary;
    if (record->handle[0] != '\0' || record->doubt_us != 0)
        write_custom(record, state.custom, sizeof state.custom);
    enum rc rc = cursor_state_to_json(&state, doc, &json, &err);
    assert(rc == RC_OK); /* made of nothing but a time and an address that were read as JSON */
    struct record *row = batch_add(batch, RECORD_CURSOR);
    bool fits = row != NULL && batch_set_text(batch, row, CURSOR_ROW_SOURCE, bytes_of("feed")) &&
                batch_set_text(batch, row, CURSOR_ROW_STREAM, did) &&
                batch_set_text(batch, row, CURSOR_ROW_STATE, text_bytes(&json));
    text_free(&json);
    if (!fits)
        return RC_AGAIN;
    batch_set_int(row, CURSOR_ROW_POSITION, record->mark.us);
    batch_set_int(row, CURSOR_ROW_AT_US, now_us);
    return RC_OK;
}
