/* SPDX-License-Identifier: Apache-2.0
 *
 * card_text.h - a stranger's words, fit to be shown on one line.
 *
 * Always holds for what comes out: valid UTF-8; no control characters, nothing that turns the
 * direction of the text around it, no byte order marks; one space where there was white space, none
 * at the ends; no longer than asked for and never cut inside a character. */
#ifndef DECODE_CARD_TEXT_H
#define DECODE_CARD_TEXT_H

#include "base/bytes.h"

/* Writes at most `max` bytes to `out` and answers how many. Bytes that are no UTF-8 are left out.
 */
size_t card_text_clean(struct bytes raw, char *out, size_t max);
/* The character at `at` and how many bytes it takes; 0 bytes when it is no valid UTF-8. */
size_t card_text_point(struct bytes text, size_t at, uint32_t *point);

#endif
