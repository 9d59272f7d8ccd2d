/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/cursor.h"

#include "base/json.h"
#include "base/json_write.h"

#include <assert.h>
#include <string.h>

enum { US_PER_MS = 1000 };

static void write_cursor(struct json_writer *writer, const char *key, const struct cursor *cursor)
{
    assert(cursor->kind != CURSOR_NONE && cursor->kind < CURSOR_KINDS);
    assert(cursor->number >= 0);
    if (key != NULL)
        json_key(writer, key);
    json_begin_object(writer);
    json_key(writer, "type");
    json_put_cstring(writer, cursor_kind_name(cursor->kind));
    json_key(writer, "value");
    if (cursor->kind == CURSOR_TIMESTAMP)
        json_put_i64(writer, cursor->number / US_PER_MS);
    else if (cursor_kind_is_number(cursor->kind))
        json_put_i64(writer, cursor->number);
    else
        json_put_cstring(writer, cursor->text);
    if (cursor->kind == CURSOR_TIMESTAMP && cursor->number % US_PER_MS != 0) {
        json_key(writer, "us");
        json_put_i64(writer, cursor->number % US_PER_MS);
    }
    if (cursor->provider[0] != '\0') {
        json_key(writer, "providerName");
        json_put_cstring(writer, cursor->provider);
    }
    if (cursor->inclusive) {
        json_key(writer, "inclusive");
        json_put_bool(writer, true);
    }
    json_end_object(writer);
}

static void write_metadata(struct json_writer *writer, const struct cursor_state *state)
{
    assert(state->provider_name[0] != '\0');
    assert(state->updated_ms >= 0);
    json_key(writer, "metadata");
    json_begin_object(writer);
    json_key(writer, "providerName");
    json_put_cstring(writer, state->provider_name);
    json_key(writer, "updatedAt");
    json_put_i64(writer, state->updated_ms);
    if (state->completion != CURSOR_UNSAID) {
        json_key(writer, "isComplete");
        json_put_bool(writer, state->completion == CURSOR_COMPLETE);
    }
    if (state->custom[0] != '\0') {
        json_key(writer, "custom");
        json_put_raw(writer, bytes_of(state->custom));
    }
    if (state->extra[0] != '\0') { /* whole members: the writer knows values only */
        text_append_char(writer->out, ',');
        text_append_string(writer->out, state->extra);
    }
    json_end_object(writer);
}

/* `custom` is one value and `extra` members of an object that are none of ours. */
static enum rc check_raw(const struct cursor_state *state, struct json_doc *doc, struct err *err)
{
    static const char *const ours[] = {"providerName", "updatedAt", "isComplete", "custom"};
    struct text object = {0};
    struct json root;
    enum rc rc = RC_OK;
    assert(strlen(state->custom) <= CURSOR_EXTRA_MAX);
    assert(strlen(state->extra) <= CURSOR_EXTRA_MAX);
    if (state->custom[0] != '\0')
        rc = json_parse_copy(doc, bytes_of(state->custom), &root, err);
    if (rc != RC_OK)
        return err_wrap(err, rc, "metadata.custom");
    if (state->extra[0] == '\0')
        return RC_OK;
    text_appendf(&object, "{%s}", state->extra);
    rc = json_parse_copy(doc, text_bytes(&object), &root, err);
    if (rc != RC_OK)
        err_wrap(err, rc, "metadata");
    for (size_t i = 0; rc == RC_OK && i < sizeof ours / sizeof *ours; i++)
        if (json_type(json_get(root, ours[i])) != JSON_ABSENT)
            rc = err_set(err, RC_REJECT, "metadata.%s: is there twice", ours[i]);
    text_free(&object);
    return rc;
}

enum rc cursor_state_to_json(const struct cursor_state *state, struct json_doc *doc,
                             struct text *out, struct err *err)
{
    struct json_writer writer;
    assert(doc != NULL && out != NULL);
    enum rc rc = cursor_state_validate(state, err);
    if (rc == RC_OK)
        rc = check_raw(state, doc, err);
    if (rc != RC_OK)
        return rc;
    json_writer_init(&writer, out);
    json_begin_object(&writer);
    write_cursor(&writer, "primary", &state->primary);
    if (state->alternative_count > 0) {
        json_key(&writer, "alternatives");
        json_begin_array(&writer);
        for (unsigned i = 0; i < state->alternative_count; i++)
            write_cursor(&writer, NULL, &state->alternatives[i]);
        json_end_array(&writer);
    }
    json_key(&writer, "lastTransactionId");
    json_put_cstring(&writer, state->last_transaction_id);
    json_key(&writer, "totalFetched");
    json_put_i64(&writer, state->total_fetched);
    if (state->provider_name[0] != '\0')
        write_metadata(&writer, state);
    if (state->high_water.kind != CURSOR_NONE)
        write_cursor(&writer, "highWater", &state->high_water);
    if (state->backfill.kind != CURSOR_NONE)
        write_cursor(&writer, "backfill", &state->backfill);
    json_end_object(&writer);
    assert(writer.depth == 0);
    return RC_OK;
}
