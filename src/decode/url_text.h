/* SPDX-License-Identifier: Apache-2.0
 *
 * url_text.h - the text of an address while it is put together, within a bound.
 *
 * Always holds: len <= max. What does not fit is not written and sets `full`; a full text takes
 * nothing more, so one look at the end is enough.
 *
 * Owner: the caller, who owns the room as well. Never allocates. */
#ifndef DECODE_URL_TEXT_H
#define DECODE_URL_TEXT_H

#include "base/bytes.h"

struct url_text {
    char *data;
    size_t len, max;
    bool full;
};

/* Which bytes are written as %XX: beyond controls, spaces, quotes, angle brackets and what is no
 * ASCII, each part of an address has some of its own. */
enum url_part { URL_PART_PATH, URL_PART_QUERY, URL_PART_FRAGMENT };

static inline struct url_text url_text_over(char *room, size_t max)
{
    return (struct url_text){room, 0, max, false};
}

void url_text_put(struct url_text *text, char c);
void url_text_put_bytes(struct url_text *text, struct bytes bytes);
void url_text_put_string(struct url_text *text, const char *string);
/* Escapes what must not stand in `part`; escapes that are there already stay as they are. */
void url_text_put_part(struct url_text *text, struct bytes bytes, enum url_part part);
/* One spelling per meaning: %7e becomes ~, %c3 becomes %C3, a % that begins no escape becomes
 * %25. What comes out is left alone the next time. */
void url_text_put_folded(struct url_text *text, struct bytes bytes);
/* Escapes everything but letters, digits and -._~, so that each text has one form. */
void url_text_put_escaped(struct url_text *text, struct bytes bytes);
/* Undoes escapes; a % that begins none stays. `plus`: + is a space, as in a form. */
void url_text_put_unescaped(struct url_text *text, struct bytes bytes, bool plus);

/* The value of a hexadecimal digit, or -1. */
int url_hex_value(char c);
static inline char url_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}
bool url_letter_or_digit(char c);
/* Equal but for the case of ASCII letters; `lower` is in lower case. */
bool url_equals_lower(struct bytes a, struct bytes lower);
static inline struct bytes url_text_bytes(const struct url_text *text)
{
    return bytes_make(text->data, text->len);
}
/* `bytes` from `start` to before `end`. */
static inline struct bytes url_cut(struct bytes bytes, size_t start, size_t end)
{
    return bytes_make(bytes.data + start, end - start);
}

#endif
