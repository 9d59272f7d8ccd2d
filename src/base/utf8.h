/* SPDX-License-Identifier: Apache-2.0
 *
 * utf8.h - where one character ends and the next begins, in bytes that strangers sent.
 *
 * Pure; any thread. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include "base/bytes.h"

#define UTF8_REPLACEMENT "\xef\xbf\xbd"

/* Length of the valid sequence of two to four bytes at `at`; 0 when it is none, and `*bad` is then
 * how many bytes one replacement character stands for. */
static inline size_t utf8_sequence(const unsigned char *at, size_t left, size_t *bad)
{
    unsigned char low = 0x80, high = 0xbf;
    size_t len = 2;
    *bad = 1;
    if (at[0] < 0xc2 || at[0] > 0xf4)
        return 0;
    if (at[0] >= 0xe0) {
        len = at[0] < 0xf0 ? 3 : 4;
        low = at[0] == 0xe0 ? 0xa0 : at[0] == 0xf0 ? 0x90 : low;
        high = at[0] == 0xed ? 0x9f : at[0] == 0xf4 ? 0x8f : high;
    }
    for (size_t i = 1; i < len; i++, low = 0x80, high = 0xbf) {
        if (i >= left || at[i] < low || at[i] > high) {
            *bad = i;
            return 0;
        }
    }
    return len;
}

/* Whether all of it is characters. */
bool utf8_is_text(struct bytes text);
/* As much of the text as has at most `max` bytes, whole characters only. */
struct bytes utf8_cut(struct bytes text, size_t max);
/* Copies as much of it as has room, and a NUL; absent: "". */
void utf8_copy(struct bytes text, char *out, size_t size);
/* Bytes of the character at `at` if it is one that words on a line must not have: it steers a
 * terminal (C0, delete, C1), ends the line, or turns the direction of what follows; else 0. */
size_t utf8_steers(struct bytes text, size_t at);
/* Appends it; replacement characters stand for what is no text. */
void utf8_append(struct text *out, struct bytes text);

#endif
