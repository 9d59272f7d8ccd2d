/* SPDX-License-Identifier: Apache-2.0
 *
 * card_charset.h - the bytes of a page, as UTF-8.
 *
 * What comes out is valid UTF-8 without NUL, in whole characters; what cannot be read is U+FFFD.
 * Only the character sets of the web are known; nothing that a page says reaches the C library's
 * table of names. */
#ifndef DECODE_CARD_CHARSET_H
#define DECODE_CARD_CHARSET_H

#include "base/bytes.h"

#define CARD_CHARSET_HEAD 1024 /* bytes of a page that are enough to choose */

struct card_charset;

/* Chooses by byte order mark, then `content_type`, then what `head` (the first bytes of the page)
 * declares, then by whether `head` is UTF-8. */
struct card_charset *card_charset_new(struct bytes content_type, struct bytes head);
void card_charset_free(struct card_charset *charset);
/* Appends `bytes` as UTF-8. What ends within a character waits for the next piece. */
void card_charset_convert(struct card_charset *charset, struct bytes bytes, struct text *out);

/* The C library's name for a label of the web ("latin1"); NULL: unknown. */
const char *card_charset_find(struct bytes label);

#endif
