/* SPDX-License-Identifier: Apache-2.0 */
#include "base/uuid.h"

#include <string.h>

static bool dash_before(int byte)
{
    return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

void uuid_format(const uint8_t random[16], char out[UUID_TEXT_SIZE])
{
    static const char hex[] = "0123456789abcdef";
    uint8_t raw[16];
    memcpy(raw, random, sizeof raw);
    raw[6] = (uint8_t)((raw[6] & 0x0f) | 0x40);
    raw[8] = (uint8_t)((raw[8] & 0x3f) | 0x80);
    for (int i = 0; i < 16; i++) {
        if (dash_before(i))
            *out++ = '-';
        *out++ = hex[raw[i] >> 4];
        *out++ = hex[raw[i] & 0x0f];
    }
    *out = '\0';
}

/* The digit's value, or a number above 15. */
static unsigned digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : 16;
}

bool uuid_parse(struct bytes text, uint8_t out[16])
{
    if (text.len != 32 && text.len != 36)
        return false;
    uint8_t raw[16];
    const char *at = text.data;
    for (int i = 0; i < 16; i++) {
        if (text.len == 36 && dash_before(i) && *at++ != '-')
            return false;
        unsigned high = digit_value(at[0]), low = digit_value(at[1]);
        if (high > 15 || low > 15)
            return false;
        raw[i] = (uint8_t)(high << 4 | low);
        at += 2;
    }
    memcpy(out, raw, sizeof raw);
    return true;
}
