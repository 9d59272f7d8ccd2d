/* SPDX-License-Identifier: Apache-2.0
 *
 * address_words.h - an address as words, for a page that says nothing of itself.
 *
 * The site and what the last part of the path says: "https://www.e.example/26/the-tide-turns.html"
 * reads "e.example: the tide turns". Whatever stands in an address, words come out that are text;
 * an address is told by where it leads, never by a name that stands before an "@".
 *
 * Pure; any thread. */
#ifndef BASE_ADDRESS_WORDS_H
#define BASE_ADDRESS_WORDS_H

#include "base/bytes.h"

/* Appends the words; the address itself where it names no site. */
void address_words_append(struct bytes url, struct text *out);

#endif
