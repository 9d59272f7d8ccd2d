/* SPDX-License-Identifier: Apache-2.0
 *
 * post.h - what a post says: text, links and what it embeds.
 *
 * Composed from the number of the event that wrote it, the same each time. Texts are raw UTF-8;
 * offsets of links count its bytes. A later version of a post keeps its date and what it answers
 * or quotes, and has another text. */
#ifndef SIM_POST_H
#define SIM_POST_H

#include "sim/world.h"

#define POST_TEXT_SIZE 640
#define POST_LINKS_MAX 4
#define URL_SIZE       192

enum post_embed { EMBED_NONE, EMBED_EXTERNAL, EMBED_RECORD, EMBED_RECORD_WITH_MEDIA, EMBED_IMAGES };

struct post_link {
    char url[URL_SIZE];
    unsigned begin, end; /* facet range in the text; equal: a bare address without a facet */
};

struct post {
    char text[POST_TEXT_SIZE];
    size_t text_len;
    struct post_link links[POST_LINKS_MAX];
    unsigned link_count;
    enum post_embed embed;
    char card_url[URL_SIZE], card_title[96], card_description[128];
    bool is_reply;
    uint32_t subject; /* event of the post answered or quoted */
    const char *lang;
    int64_t created_us; /* what the author claims */
};

/* Event k must have created or updated a post. */
void post_compose(const struct world *world, uint32_t k, struct post *post);
/* createdAt of the record that event k created. */
int64_t post_created_us(const struct world *world, uint32_t k);
/* Address of page `link` of the world's web, in one of several spellings. */
void post_url(const struct world *world, uint32_t link, uint32_t spelling, char out[URL_SIZE]);

#endif
