/* SPDX-License-Identifier: Apache-2.0
 *
 * Two texts, a line feed between them: what is read as decimal numbers, added, subtracted,
 * multiplied and read as hexadecimal is what a slow ledger of single digits computes, and stands
 * there in the one form that reads as itself. */
#include "decode/exact_number.h"

#include <assert.h>
#include <string.h>

#define PLACES 640 /* decimal places of the ledger, half of them behind the point */
#define POINT  320
#define SHORT  40 /* numbers of so few letters always have room */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct ledger {
    int digits[PLACES]; /* the lowest first; carried out when compared */
    bool negative;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* -?D+(.D+)?([eE][+-]?D+)? by hand; false: it is not, or lies outside of the ledger. */
static bool read_ledger(struct bytes text, int scale, struct ledger *out)
{
    const char *at = text.data, *end = at + text.len;
    *out = (struct ledger){.negative = at < end && *at == '-'};
    at += out->negative ? 1 : 0;
    const char *whole = at;
    while (at < end && is_digit(*at))
        at++;
    const char *whole_end = at, *part = at;
    if (at + 1 < end && *at == '.' && is_digit(at[1])) {
        part = ++at;
        while (at < end && is_digit(*at))
            at++;
    }
    const char *part_end = at;
    int exponent = 0, sign = 1;
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        if (at < end && (*at == '+' || *at == '-'))
            sign = *at++ == '-' ? -1 : 1;
        if (at == end)
            return false;
        for (; at < end && is_digit(*at) && exponent < 1000; at++)
            exponent = exponent * 10 + (*at - '0');
    }
    int shift = POINT + sign * exponent + scale;
    if (at != end || whole == whole_end || exponent > 96 || part_end - whole > EXACT_DECIMAL_MAX ||
        shift < EXACT_DECIMAL_MAX || shift > PLACES - EXACT_DECIMAL_MAX)
        return false;
    for (const char *c = whole; c < whole_end; c++)
        out->digits[shift + (int)(whole_end - c) - 1] = *c - '0';
    for (const char *c = part; c < part_end; c++)
        out->digits[shift - (int)(c - part) - 1] = *c - '0';
    return true;
}

/* One digit per place, and no negative zero. */
static void settle(struct ledger *ledger)
{
    int carry = 0, any = 0;
    for (int i = 0; i < PLACES; i++) {
        int value = ledger->digits[i] + carry;
        carry = value >= 0 ? value / 10 : -((9 - value) / 10);
        ledger->digits[i] = value - 10 * carry;
        any |= ledger->digits[i];
    }
    if (carry < 0) {
        for (int i = 0; i < PLACES; i++)
            ledger->digits[i] = -ledger->digits[i];
        ledger->digits[PLACES - 1] -= 10 * carry;
        ledger->negative = !ledger->negative;
        settle(ledger);
        return;
    }
    ledger->negative = ledger->negative && any != 0;
}

static void add(const struct ledger *a, const struct ledger *b, bool subtract, struct ledger *out)
{
    *out = *a;
    bool opposite = a->negative != (b->negative != subtract);
    for (int i = 0; i < PLACES; i++)
        out->digits[i] += opposite ? -b->digits[i] : b->digits[i];
}

static void multiply(const struct ledger *a, const struct ledger *b, struct ledger *out)
{
    *out = (struct ledger){.negative = a->negative != b->negative};
    for (int i = 0; i < PLACES; i++)
        for (int k = 0; a->digits[i] != 0 && k < PLACES; k++)
            if (b->digits[k] != 0 && i + k >= POINT && i + k - POINT < PLACES)
                out->digits[i + k - POINT] += a->digits[i] * b->digits[k];
}

static void check_result(struct ledger *expected, const char *text, size_t len)
{
    struct ledger ledger;
    char again[EXACT_DECIMAL_MAX];
    size_t again_len;
    assert(len > 0 && len <= EXACT_DECIMAL_MAX);
    bool read = read_ledger(bytes_make(text, len), 0, &ledger);
    assert(read && memchr(text, 'e', len) == NULL && memchr(text, 'E', len) == NULL);
    settle(&ledger);
    settle(expected);
    assert(memcmp(&ledger, expected, sizeof ledger.digits) == 0);
    assert(ledger.negative == expected->negative && (text[0] == '-') == ledger.negative);
    if (exact_decimal(bytes_make(text, len), 0, again, &again_len))
        assert(again_len == len && memcmp(again, text, len) == 0);
}

static void check_one(struct bytes text, int scale)
{
    struct ledger expected;
    char out[EXACT_DECIMAL_MAX];
    size_t len;
    bool made = exact_decimal(text, scale, out, &len);
    bool read = read_ledger(text, scale, &expected);
    assert(read || !made);
    if (made)
        check_result(&expected, out, len);
    assert(made || !read || text.len > SHORT || memchr(text.data, 'e', text.len) != NULL ||
           memchr(text.data, 'E', text.len) != NULL);
}

static void check_two(struct bytes a, struct bytes b)
{
    struct ledger first, second, expected;
    char out[EXACT_DECIMAL_MAX];
    size_t len;
    if (!read_ledger(a, 0, &first) || !read_ledger(b, 0, &second)) {
        bool made = exact_add(a, b, false, out, &len) || exact_multiply(a, b, out, &len);
        assert(!made);
        return;
    }
    for (int subtract = 0; subtract < 2; subtract++) {
        add(&first, &second, subtract != 0, &expected);
        if (exact_add(a, b, subtract != 0, out, &len))
            check_result(&expected, out, len);
    }
    if (exact_multiply(a, b, out, &len)) {
        multiply(&first, &second, &expected);
        check_result(&expected, out, len);
    }
}

static void check_hex(struct bytes text)
{
    static const char letters[] = "0123456789abcdef";
    struct ledger expected = {0};
    char out[EXACT_DECIMAL_MAX];
    size_t len;
    if (!exact_hex(text, out, &len))
        return;
    for (size_t i = 2; i < text.len; i++) {
        const char *found = strchr(
            letters, text.data[i] >= 'A' && text.data[i] <= 'F' ? text.data[i] + 32 : text.data[i]);
        assert(found != NULL);
        for (int k = 0; k < PLACES; k++)
            expected.digits[k] *= 16;
        expected.digits[POINT] += (int)(found - letters);
        settle(&expected);
    }
    check_result(&expected, out, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const uint8_t *cut = memchr(data, '\n', size);
    size_t len = cut == NULL ? size : (size_t)(cut - data);
    struct bytes first = bytes_make(data, len);
    check_one(first, 0);
    check_one(first, -18);
    check_one(first, 8);
    check_hex(first);
    if (cut != NULL)
        check_two(first, bytes_make(cut + 1, size - len - 1));
    return 0;
}
