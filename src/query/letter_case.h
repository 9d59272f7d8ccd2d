/* SPDX-License-Identifier: Apache-2.0
 *
 * letter_case.h - letters without their case, one by one.
 *
 * Latin, Greek, Cyrillic, Armenian and full-width letters have the small one for their like; one
 * letter never becomes two, and no language's own rules are followed. Pure; any thread. */
#ifndef QUERY_LETTER_CASE_H
#define QUERY_LETTER_CASE_H

#include "base/bytes.h"

/* The letter at `at` of a text, small; how many bytes it takes. A byte that is no text is one
 * letter, of its own kind. */
size_t letter_case_read(struct bytes text, size_t at, uint32_t *letter);

#endif
