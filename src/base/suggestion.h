/* SPDX-License-Identifier: Apache-2.0
 *
 * suggestion.h - the candidate nearest to a word that is not known, for sentences.
 *
 * Owner: the caller; the words are borrowed. */
#ifndef BASE_SUGGESTION_H
#define BASE_SUGGESTION_H

#include "base/bytes.h"

struct suggestion {
    struct bytes word, best;
    size_t distance;
};

struct suggestion suggestion_begin(struct bytes word);
void suggestion_try(struct suggestion *suggestion, struct bytes candidate);
/* Appends " (did you mean X?)" when a candidate was near enough; `before` stands before X. */
void suggestion_end(const struct suggestion *suggestion, const char *before, struct text *out);
/* Appends `value` in quotes, cut and with control characters replaced. */
void suggestion_quote(struct bytes value, struct text *out);

#endif
