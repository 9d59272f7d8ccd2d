/* SPDX-License-Identifier: Apache-2.0 */
#include "query/row_print.h"

#include "base/timestamp.h"

#include <assert.h>

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

void row_print(const struct collection *collection, const struct field *columns,
               const struct field *extra, struct json_writer *writer)
{
    assert(extra == NULL);
    (void)extra;
    json_begin_object(writer);
    for (size_t i = 0; i < collection->column_count; i++) {
        json_key(writer, collection->columns[i].name);
        put_value(writer, collection->columns[i].type, &columns[i]);
    }
    json_end_object(writer);
}
