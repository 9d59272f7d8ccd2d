/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

struct bytes utf8_cut(struct bytes text, size_t max)
{
    if (text.len <= max)
        return text;
    while (max > 0 && ((unsigned char)text.data[max] & 0xc0) == 0x80)
        max--;
    return bytes_make(text.data, max);
}
