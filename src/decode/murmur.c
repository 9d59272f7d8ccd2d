/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/murmur.h"

#define BLOCK 16
#define HALF  8

/* What the two halves of a block are multiplied with. */
static const uint64_t low_factor = UINT64_C(0x87c37b91114253d5);
static const uint64_t high_factor = UINT64_C(0x4cf5ad432745937f);

static uint64_t turn(uint64_t value, unsigned bits)
{
    return value << bits | value >> (64 - bits);
}

/* Up to eight bytes, the first one lowest. */
static uint64_t read_half(struct bytes text, size_t at)
{
    uint64_t value = 0;
    for (size_t i = 0; i < HALF && at + i < text.len; i++)
        value |= (uint64_t)(uint8_t)text.data[at + i] << 8 * i;
    return value;
}

static uint64_t stir_low(uint64_t value)
{
    return turn(value * low_factor, 31) * high_factor;
}

static uint64_t stir_high(uint64_t value)
{
    return turn(value * high_factor, 33) * low_factor;
}

static uint64_t finish(uint64_t value)
{
    value = (value ^ value >> 33) * UINT64_C(0xff51afd7ed558ccd);
    value = (value ^ value >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return value ^ value >> 33;
}

uint64_t murmur3_64(struct bytes text)
{
    uint64_t low = 0, high = 0;
    size_t at = 0;
    for (; text.len - at >= BLOCK; at += BLOCK) {
        low = (turn(low ^ stir_low(read_half(text, at)), 27) + high) * 5 + 0x52dce729;
        high = (turn(high ^ stir_high(read_half(text, at + HALF)), 31) + low) * 5 + 0x38495ab5;
    }
    low ^= stir_low(read_half(text, at)) ^ text.len;
    high ^= stir_high(read_half(text, at + HALF)) ^ text.len;
    low += high;
    high += low;
    return finish(low) + finish(high);
}
