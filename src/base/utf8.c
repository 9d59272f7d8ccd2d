/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include <assert.h>
#include <string.h>

bool utf8_is_text(struct bytes text)
{
    const unsigned char *at = (const unsigned char *)text.data;
    size_t bad, len;
    for (size_t i = 0; i < text.len; i += len) {
        len = at[i] < 0x80 ? 1 : utf8_sequence(at + i, text.len - i, &bad);
        if (len == 0)
            return false;
    }
    return true;
}

struct bytes utf8_cut(struct bytes text, size_t max)
{
    if (text.len <= max)
        return text;
    while (max > 0 && ((unsigned char)text.data[max] & 0xc0) == 0x80)
        max--;
    return bytes_make(text.data, max);
}

void utf8_copy(struct bytes text, char *out, size_t size)
{
    assert(size > 0);
    struct bytes kept = utf8_cut(text, size - 1);
    if (kept.len > 0)
        memcpy(out, kept.data, kept.len);
    out[kept.len] = '\0';
}

size_t utf8_steers(struct bytes text, size_t at)
{
    const unsigned char *c = (const unsigned char *)text.data + at;
    size_t left = text.len - at;
    assert(at < text.len);
    if (c[0] < 0x20 || c[0] == 0x7f)
        return 1;
    if (left >= 2 && ((c[0] == 0xc2 && c[1] >= 0x80 && c[1] <= 0x9f) || /* C1 */
                      (c[0] == 0xd8 && c[1] == 0x9c)))                  /* U+061C */
        return 2;
    if (left < 3 || c[0] != 0xe2)
        return 0;
    bool mark = c[1] == 0x80 && (c[2] == 0x8e || c[2] == 0x8f);  /* U+200E and F */
    bool line = c[1] == 0x80 && c[2] >= 0xa8 && c[2] <= 0xae;    /* U+2028 to 202E */
    bool isolate = c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9; /* U+2066 to 2069 */
    return mark || line || isolate ? 3 : 0;
}

void utf8_append(struct text *out, struct bytes text)
{
    const unsigned char *at = (const unsigned char *)text.data;
    size_t bad = 0;
    for (size_t i = 0, len; i<text.len; i += len> 0 ? len : bad) {
        len = at[i] < 0x80 ? 1 : utf8_sequence(at + i, text.len - i, &bad);
        if (len > 0)
            text_append(out, text.data + i, len);
        else
            text_append_string(out, UTF8_REPLACEMENT);
    }
}
