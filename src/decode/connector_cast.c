/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/connector_cast.h"

#include "base/timestamp.h"
#include "decode/ledger_row.h"

#include <string.h>

#define DIGITS_MAX     96
#define EXPONENT_MAX   96
#define LIMBS_MAX      9 /* of nine digits: 2 to the power of 256 has 78 */
#define LIMB_BASE      UINT32_C(1000000000)
#define HEX_DIGITS_MAX 64
#define TIME_US_MAX    INT64_C(253402300799999999)
#define RIPPLE_EPOCH_S INT64_C(946684800)
#define CSV_TIME_LEN   19 /* "2024-01-31 23:59:59" */

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

/* ---- exact numbers ---- */

struct decimal {
    char digits[DIGITS_MAX];
    int count, point; /* the point stands after this many digits */
    bool negative;
};

static bool parse_decimal(struct bytes text, struct decimal *out)
{
    size_t i = 0;
    bool fraction = false;
    int64_t exponent = 0;
    *out = (struct decimal){.negative = text.len > 0 && text.data[0] == '-'};
    size_t first = out->negative ? 1 : 0;
    for (i = first; i < text.len; i++) {
        char c = text.data[i];
        bool beside = i + 1 < text.len && text.data[i + 1] >= '0' && text.data[i + 1] <= '9';
        if (c == '.' && !fraction && i > first && beside) {
            fraction = true;
        } else if (c >= '0' && c <= '9') {
            if (out->count == DIGITS_MAX)
                return false;
            out->digits[out->count++] = c;
            out->point += fraction ? 0 : 1;
        } else {
            break;
        }
    }
    if (i < text.len && out->count > 0 && (text.data[i] == 'e' || text.data[i] == 'E')) {
        i += i + 1 < text.len && text.data[i + 1] == '+' ? 2 : 1;
        if (!bytes_to_i64(bytes_make(text.data + i, text.len - i), &exponent) ||
            exponent < -EXPONENT_MAX || exponent > EXPONENT_MAX)
            return false;
        i = text.len;
    }
    out->point += (int)exponent;
    return i == text.len && out->count > 0;
}

static void trim(struct decimal *number)
{
    int zeros = 0;
    while (zeros < number->count && number->digits[zeros] == '0')
        zeros++;
    memmove(number->digits, number->digits + zeros, (size_t)(number->count - zeros));
    number->count -= zeros;
    number->point -= zeros;
    while (number->count > 0 && number->digits[number->count - 1] == '0')
        number->count--;
}

bool exact_decimal(struct bytes text, int scale, char out[EXACT_DECIMAL_MAX], size_t *len)
{
    struct decimal number;
    size_t at = 0;
    if (!parse_decimal(text, &number))
        return false;
    number.point += scale;
    trim(&number);
    if (number.count == 0) {
        out[0] = '0';
        *len = 1;
        return true;
    }
    int whole = number.point > 0 ? number.point : 1;
    int decimals = number.count > number.point ? number.count - number.point : 0;
    if (whole + decimals + 2 > EXACT_DECIMAL_MAX)
        return false;
    if (number.negative)
        out[at++] = '-';
    for (int i = number.point > 0 ? 0 : number.point - 1; i < number.point + decimals; i++) {
        if (i == number.point)
            out[at++] = '.';
        out[at++] = i >= 0 && i < number.count ? number.digits[i] : '0';
    }
    *len = at;
    return true;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool exact_hex(struct bytes text, char out[EXACT_DECIMAL_MAX], size_t *len)
{
    uint32_t limbs[LIMBS_MAX] = {0}; /* the lowest first */
    if (text.len < 3 || text.len > HEX_DIGITS_MAX + 2 || text.data[0] != '0' ||
        (text.data[1] | 0x20) != 'x')
        return false;
    for (size_t i = 2; i < text.len; i++) {
        int digit = hex_value(text.data[i]);
        if (digit < 0)
            return false;
        uint64_t carry = (uint64_t)digit;
        for (unsigned limb = 0; limb < LIMBS_MAX; limb++) {
            carry += (uint64_t)limbs[limb] * 16;
            limbs[limb] = (uint32_t)(carry % LIMB_BASE);
            carry /= LIMB_BASE;
        }
    }
    char digits[LIMBS_MAX * 9];
    for (size_t i = sizeof digits; i-- > 0;) {
        size_t limb = (sizeof digits - 1 - i) / 9;
        digits[i] = (char)('0' + limbs[limb] % 10);
        limbs[limb] /= 10;
    }
    return exact_decimal(bytes_make(digits, sizeof digits), 0, out, len);
}

/* ---- casts ---- */

static bool cast_exact(const struct connector_scalar *scalar, enum connector_cast cast, int scale,
                       struct arena *arena, struct bytes *out)
{
    char digits[EXACT_DECIMAL_MAX], scaled[EXACT_DECIMAL_MAX];
    size_t len;
    bool written = scalar->kind == SCALAR_TEXT || scalar->kind == SCALAR_INTEGER;
    if (!written)
        return false;
    if (cast == CAST_HEX) {
        if (!exact_hex(scalar->text, digits, &len) ||
            !exact_decimal(bytes_make(digits, len), scale, scaled, &len))
            return false;
    } else if (!exact_decimal(scalar->text, scale, scaled, &len)) {
        return false;
    }
    *out = arena_copy(arena, bytes_make(scaled, len));
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

bool connector_cast_text(const struct connector_scalar *scalar, enum connector_cast cast, int scale,
                         struct arena *arena, struct bytes *out)
{
    if (cast == CAST_DEC || cast == CAST_HEX)
        return cast_exact(scalar, cast, scale, arena, out);
    if (cast == CAST_JSON)
        return cast_json(scalar, arena, out);
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

/* The whole part of a decimal. */
static bool whole_of(const struct connector_scalar *scalar, int scale, int64_t *out)
{
    char digits[EXACT_DECIMAL_MAX];
    size_t len;
    if ((scalar->kind != SCALAR_TEXT && scalar->kind != SCALAR_INTEGER) ||
        !exact_decimal(scalar->text, scale, digits, &len))
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
