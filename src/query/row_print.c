/* SPDX-License-Identifier: Apache-2.0 */
#include "query/row_print.h"

#include "base/json.h"
#include "base/timestamp.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define EXTRA_BYTES_MAX ((size_t)64 << 20)

static void put_time(struct json_writer *writer, int64_t us)
{
    char text[TIMESTAMP_TEXT_MAX];
    if (timestamp_format(us, text))
        json_put_cstring(writer, text);
    else
        json_put_null(writer);
}

static void put_id(struct json_writer *writer, int64_t id)
{
    char digits[DECIMAL_MAX];
    json_put_string(writer, decimal_of(id, digits));
}

static void put_number(struct json_writer *writer, const struct field *value)
{
    if (value->type == FIELD_REAL)
        json_put_real(writer, value->d);
    else
        json_put_i64(writer, value->i);
}

static void put_value(struct json_writer *writer, enum column_type type, const struct field *value)
{
    bool bytes = value->type == FIELD_TEXT || value->type == FIELD_BLOB;
    if (value->null)
        json_put_null(writer);
    else if (bytes && type == COLUMN_JSON)
        json_put_raw(writer, value->b);
    else if (bytes)
        json_put_string(writer, value->b);
    else if (type == COLUMN_ID || type == COLUMN_TEXT)
        put_id(writer, value->i);
    else if (type == COLUMN_TIME)
        put_time(writer, value->i);
    else if (type == COLUMN_BOOL)
        json_put_bool(writer, value->i != 0);
    else
        put_number(writer, value);
}

static void put_json(struct json_writer *writer, struct json value)
{
    struct text text = {0};
    json_print(value, &text);
    json_put_raw(writer, text_bytes(&text));
    text_free(&text);
}

/* Whether a key of `extra` may be a column now; `extra` was written without blanks. */
static bool may_hold_column(const struct collection *collection, struct bytes extra)
{
    char key[80];
    for (size_t i = 0; i < collection->column_count; i++) {
        int len = snprintf(key, sizeof key, "\"%s\":", collection->columns[i].name);
        assert(len > 0 && (size_t)len < sizeof key);
        if (memmem(extra.data, extra.len, key, (size_t)len) != NULL)
            return true;
    }
    return false;
}

static void put_columns(const struct collection *collection, const struct field *columns,
                        struct json_writer *writer)
{
    for (size_t i = 0; i < collection->column_count; i++) {
        json_key(writer, collection->columns[i].name);
        put_value(writer, collection->columns[i].type, &columns[i]);
    }
}

/* What `extra` has under a column's name is the column's: it was written before there was one. */
static void put_moved(const struct collection *collection, const struct field *columns,
                      struct json moved, struct json_writer *writer)
{
    for (size_t i = 0; i < collection->column_count; i++) {
        const struct column *column = &collection->columns[i];
        struct json value = json_get(moved, column->name);
        json_key(writer, column->name);
        if (json_type(value) != JSON_ABSENT)
            put_json(writer, value);
        else
            put_value(writer, column->type, &columns[i]);
    }
}

static void put_rest(const struct collection *collection, struct json extra,
                     struct json_writer *writer)
{
    struct json_walk walk = json_walk(extra);
    struct bytes key;
    struct json value;
    while (json_walk_next(&walk, &key, &value)) {
        if (collection_column(collection, key) >= 0)
            continue;
        json_key_bytes(writer, key);
        put_json(writer, value);
    }
}

/* Looks into `extra`; what is stored is ours, and were it damaged, the columns are still told. */
static void print_moved(const struct collection *collection, const struct field *columns,
                        struct bytes extra, struct json_writer *writer)
{
    struct json_doc *doc = json_doc_new(EXTRA_BYTES_MAX, JSON_DEPTH_MAX);
    struct json moved;
    struct err err;
    if (json_parse_copy(doc, extra, &moved, &err) != RC_OK)
        moved = (struct json){0};
    put_moved(collection, columns, moved, writer);
    put_rest(collection, moved, writer);
    json_doc_free(doc);
}

void row_print(const struct collection *collection, const struct field *columns,
               const struct field *extra, struct json_writer *writer)
{
    bool more = extra != NULL && !extra->null;
    json_begin_object(writer);
    if (more && may_hold_column(collection, extra->b)) {
        print_moved(collection, columns, extra->b, writer);
    } else {
        put_columns(collection, columns, writer);
        if (more && extra->b.len > 2)
            json_put_raw_members(writer, bytes_make(extra->b.data + 1, extra->b.len - 2));
    }
    json_end_object(writer);
}
