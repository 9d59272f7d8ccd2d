/* SPDX-License-Identifier: Apache-2.0 */
#include "query/column_member.h"

#include "base/timestamp.h"

void column_member_text(struct json_writer *json, const char *key, const struct field *column)
{
    json_member_string(json, key, column->null ? BYTES_ABSENT : column->b);
}

void column_member_number(struct json_writer *json, const char *key, const struct field *column)
{
    json_key(json, key);
    if (column->null)
        json_put_null(json);
    else
        json_put_i64(json, column->i);
}

void column_member_time(struct json_writer *json, const char *key, const struct field *column)
{
    char text[TIMESTAMP_TEXT_MAX];
    bool known = !column->null && timestamp_format(column->i, text);
    json_member_cstring(json, key, known ? text : NULL);
}
