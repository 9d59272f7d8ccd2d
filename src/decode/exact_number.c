/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/exact_number.h"

#include <string.h>

#define DIGITS_MAX     96
#define EXPONENT_MAX   96
#define LIMBS_MAX      9 /* of nine digits: 2 to the power of 256 has 78 */
#define LIMB_BASE      UINT32_C(1000000000)
#define HEX_DIGITS_MAX 64

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
        bool plus = i + 1 < text.len && text.data[i + 1] == '+';
        i += plus ? 2 : 1;
        if (!bytes_to_i64(bytes_make(text.data + i, text.len - i), &exponent) ||
            (plus && text.data[i] == '-') || exponent < -EXPONENT_MAX || exponent > EXPONENT_MAX)
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
    if (zeros > 0)
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

/* Both in one row of columns, the last one the least; `whole` is the weight of the first. */
struct columns {
    int sums[EXACT_DECIMAL_MAX];
    int whole, width;
};

static bool make_columns(const struct decimal *a, const struct decimal *b, struct columns *out)
{
    int decimals = 0;
    *out = (struct columns){.whole = 1};
    const struct decimal *both[] = {a, b};
    for (int i = 0; i < 2; i++) {
        if (both[i]->point > out->whole)
            out->whole = both[i]->point;
        if (both[i]->count - both[i]->point > decimals)
            decimals = both[i]->count - both[i]->point;
    }
    out->width = out->whole + decimals + 1;
    if (out->width + 2 > EXACT_DECIMAL_MAX)
        return false;
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < both[i]->count; k++)
            out->sums[out->whole - both[i]->point + 1 + k] +=
                (both[i]->negative ? -1 : 1) * (both[i]->digits[k] - '0');
    return true;
}

/* Carries from the last column to the first; what is left over says the sign of the whole. */
static int carry_over(const struct columns *columns, char *digits)
{
    int carry = 0;
    for (int i = columns->width - 1; i >= 0; i--) {
        int value = columns->sums[i] + carry;
        carry = (value - (value < 0 ? 9 : 0)) / 10;
        digits[i] = (char)('0' + value - 10 * carry);
    }
    return carry;
}

bool exact_add(struct bytes a, struct bytes b, bool subtract, char out[EXACT_DECIMAL_MAX],
               size_t *len)
{
    struct decimal first, second;
    struct columns columns;
    char digits[EXACT_DECIMAL_MAX], text[EXACT_DECIMAL_MAX + 2];
    if (!parse_decimal(a, &first) || !parse_decimal(b, &second))
        return false;
    second.negative = second.negative != subtract;
    trim(&first);
    trim(&second);
    if (!make_columns(&first, &second, &columns))
        return false;
    bool negative = carry_over(&columns, digits) < 0;
    for (int i = 0; negative && i < columns.width; i++)
        columns.sums[i] = -columns.sums[i];
    if (negative)
        carry_over(&columns, digits);
    text[0] = negative ? '-' : '0';
    memcpy(text + 1, digits, (size_t)columns.width);
    return exact_decimal(bytes_make(text, (size_t)columns.width + 1),
                         columns.whole + 1 - columns.width, out, len);
}

bool exact_multiply(struct bytes a, struct bytes b, char out[EXACT_DECIMAL_MAX], size_t *len)
{
    struct decimal first, second;
    int sums[2 * DIGITS_MAX] = {0}, carry = 0;
    char text[2 * DIGITS_MAX + 1];
    if (!parse_decimal(a, &first) || !parse_decimal(b, &second))
        return false;
    trim(&first);
    trim(&second);
    int count = first.count + second.count;
    if (count == 0 || count > DIGITS_MAX)
        return count == 0 && exact_decimal(bytes_of("0"), 0, out, len);
    for (int i = 0; i < first.count; i++)
        for (int k = 0; k < second.count; k++)
            sums[i + k + 1] += (first.digits[i] - '0') * (second.digits[k] - '0');
    for (int i = count - 1; i >= 0; i--) {
        carry += sums[i];
        text[i + 1] = (char)('0' + carry % 10);
        carry /= 10;
    }
    text[0] = first.negative != second.negative ? '-' : '0';
    return exact_decimal(bytes_make(text, (size_t)count + 1), first.point + second.point - count,
                         out, len);
}
