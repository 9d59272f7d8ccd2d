/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/connector_cast.h"

#include "base/timestamp.h"
#include "decode/ledger_row.h"

#include <string.h>

#define REAL_DIGITS_MAX 15 /* that a double keeps, whatever they are */
#define TIME_US_MAX     INT64_C(253402300799999999)
#define RIPPLE_EPOCH_S  INT64_C(946684800)
#define CSV_TIME_LEN    19 /* "2024-01-31 23:59:59" */

/* ---- scalars ---- */

static struct connector_scalar digits_of(struct json value, bool negative_too, struct arena *arena)
{
    struct connector_scalar scalar = {SCALAR_TREE, BYTES_ABSENT, value};
    char *room = arena_take(arena, DECIMAL_MAX);
    int64_t number;
    uint64_t large;
    if (room == NULL)
        return scalar;
    scalar.kind = SCALAR_INTEGER;
    if (negative_too && json_i64(value, &number)) {
        scalar.text = decimal_of(number, room);
    } else if (json_u64(value, &large)) {
        size_t at = DECIMAL_MAX;
        do
            room[--at] = (char)('0' + large % 10);
        while ((large /= 10) > 0);
        scalar.text = bytes_make(room + at, DECIMAL_MAX - at);
    }
    return scalar;
}

struct connector_scalar connector_scalar_text(struct bytes text)
{
    return (struct connector_scalar){text.len == 0 ? SCALAR_ABSENT : SCALAR_TEXT, text, {0}};
}

struct connector_scalar connector_scalar(struct json value, struct arena *arena)
{
    struct bytes text;
    bool truth;
    switch (json_type(value)) {
    case JSON_ABSENT:
    case JSON_NULL:
        return (struct connector_scalar){SCALAR_ABSENT, BYTES_ABSENT, value};
    case JSON_BOOL:
        (void)json_bool(value, &truth);
        return (struct connector_scalar){SCALAR_BOOL, bytes_of(truth ? "true" : "false"), value};
    case JSON_INT:
    case JSON_UINT:
        return digits_of(value, json_type(value) == JSON_INT, arena);
    case JSON_REAL:
        return (struct connector_scalar){SCALAR_REAL, BYTES_ABSENT, value};
    case JSON_STRING:
        (void)json_string(value, &text);
        return connector_scalar_text(text);
    case JSON_ARRAY:
    case JSON_OBJECT:
        break;
    }
    return (struct connector_scalar){SCALAR_TREE, BYTES_ABSENT, value};
}

/* ---- casts ---- */

/* The fewest digits that read back equal: while they are few, they are those that were written. */
static bool exact_real(struct json value, int scale, char out[EXACT_DECIMAL_MAX], size_t *len)
{
    struct text printed = {0};
    size_t digits = 0;
    json_print(value, &printed);
    bool read = exact_decimal(text_bytes(&printed), 0, out, len);
    for (size_t i = 0; read && i < *len; i++)
        if (out[i] >= '0' && out[i] <= '9' && (digits > 0 || out[i] != '0'))
            digits++;
    read =
        read && digits <= REAL_DIGITS_MAX && exact_decimal(text_bytes(&printed), scale, out, len);
    text_free(&printed);
    return read;
}

static bool cast_exact(const struct connector_scalar *scalar, enum connector_cast cast, int scale,
                       struct arena *arena, struct bytes *out)
{
    char digits[EXACT_DECIMAL_MAX], scaled[EXACT_DECIMAL_MAX];
    size_t len;
    bool written = scalar->kind == SCALAR_TEXT || scalar->kind == SCALAR_INTEGER, read;
    if (cast == CAST_HEX)
        read = written && exact_hex(scalar->text, digits, &len) &&
               exact_decimal(bytes_make(digits, len), scale, scaled, &len);
    else if (scalar->kind == SCALAR_REAL)
        read = exact_real(scalar->json, scale, scaled, &len);
    else
        read = written && exact_decimal(scalar->text, scale, scaled, &len);
    *out = read ? arena_copy(arena, bytes_make(scaled, len)) : BYTES_ABSENT;
    return out->data != NULL;
}

static bool cast_json(const struct connector_scalar *scalar, struct arena *arena, struct bytes *out)
{
    struct text printed = {0};
    json_print(scalar->json, &printed);
    *out = printed.len > LEDGER_FIELD_BYTES_MAX ? BYTES_ABSENT
                                                : arena_copy(arena, text_bytes(&printed));
    text_free(&printed);
    return out->data != NULL;
}

/* The address that stands at the end of a word. */
static bool cast_address(const struct connector_scalar *scalar, struct arena *arena,
                         struct bytes *out)
{
    size_t padding = EVM_WORD_DIGITS - EVM_ADDRESS_DIGITS, prefix = strlen("0x");
    char digits[EXACT_DECIMAL_MAX];
    size_t len;
    if (scalar->kind != SCALAR_TEXT || scalar->text.len != prefix + EVM_WORD_DIGITS ||
        !exact_hex(scalar->text, digits, &len))
        return false;
    for (size_t i = 0; i < padding; i++)
        if (scalar->text.data[prefix + i] != '0')
            return false;
    char *copy = arena_take(arena, prefix + EVM_ADDRESS_DIGITS);
    if (copy == NULL)
        return false;
    memcpy(copy, "0x", prefix);
    for (size_t i = 0; i < EVM_ADDRESS_DIGITS; i++) {
        char c = scalar->text.data[prefix + padding + i];
        copy[prefix + i] = c >= 'A' && c <= 'F' ? (char)(c - 'A' + 'a') : c;
    }
    *out = bytes_make(copy, prefix + EVM_ADDRESS_DIGITS);
    return true;
}

bool connector_cast_text(const struct connector_scalar *scalar, enum connector_cast cast, int scale,
                         struct arena *arena, struct bytes *out)
{
    if (cast == CAST_DEC || cast == CAST_HEX)
        return cast_exact(scalar, cast, scale, arena, out);
    if (cast == CAST_JSON)
        return cast_json(scalar, arena, out);
    if (cast == CAST_ADDRESS)
        return cast_address(scalar, arena, out);
    if (scalar->kind == SCALAR_REAL || scalar->kind == SCALAR_TREE ||
        scalar->text.len > LEDGER_FIELD_BYTES_MAX)
        return false;
    *out = scalar->text;
    if (cast != CAST_LOWER)
        return true;
    char *copy = arena_take(arena, scalar->text.len);
    if (copy == NULL)
        return false;
    for (size_t i = 0; i < scalar->text.len; i++) {
        char c = scalar->text.data[i];
        copy[i] = c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
    }
    *out = bytes_make(copy, scalar->text.len);
    return true;
}

/* The whole part of a decimal, or of a number after 0x. */
static bool whole_of(const struct connector_scalar *scalar, int scale, int64_t *out)
{
    char digits[EXACT_DECIMAL_MAX], plain[EXACT_DECIMAL_MAX];
    struct bytes text = scalar->text;
    size_t len;
    if (scalar->kind != SCALAR_TEXT && scalar->kind != SCALAR_INTEGER)
        return false;
    if (bytes_starts_with(text, "0x") && exact_hex(text, plain, &len))
        text = bytes_make(plain, len);
    if (!exact_decimal(text, scale, digits, &len))
        return false;
    const char *point = memchr(digits, '.', len);
    return bytes_to_i64(bytes_make(digits, point == NULL ? len : (size_t)(point - digits)), out);
}

bool connector_cast_number(const struct connector_scalar *scalar, enum connector_cast cast,
                           int64_t *out)
{
    char digits[EXACT_DECIMAL_MAX];
    size_t len;
    if (cast == CAST_HEX)
        return scalar->kind == SCALAR_TEXT && exact_hex(scalar->text, digits, &len) &&
               bytes_to_i64(bytes_make(digits, len), out);
    return (scalar->kind == SCALAR_TEXT || scalar->kind == SCALAR_INTEGER) &&
           bytes_to_i64(scalar->text, out);
}

static bool cast_calendar(struct bytes text, bool utc, int64_t *us)
{
    char zoned[TIMESTAMP_TEXT_MAX];
    if (!utc)
        return timestamp_parse(text, us);
    if (text.len < CSV_TIME_LEN || text.len > CSV_TIME_LEN + 10 || text.data[10] != ' ')
        return false;
    memcpy(zoned, text.data, text.len);
    zoned[10] = 'T';
    zoned[text.len] = 'Z';
    return timestamp_parse(bytes_make(zoned, text.len + 1), us);
}

bool connector_cast_time(const struct connector_scalar *scalar, enum connector_cast cast,
                         int64_t *us)
{
    static const int scales[] = {[CAST_UNIX_S] = 6,
                                 [CAST_UNIX_MS] = 3,
                                 [CAST_UNIX_US] = 0,
                                 [CAST_UNIX_NS] = -3,
                                 [CAST_RIPPLE_S] = 6};
    double real;
    bool read;
    if (cast == CAST_RFC3339 || cast == CAST_CSV_UTC) {
        read = scalar->kind == SCALAR_TEXT && cast_calendar(scalar->text, cast == CAST_CSV_UTC, us);
    } else if (scalar->kind == SCALAR_REAL && json_real(scalar->json, &real)) {
        for (int i = scales[cast]; i > 0; i -= 3)
            real *= 1000;
        for (int i = scales[cast]; i < 0; i += 3)
            real /= 1000;
        read = real >= 0 && real < (double)TIME_US_MAX;
        *us = read ? (int64_t)(real + 0.5) : 0;
    } else {
        read = whole_of(scalar, scales[cast], us);
    }
    if (read && cast == CAST_RIPPLE_S && *us <= TIME_US_MAX)
        *us += RIPPLE_EPOCH_S * 1000000;
    return read && *us >= 0 && *us <= TIME_US_MAX;
}
