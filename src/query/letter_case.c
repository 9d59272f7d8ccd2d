/* SPDX-License-Identifier: Apache-2.0 */
#include "query/letter_case.h"

#include "base/utf8.h"

#include <assert.h>

#define NO_TEXT 0x110000 /* beyond all letters: what a stray byte is added to */

/* From `first` to `last` capitals; `step` apart they have their small ones, or in turn beside
 * them: 0. */
struct capitals {
    uint32_t first, last;
    int32_t step;
};

/* clang-format off */
static const struct capitals capitals[] = {
    {'A', 'Z', 32}, {0xc0, 0xd6, 32}, {0xd8, 0xde, 32},
    {0x100, 0x12e, 0}, {0x132, 0x136, 0}, {0x139, 0x147, 0}, {0x14a, 0x176, 0},
    {0x178, 0x178, -121}, {0x179, 0x17d, 0}, {0x17f, 0x17f, 's' - 0x17f},
    {0x181, 0x181, 210}, {0x186, 0x186, 206}, {0x18a, 0x18a, 205}, {0x18f, 0x18f, 202},
    {0x190, 0x190, 203}, {0x198, 0x198, 0}, {0x1a0, 0x1a4, 0}, {0x1af, 0x1af, 0},
    {0x1cd, 0x1db, 0}, {0x1de, 0x1ee, 0}, {0x1f4, 0x1f4, 0},
    {0x1f8, 0x21e, 0}, {0x222, 0x232, 0},
    {0x386, 0x386, 38}, {0x388, 0x38a, 37}, {0x38c, 0x38c, 64}, {0x38e, 0x38f, 63},
    {0x391, 0x3a1, 32}, {0x3a3, 0x3ab, 32}, {0x3c2, 0x3c2, 1},
    {0x400, 0x40f, 80}, {0x410, 0x42f, 32}, {0x460, 0x480, 0}, {0x48a, 0x4be, 0},
    {0x4c0, 0x4c0, 15}, {0x4c1, 0x4cd, 0}, {0x4d0, 0x52e, 0},
    {0x531, 0x556, 48},
    {0x1e00, 0x1e94, 0}, {0x1e9e, 0x1e9e, 0xdf - 0x1e9e}, {0x1ea0, 0x1efe, 0},
    {0xff21, 0xff3a, 32},
};
/* clang-format on */

static uint32_t make_small(uint32_t letter)
{
    for (size_t i = 0; i < sizeof capitals / sizeof capitals[0]; i++) {
        const struct capitals *run = &capitals[i];
        if (letter < run->first)
            break;
        if (letter > run->last)
            continue;
        bool small = run->step == 0 && (letter - run->first) % 2 == 1;
        int32_t step = run->step == 0 ? 1 : run->step;
        return small ? letter : (uint32_t)((int32_t)letter + step);
    }
    return letter;
}

size_t letter_case_read(struct bytes text, size_t at, uint32_t *letter)
{
    assert(at < text.len);
    const unsigned char *byte = (const unsigned char *)text.data + at;
    size_t bad, len = byte[0] < 0x80 ? 1 : utf8_sequence(byte, text.len - at, &bad);
    if (len == 0) {
        *letter = NO_TEXT + byte[0];
        return 1;
    }
    *letter = len == 1 ? byte[0] : byte[0] & (0xffU >> (len + 1));
    for (size_t i = 1; i < len; i++)
        *letter = *letter << 6 | (byte[i] & 0x3f);
    *letter = make_small(*letter);
    return len;
}
