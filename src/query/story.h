/* SPDX-License-Identifier: Apache-2.0
 *
 * story.h - articles of several sites that tell the same story, by their titles.
 *
 * Two titles are of one story when they are nearly the same words, whatever their order, case and
 * punctuation and the name of the site at their end: three of four words of both together are
 * common to both, and every number in one is in the other. Titles of few words say too little and
 * are never taken for the same; of one site only titles of exactly the same words are.
 *
 * Always holds: who belongs to a story is decided by its first article alone, so that a story does
 * not wander off along a chain of look-alikes; the same input gives the same stories.
 *
 * Pure: no I/O, any thread. Takes time in the square of the articles, of which there are few. */
#ifndef QUERY_STORY_H
#define QUERY_STORY_H

#include "base/bytes.h"

#define STORY_WORDS_MAX 32 /* of a title that are looked at */
#define STORY_WORDS_MIN 4  /* different ones, for a title to say enough */

struct story_article {
    struct bytes title, domain; /* absent: unknown */
};

/* Sets `first[i]` to the first article of the story that the i-th belongs to; its own number when
 * it begins one. */
void story_group(const struct story_article *articles, size_t count, size_t *first);

#endif
