/* SPDX-License-Identifier: Apache-2.0
 *
 * post_text.h - addresses that stand in a text as they are, without any mark-up.
 *
 * An address with its scheme is found anywhere but inside a word. One without is found only where a
 * word begins, only in ASCII, only below a suffix that the public list names, and only when it
 * begins with www. or has a path: "readme.md" and "either.or" are no addresses, "example.com/a" is.
 *
 * It ends before white space, quotes, angle brackets, CJK letters and punctuation, and pictures.
 * Punctuation at its end belongs to the sentence, and so does a bracket that was not opened inside.
 * What an ellipsis shortens is passed over: that is the look of an address, not the address.
 *
 * Pure; the time is linear in the text. */
#ifndef DECODE_POST_TEXT_H
#define DECODE_POST_TEXT_H

#include "base/bytes.h"

struct post_text {
    struct bytes text;
    size_t at;
};

struct post_text_url {
    struct bytes url;
    size_t start; /* of `url` in the text */
    bool bare;    /* without a scheme; https is meant */
};

static inline struct post_text post_text_walk(struct bytes text)
{
    return (struct post_text){text, 0};
}
/* False at the end. `url` is a part of the text. */
bool post_text_next(struct post_text *walk, struct post_text_url *found);

#endif
