/* SPDX-License-Identifier: Apache-2.0
 *
 * post_facets.h - what a post says about its own text: languages, hashtags, rich text.
 *
 * Kept so that people can choose posts by it; links are read elsewhere. Languages and hashtags
 * become one text each, separated by commas, in the order of the post and none twice: a language is
 * a BCP 47 tag, and a hashtag is what the post lists as one or marks as one in its text, unless
 * there is a comma or a control character in it. The rich text is the post's own JSON, compact, of
 * those facets that are whole: a range within the text and a list of features; what a feature says
 * is taken over as it is, known or not.
 *
 * Never fails on a stranger's account: what is malformed, and what goes beyond a bound, is left
 * out. Pure, never allocates; any thread. */
#ifndef DECODE_POST_FACETS_H
#define DECODE_POST_FACETS_H

#include "base/arena.h"
#include "base/json.h"

#define POST_LANGS_MAX  128  /* bytes of all, commas included */
#define POST_TAGS_MAX   1024 /* the same of the hashtags */
#define POST_FACETS_MAX 8192 /* bytes of JSON */

/* Absent: the post says nothing of the kind. */
struct post_facets {
    struct bytes langs, tags, facets;
};

/* Reads the `record` of a post. What `out` points at lies in `arena`; false: it is full. */
bool post_facets_read(struct json record, struct arena *arena, struct post_facets *out);

#endif
