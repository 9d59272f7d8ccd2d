/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base58.h"

#include "base/digest.h"

#include <assert.h>
#include <string.h>

#define CHECK_SIZE 4
#define WHOLE_MAX  (BASE58_CHECK_MAX + CHECK_SIZE)
#define DIGITS_MAX (WHOLE_MAX * 2)

static const char alphabet[] = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/* The checksum of the first `len` bytes, behind them. */
static void add_check(uint8_t *whole, size_t len)
{
    uint8_t once[DIGEST_SIZE], twice[DIGEST_SIZE];
    digest_sha256(bytes_make(whole, len), once);
    digest_sha256(bytes_make(once, sizeof once), twice);
    memcpy(whole + len, twice, CHECK_SIZE);
}

/* number = number * base + digit, in `size` places of `place`, most significant first; false: it
 * does not fit. */
static bool shift_in(uint8_t *number, size_t size, unsigned base, unsigned place, unsigned digit)
{
    unsigned carry = digit;
    for (size_t i = size; i-- > 0;) {
        carry += number[i] * base;
        number[i] = (uint8_t)(carry % place);
        carry /= place;
    }
    return carry == 0;
}

void base58_check_encode(struct bytes payload, struct text *out)
{
    uint8_t whole[WHOLE_MAX], digits[DIGITS_MAX] = {0};
    size_t len = payload.len + CHECK_SIZE, zeros = 0, first = 0;
    assert(payload.len > 0 && payload.len <= BASE58_CHECK_MAX);
    memcpy(whole, payload.data, payload.len);
    add_check(whole, payload.len);
    while (zeros < len && whole[zeros] == 0)
        zeros++;
    for (size_t i = zeros; i < len; i++) {
        bool fits = shift_in(digits, sizeof digits, 256, 58, whole[i]);
        assert(fits);
    }
    while (first < sizeof digits && digits[first] == 0)
        first++;
    for (size_t i = 0; i < zeros; i++)
        text_append_char(out, alphabet[0]);
    for (size_t i = first; i < sizeof digits; i++)
        text_append_char(out, alphabet[digits[i]]);
}

bool base58_check_decode(struct bytes text, uint8_t *payload, size_t size)
{
    uint8_t whole[WHOLE_MAX] = {0}, again[WHOLE_MAX];
    size_t ones = 0, zeros = 0, len = size + CHECK_SIZE;
    assert(size > 0 && size <= BASE58_CHECK_MAX);
    if (text.len > DIGITS_MAX)
        return false;
    while (ones < text.len && text.data[ones] == alphabet[0])
        ones++;
    for (size_t i = 0; i < text.len; i++) {
        const char *found = memchr(alphabet, text.data[i], sizeof alphabet - 1);
        if (found == NULL || !shift_in(whole, len, 58, 256, (unsigned)(found - alphabet)))
            return false;
    }
    while (zeros < len && whole[zeros] == 0)
        zeros++;
    memcpy(again, whole, size);
    add_check(again, size);
    if (zeros != ones || memcmp(again, whole, len) != 0)
        return false;
    memcpy(payload, whole, size);
    return true;
}
