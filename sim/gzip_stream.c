/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/gzip_stream.h"

#include <assert.h>

#define STORED_MAX 65535u
#define MATCH_MAX  258u

static uint32_t crc_add(uint32_t crc, unsigned char byte)
{
    crc ^= byte;
    for (int i = 0; i < 8; i++)
        crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
    return crc;
}

static void put_u32(struct text *out, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        text_append_char(out, (char)(value >> 8 * i & 255));
}

static void put_head(struct text *out)
{
    static const char head[10] = {'\x1f', '\x8b', 8, 0, 0, 0, 0, 0, 0, 3};
    text_append(out, head, sizeof head);
}

void gzip_stream_store(struct bytes input, struct text *out)
{
    uint32_t crc = UINT32_MAX;
    size_t at = 0;
    put_head(out);
    do {
        size_t len = input.len - at < STORED_MAX ? input.len - at : STORED_MAX;
        text_append_char(out, at + len == input.len);
        put_u32(out, (uint32_t)len | ~(uint32_t)len << 16);
        text_append(out, input.data + at, len);
        at += len;
    } while (at < input.len);
    for (size_t i = 0; i < input.len; i++)
        crc = crc_add(crc, (unsigned char)input.data[i]);
    put_u32(out, ~crc);
    put_u32(out, (uint32_t)input.len);
}

struct bits {
    struct text *out;
    uint32_t held;
    unsigned count;
};

static void put_bits(struct bits *bits, uint32_t value, unsigned count)
{
    bits->held |= value << bits->count;
    for (bits->count += count; bits->count >= 8; bits->count -= 8, bits->held >>= 8)
        text_append_char(bits->out, (char)(bits->held & 255));
}

/* Codes go out with their highest bit first. */
static void put_code(struct bits *bits, uint32_t code, unsigned count)
{
    while (count-- > 0)
        put_bits(bits, code >> count & 1, 1);
}

void gzip_stream_repeat(char byte, uint32_t count, struct text *out)
{
    struct bits bits = {.out = out};
    uint32_t written = 1, crc = UINT32_MAX;
    assert((unsigned char)byte < 144);
    put_head(out);
    put_bits(&bits, 1, 1); /* the last block */
    put_bits(&bits, 1, 2); /* with the fixed codes */
    put_code(&bits, 0x30u + (unsigned char)byte, 8);
    for (; written < count; written += MATCH_MAX) {
        put_code(&bits, 0xc5, 8); /* length 258 */
        put_code(&bits, 0, 5);    /* of the byte before */
    }
    put_code(&bits, 0, 7); /* the end */
    put_bits(&bits, 0, 7); /* to a whole byte */
    for (uint32_t i = 0; i < written; i++)
        crc = crc_add(crc, (unsigned char)byte);
    put_u32(out, ~crc);
    put_u32(out, written);
}
