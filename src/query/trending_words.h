/* SPDX-License-Identifier: Apache-2.0
 *
 * trending_words.h - which links are muted or meant, by their words.
 *
 * Words are found anywhere in title, description and address, whatever their case; a muted site
 * takes those below it along. Pure; any thread. */
#ifndef QUERY_TRENDING_WORDS_H
#define QUERY_TRENDING_WORDS_H

#include "config.h"

struct link_words {
    struct bytes url, title, description; /* absent: none */
};

/* `word` of any case occurs in it. */
bool words_contain(struct bytes text, struct bytes word);
bool words_are_muted(const struct link_words *words, const struct config *config);
/* Each word of `q` is in one of them. An empty `q` is met by all. */
bool words_match(const struct link_words *words, struct bytes q);

#endif
