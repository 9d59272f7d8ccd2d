/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/bech32.h"

#include <string.h>

#define RIGHT_173 1U
#define RIGHT_350 0x2bc830a3U

const char bech32_letters[] = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";

/* -1: it is none of them. */
static int word_of(char letter)
{
    const char *found = memchr(bech32_letters, letter, sizeof bech32_letters - 1);
    return found == NULL ? -1 : (int)(found - bech32_letters);
}

uint32_t bech32_fold(uint32_t sum, unsigned word)
{
    static const uint32_t generator[] = {0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd,
                                         0x2a1462b3};
    uint32_t top = sum >> 25;
    sum = (sum & 0x1ffffff) << 5 ^ word;
    for (unsigned i = 0; i < 5; i++)
        if ((top >> i & 1) != 0)
            sum ^= generator[i];
    return sum;
}

uint32_t bech32_begin(struct bytes prefix)
{
    uint32_t sum = 1;
    for (size_t i = 0; i < prefix.len; i++)
        sum = bech32_fold(sum, (unsigned char)prefix.data[i] >> 5);
    sum = bech32_fold(sum, 0);
    for (size_t i = 0; i < prefix.len; i++)
        sum = bech32_fold(sum, (unsigned char)prefix.data[i] & 31);
    return sum;
}

bool bech32_is_right(struct bytes address)
{
    const char *one = memrchr(address.data, '1', address.len);
    if (one == NULL)
        return false;
    size_t at = (size_t)(one - address.data);
    uint32_t sum = bech32_begin(bytes_make(address.data, at));
    while (++at < address.len) {
        int word = word_of(address.data[at]);
        if (word < 0)
            return false;
        sum = bech32_fold(sum, (unsigned)word);
    }
    return sum == RIGHT_173 || sum == RIGHT_350;
}

static uint64_t fold_cash(uint64_t sum, unsigned word)
{
    static const uint64_t generator[] = {0x98f2bc8e61, 0x79b76d99e2, 0xf33e5fb3c4, 0xae2eabe2a8,
                                         0x1e4f43e470};
    uint64_t top = sum >> 35;
    sum = (sum & 0x7ffffffff) << 5 ^ word;
    for (unsigned i = 0; i < 5; i++)
        if ((top >> i & 1) != 0)
            sum ^= generator[i];
    return sum;
}

bool bech32_cash_is_right(struct bytes address)
{
    uint64_t sum = 1;
    size_t at = 0;
    for (; at < address.len && address.data[at] != ':'; at++)
        sum = fold_cash(sum, (unsigned char)address.data[at] & 31);
    sum = fold_cash(sum, 0);
    while (++at < address.len) {
        int word = word_of(address.data[at]);
        if (word < 0)
            return false;
        sum = fold_cash(sum, (unsigned)word);
    }
    return sum == 1;
}
