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

#define ADDRESS_REDIRECT_MAX 72

/* Appends the words; the address itself where it names no site. */
void address_words_append(struct bytes url, struct text *out);
/* Where a redirect leads, to go behind its status: ", to https://host:port", of a long host its
 * end; never its path and query, which may hold a key. "" without a `location`. */
void address_redirect_words(struct bytes location, char out[ADDRESS_REDIRECT_MAX]);

#endif
