/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/card_text.h"

#include <string.h>

size_t card_text_point(struct bytes text, size_t at, uint32_t *point)
{
    static const uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *byte = (const unsigned char *)text.data + at;
    size_t len = byte[0] < 0x80   ? 1
                 : byte[0] < 0xc2 ? 0
                 : byte[0] < 0xe0 ? 2
                 : byte[0] < 0xf0 ? 3
                                  : 4;
    *point = byte[0];
    if (len < 2)
        return len;
    if (byte[0] > 0xf4 || len > text.len - at)
        return 0;
    *point = byte[0] & (0x7fu >> len);
    for (size_t i = 1; i < len; i++) {
        if ((byte[i] & 0xc0) != 0x80)
            return 0;
        *point = *point << 6 | (byte[i] & 0x3fu);
    }
    bool valid = *point >= lowest[len] && *point <= 0x10ffff && (*point & 0xfffff800) != 0xd800;
    return valid ? len : 0;
}

static bool white(uint32_t point)
{
    return point == ' ' || (point >= '\t' && point <= '\r') || point == 0x85 || point == 0xa0 ||
           point == 0x1680 || (point >= 0x2000 && point <= 0x200a) || point == 0x2028 ||
           point == 0x2029 || point == 0x202f || point == 0x205f || point == 0x3000;
}

static bool unwanted(uint32_t point)
{
    return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x200b || point == 0x200e ||
           point == 0x200f || (point >= 0x202a && point <= 0x202e) ||
           (point >= 0x2060 && point <= 0x206f) || point == 0xfeff || point == 0xfffe ||
           point == 0xffff;
}

size_t card_text_clean(struct bytes raw, char *out, size_t max)
{
    size_t used = 0;
    bool space = false;
    for (size_t at = 0, len; at < raw.len; at += len) {
        uint32_t point;
        len = card_text_point(raw, at, &point);
        if (len == 0) {
            len = 1;
            continue;
        }
        if (white(point)) {
            space = used > 0;
            continue;
        }
        if (unwanted(point))
            continue;
        if (len + space > max - used)
            break;
        if (space)
            out[used++] = ' ';
        space = false;
        memcpy(out + used, raw.data + at, len);
        used += len;
    }
    return used;
}
