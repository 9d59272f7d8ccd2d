/* SPDX-License-Identifier: Apache-2.0 */
#include "base/timestamp.h"
#include "query/filter_parts.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define FOUND_BYTES_MAX   64
#define HIGHEST_CHARACTER 0x10ffff

static void describe(struct json json, char *out, size_t size)
{
    static const char *const names[] = {
        [JSON_ABSENT] = "nothing", [JSON_NULL] = "null",     [JSON_BOOL] = "a boolean",
        [JSON_INT] = "a number",   [JSON_UINT] = "a number", [JSON_REAL] = "a number",
        [JSON_STRING] = "text",    [JSON_ARRAY] = "a list",  [JSON_OBJECT] = "an object",
    };
    struct text text = {0};
    enum json_type type = json_type(json);
    if (type >= JSON_BOOL && type <= JSON_STRING)
        json_print(json, &text);
    bool shown = text.len > 0 && text.len <= FOUND_BYTES_MAX;
    snprintf(out, size, "%s%s%s", names[type], shown ? " " : "", shown ? text_string(&text) : "");
    text_free(&text);
}

enum rc filter_refuse_value(const struct filter_place *place, const char *expected,
                            struct json json, struct refusal *refusal)
{
    char found[FOUND_BYTES_MAX + 32];
    describe(json, found, sizeof found);
    return refusal_set(refusal, REFUSAL_BAD_FILTER, "filter: %s %s: expected %s, found %s",
                       place->column->name, place->name, expected, found);
}

/* 2^63, the first number above those an int field can have. */
#define INT_END 9223372036854775808.0

static enum operand_fit fit_real(double real, struct field *value)
{
    double whole = floor(real);
    if (whole >= INT_END)
        return OPERAND_ABOVE_ALL;
    if (whole < -INT_END)
        return OPERAND_BELOW_ALL;
    *value = field_int((int64_t)whole);
    return whole == real ? OPERAND_EXACT : OPERAND_BETWEEN;
}

static bool read_int(struct json json, struct field *value, enum operand_fit *fit)
{
    int64_t number;
    double real;
    if (json_i64(json, &number)) {
        *value = field_int(number);
        return true;
    }
    if (!json_real(json, &real))
        return false;
    *fit = fit_real(real, value);
    return true;
}

static bool read_value(enum column_type type, struct json json, struct field *value,
                       enum operand_fit *fit)
{
    struct bytes text = json_string_or_absent(json);
    int64_t number;
    double real;
    bool flag;
    switch (type) {
    case COLUMN_ID:
        *value = field_int(0);
        return text.data != NULL && bytes_to_i64(text, &value->i);
    case COLUMN_TEXT:
        *value = field_text(text);
        return text.data != NULL;
    case COLUMN_BYTES:
        *value = field_blob(text);
        return text.data != NULL;
    case COLUMN_INT:
        return read_int(json, value, fit);
    case COLUMN_TIME:
        if (text.data == NULL || !timestamp_parse(text, &number))
            return false;
        *value = field_int(number);
        return true;
    case COLUMN_BOOL:
        if (!json_bool(json, &flag))
            return false;
        *value = field_int(flag);
        return true;
    case COLUMN_FLOAT:
        if (!json_real(json, &real))
            return false;
        *value = field_real(real);
        return true;
    case COLUMN_JSON:
        break;
    }
    return false;
}

enum rc filter_read_value(const struct filter_place *place, struct json json, struct field *value,
                          enum operand_fit *fit, struct refusal *refusal)
{
    static const char *const expected[] = {
        [COLUMN_ID] = "an id, digits as text",
        [COLUMN_TEXT] = "text",
        [COLUMN_INT] = "a number",
        [COLUMN_TIME] = "a time as \"2026-01-31T09:00:00Z\"",
        [COLUMN_BOOL] = "true or false",
        [COLUMN_FLOAT] = "a number",
        [COLUMN_JSON] = "$exists or $isNull, for it is a json field",
        [COLUMN_BYTES] = "text",
    };
    *fit = OPERAND_EXACT;
    if (read_value(place->column->type, json, value, fit))
        return RC_OK;
    return filter_refuse_value(place, expected[place->column->type], json, refusal);
}

/* Takes the last character off a text. */
static uint32_t take_last(struct bytes *text)
{
    size_t at = text->len - 1;
    while (at > 0 && (text->data[at] & 0xc0) == 0x80)
        at--;
    size_t len = text->len - at;
    uint32_t point = (unsigned char)text->data[at] & (len == 1 ? 0x7fU : 0x7fU >> len);
    for (size_t i = 1; i < len; i++)
        point = point << 6 | ((unsigned char)text->data[at + i] & 0x3fU);
    text->len = at;
    return point;
}

static size_t put_character(char *out, uint32_t point)
{
    size_t len = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (size_t i = len - 1; i > 0; i--, point >>= 6)
        out[i] = (char)(0x80 | (point & 0x3f));
    out[0] = (char)(len == 1 ? point : (0xf00U >> len & 0xff) | point);
    return len;
}

/* The last character but those that are the highest, raised by one; of bytes the last byte, which
 * is never the highest since the value came as text. */
bool filter_next_after(struct arena *arena, struct field *value)
{
    struct bytes rest = value->b;
    uint32_t last = HIGHEST_CHARACTER;
    char *next = arena_take(arena, rest.len + 4);
    assert(next != NULL && rest.len > 0);
    if (value->type == FIELD_BLOB) {
        memcpy(next, rest.data, rest.len);
        next[rest.len - 1]++;
        value->b = bytes_make(next, rest.len);
        return true;
    }
    while (rest.len > 0 && last == HIGHEST_CHARACTER)
        last = take_last(&rest);
    if (last == HIGHEST_CHARACTER)
        return false;
    memcpy(next, rest.data, rest.len);
    last = last == 0xd7ff ? 0xe000 : last + 1; /* surrogates are no characters */
    value->b = bytes_make(next, rest.len + put_character(next + rest.len, last));
    return true;
}
