/* SPDX-License-Identifier: Apache-2.0
 *
 * A cursor state as JSON and back. The parser judges the whole document first; metadata that nobody
 * here knows is then cut out of the valid text byte for byte, because numbers and strings of
 * strangers do not survive being understood. */
#include "ingest/cursor.h"

#include "base/json.h"
#include "base/json_write.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { US_PER_MS = 1000 };

/* A reader of text that is known to be valid JSON. */
struct raw {
    const char *at, *end;
};

static void skip_space(struct raw *raw)
{
    while (raw->at < raw->end && strchr(" \t\r\n", *raw->at) != NULL)
        raw->at++;
}

static void skip_string(struct raw *raw)
{
    assert(raw->at < raw->end && *raw->at == '"');
    for (raw->at++; *raw->at != '"'; raw->at++)
        raw->at += *raw->at == '\\';
    raw->at++;
    assert(raw->at <= raw->end);
}

static struct bytes take_value(struct raw *raw)
{
    unsigned depth = 0;
    skip_space(raw);
    const char *start = raw->at;
    assert(start < raw->end);
    do {
        if (*raw->at == '"') {
            skip_string(raw);
            continue;
        }
        depth += *raw->at == '{' || *raw->at == '[';
        depth -= *raw->at == '}' || *raw->at == ']';
        raw->at++;
    } while (raw->at < raw->end && (depth > 0 || strchr(",]} \t\r\n", *raw->at) == NULL));
    assert(depth == 0);
    return bytes_make(start, (size_t)(raw->at - start));
}

/* The next member of the object the reader is in; call it once per member, never more. */
static void take_member(struct raw *raw, struct bytes *key, struct bytes *value)
{
    skip_space(raw);
    assert(raw->at < raw->end && (*raw->at == '{' || *raw->at == ','));
    raw->at++;
    skip_space(raw);
    key->data = raw->at;
    skip_string(raw);
    key->len = (size_t)(raw->at - key->data);
    skip_space(raw);
    assert(raw->at < raw->end && *raw->at == ':');
    raw->at++;
    *value = take_value(raw);
}

static enum rc read_string(struct json value, const char *field, char *out, size_t size,
                           struct err *err)
{
    struct bytes text;
    assert(size > 1);
    if (!json_string(value, &text))
        return err_set(err, RC_REJECT, "%s: must be a string", field);
    assert(text.len == 0 || memchr(text.data, '\0', text.len) == NULL);
    if (text.len >= size)
        return err_set(err, RC_REJECT, "%s: at most %zu bytes", field, size - 1);
    if (text.len > 0)
        memcpy(out, text.data, text.len);
    out[text.len] = '\0';
    return RC_OK;
}

static enum rc read_natural(struct json value, const char *field, int64_t *out, struct err *err)
{
    assert(field != NULL);
    assert(out != NULL);
    if (!json_i64(value, out) || *out < 0)
        return err_set(err, RC_REJECT, "%s: must be a whole number of at least 0", field);
    return RC_OK;
}

static enum rc read_number(struct json object, const char *field, struct cursor *out,
                           struct err *err)
{
    char path[64];
    int64_t rest = 0;
    assert(cursor_kind_is_number(out->kind));
    snprintf(path, sizeof path, "%s.value", field);
    enum rc rc = read_natural(json_get(object, "value"), path, &out->number, err);
    if (rc != RC_OK || out->kind != CURSOR_TIMESTAMP)
        return rc;
    if (json_type(json_get(object, "us")) != JSON_ABSENT &&
        (!json_i64(json_get(object, "us"), &rest) || rest < 0 || rest >= US_PER_MS))
        return err_set(err, RC_REJECT, "%s.us: must be 0 to 999", field);
    if (out->number > (INT64_MAX - rest) / US_PER_MS)
        return err_set(err, RC_REJECT, "%s.value: milliseconds beyond all time", field);
    out->number = out->number * US_PER_MS + rest;
    assert(out->number >= 0);
    return RC_OK;
}

/* Names the first member that is none of a cursor's, or is there twice. */
static enum rc check_members(struct json object, const char *field, bool timestamp, struct err *err)
{
    static const char *const names[] = {"type", "value", "providerName", "inclusive", "us"};
    struct json_walk walk = json_walk(object);
    struct bytes key;
    struct json value;
    unsigned seen = 0;
    assert(field != NULL);
    while (json_walk_next(&walk, &key, &value)) {
        unsigned bit = 0;
        for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
            if (bytes_equal_string(key, names[i]) && (i != 4 || timestamp))
                bit = 1U << i;
        if (bit == 0 || (seen & bit) != 0)
            return err_set(err, RC_REJECT, "%s.%.*s: %s", field, (int)(key.len < 64 ? key.len : 64),
                           key.data, bit == 0 ? "is no field of a cursor" : "is there twice");
        seen |= bit;
    }
    assert(seen < 32);
    return RC_OK;
}

static enum rc read_cursor(struct json object, const char *field, struct cursor *out,
                           struct err *err)
{
    char path[64];
    assert(field != NULL);
    *out = (struct cursor){0};
    if (json_type(object) != JSON_OBJECT)
        return err_set(err, RC_REJECT, "%s: must be an object", field);
    out->kind = cursor_kind_parse(json_string_or_absent(json_get(object, "type")));
    if (out->kind == CURSOR_NONE)
        return err_set(err, RC_REJECT, "%s.type: must be a kind of cursor", field);
    enum rc rc = check_members(object, field, out->kind == CURSOR_TIMESTAMP, err);
    snprintf(path, sizeof path, "%s.value", field);
    if (rc == RC_OK && cursor_kind_is_number(out->kind))
        rc = read_number(object, field, out, err);
    else if (rc == RC_OK)
        rc = read_string(json_get(object, "value"), path, out->text, sizeof out->text, err);
    struct json provider = json_get(object, "providerName");
    snprintf(path, sizeof path, "%s.providerName", field);
    if (rc == RC_OK && json_type(provider) != JSON_ABSENT)
        rc = read_string(provider, path, out->provider, sizeof out->provider, err);
    struct json inclusive = json_get(object, "inclusive");
    if (rc == RC_OK && json_type(inclusive) != JSON_ABSENT &&
        !json_bool(inclusive, &out->inclusive))
        rc = err_set(err, RC_REJECT, "%s.inclusive: must be true or false", field);
    assert(rc != RC_OK || out->kind != CURSOR_NONE);
    return rc;
}

static enum rc read_alternatives(struct json array, struct cursor_state *out, struct err *err)
{
    struct json_walk walk = json_walk(array);
    struct bytes key;
    struct json value;
    assert(out->alternative_count == 0);
    if (json_type(array) != JSON_ARRAY)
        return err_set(err, RC_REJECT, "alternatives: must be an array");
    while (json_walk_next(&walk, &key, &value)) {
        char field[32];
        if (out->alternative_count == CURSOR_ALTERNATIVES_MAX)
            return err_set(err, RC_REJECT, "alternatives: at most %d", CURSOR_ALTERNATIVES_MAX);
        snprintf(field, sizeof field, "alternatives[%u]", out->alternative_count);
        struct cursor *cursor = &out->alternatives[out->alternative_count++];
        enum rc rc = read_cursor(value, field, cursor, err);
        if (rc != RC_OK)
            return rc;
    }
    assert(out->alternative_count <= CURSOR_ALTERNATIVES_MAX);
    return RC_OK;
}

/* Appends `piece` to a fixed text; false when it does not fit. */
static bool append_fixed(char *out, size_t size, size_t *len, struct bytes piece)
{
    assert(*len < size);
    assert(piece.data != NULL);
    if (piece.len >= size - *len)
        return false;
    memcpy(out + *len, piece.data, piece.len);
    *len += piece.len;
    out[*len] = '\0';
    return true;
}

static enum rc keep_raw(struct cursor_state *out, struct bytes key, struct bytes raw_key,
                        struct bytes raw_value, struct err *err)
{
    size_t len = strlen(out->extra), custom_len = 0;
    assert(len <= CURSOR_EXTRA_MAX);
    assert(raw_key.len >= 2 && raw_value.len > 0);
    bool fits;
    if (bytes_equal_string(key, "custom"))
        fits = append_fixed(out->custom, sizeof out->custom, &custom_len, raw_value);
    else
        fits = append_fixed(out->extra, sizeof out->extra, &len, bytes_of(len > 0 ? "," : "")) &&
               append_fixed(out->extra, sizeof out->extra, &len, raw_key) &&
               append_fixed(out->extra, sizeof out->extra, &len, bytes_of(":")) &&
               append_fixed(out->extra, sizeof out->extra, &len, raw_value);
    if (!fits)
        return err_set(err, RC_REJECT,
                       "metadata.%.*s: custom and unknown keys take at most %d bytes",
                       (int)(key.len < 64 ? key.len : 64), key.data, CURSOR_EXTRA_MAX);
    return RC_OK;
}

static enum rc read_metadata(struct json object, struct bytes raw_object, struct cursor_state *out,
                             struct err *err)
{
    struct json_walk walk = json_walk(object);
    struct raw raw = {raw_object.data, raw_object.data + raw_object.len};
    struct bytes key, raw_key, raw_value;
    struct json value;
    unsigned seen = 0;
    if (json_type(object) != JSON_OBJECT)
        return err_set(err, RC_REJECT, "metadata: must be an object");
    for (enum rc rc = RC_OK; json_walk_next(&walk, &key, &value);) {
        bool yes = false;
        take_member(&raw, &raw_key, &raw_value);
        unsigned bit = bytes_equal_string(key, "providerName") ? 1U
                       : bytes_equal_string(key, "updatedAt")  ? 2U
                       : bytes_equal_string(key, "isComplete") ? 4U
                       : bytes_equal_string(key, "custom")     ? 8U
                                                               : 0U;
        if ((seen & bit) != 0)
            return err_set(err, RC_REJECT, "metadata.%.*s: is there twice", (int)key.len, key.data);
        seen |= bit;
        if (bit == 1U)
            rc = read_string(value, "metadata.providerName", out->provider_name,
                             sizeof out->provider_name, err);
        else if (bit == 2U)
            rc = read_natural(value, "metadata.updatedAt", &out->updated_ms, err);
        else if (bit == 4U && !json_bool(value, &yes))
            rc = err_set(err, RC_REJECT, "metadata.isComplete: must be true or false");
        else if (bit == 4U)
            out->completion = yes ? CURSOR_COMPLETE : CURSOR_INCOMPLETE;
        else
            rc = keep_raw(out, key, raw_key, raw_value, err);
        if (rc != RC_OK)
            return rc;
    }
    assert((seen & ~15U) == 0);
    if ((seen & 1U) == 0 || out->provider_name[0] == '\0')
        return err_set(err, RC_REJECT, "metadata.providerName: must not be empty");
    if ((seen & 2U) == 0)
        return err_set(err, RC_REJECT, "metadata.updatedAt: must be a whole number of at least 0");
    assert(out->updated_ms >= 0);
    return RC_OK;
}

static const char *const fields[] = {"primary",      "alternatives", "lastTransactionId",
                                     "totalFetched", "metadata",     "highWater",
                                     "backfill"};
enum { FIELD_COUNT = 7, REQUIRED = 1 << 0 | 1 << 2 | 1 << 3 };

static enum rc read_field(struct cursor_state *out, unsigned field, struct json value,
                          struct bytes raw, struct err *err)
{
    assert(field < FIELD_COUNT);
    assert(raw.len > 0);
    switch (field) {
    case 0:
        return read_cursor(value, fields[field], &out->primary, err);
    case 1:
        return read_alternatives(value, out, err);
    case 2:
        return read_string(value, fields[field], out->last_transaction_id,
                           sizeof out->last_transaction_id, err);
    case 3:
        return read_natural(value, fields[field], &out->total_fetched, err);
    case 4:
        return read_metadata(value, raw, out, err);
    case 5:
        return read_cursor(value, fields[field], &out->high_water, err);
    default:
        return read_cursor(value, fields[field], &out->backfill, err);
    }
}

static enum rc read_state(struct cursor_state *out, struct json root, struct bytes text,
                          struct err *err)
{
    struct json_walk walk = json_walk(root);
    struct raw raw = {text.data, text.data + text.len};
    struct bytes key, raw_key, raw_value;
    struct json value;
    unsigned seen = 0;
    if (bytes_starts_with(text, "\xef\xbb\xbf")) /* the parser passes over it, too */
        raw.at += 3;
    while (json_walk_next(&walk, &key, &value)) {
        unsigned field = 0;
        take_member(&raw, &raw_key, &raw_value);
        while (field < FIELD_COUNT && !bytes_equal_string(key, fields[field]))
            field++;
        if (field == FIELD_COUNT || (seen & 1U << field) != 0)
            return err_set(err, RC_REJECT, "%.*s: %s", (int)(key.len < 64 ? key.len : 64), key.data,
                           field == FIELD_COUNT ? "is no field of a cursor state"
                                                : "is there twice");
        seen |= 1U << field;
        enum rc rc = read_field(out, field, value, raw_value, err);
        if (rc != RC_OK)
            return rc;
    }
    for (unsigned field = 0; field < FIELD_COUNT; field++)
        if ((REQUIRED & ~seen & 1U << field) != 0)
            return err_set(err, RC_REJECT, "%s: is missing", fields[field]);
    assert((seen & REQUIRED) == REQUIRED);
    assert(raw.at <= raw.end);
    return RC_OK;
}

enum rc cursor_state_from_json(struct cursor_state *state, struct json_doc *doc, struct bytes json,
                               struct err *err)
{
    struct cursor_state read = {0};
    struct json root;
    assert(state != NULL && doc != NULL);
    assert(json.data != NULL || json.len == 0);
    enum rc rc = json_parse_copy(doc, json, &root, err);
    if (rc != RC_OK)
        return rc;
    if (json_type(root) != JSON_OBJECT)
        return err_set(err, RC_REJECT, "a cursor state must be an object");
    rc = read_state(&read, root, json, err);
    if (rc == RC_OK)
        rc = cursor_state_validate(&read, err);
    if (rc == RC_OK)
        *state = read;
    return rc;
}

enum rc cursor_state_check(void *doc, struct bytes json, struct err *err)
{
    struct cursor_state state = {0};
    assert(doc != NULL);
    return cursor_state_from_json(&state, doc, json, err);
}
