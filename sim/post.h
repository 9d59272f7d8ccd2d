/* SPDX-License-Identifier: Apache-2.0
 *
 * post.h - what a post says: text, links and what it embeds.
 *
 * Composed from the number of the event that wrote it, the same each time. Texts are raw UTF-8;
 * offsets of links count its bytes. A later version of a post keeps its date and what it answers
 * or quotes, and has another text. */
#ifndef SIM_POST_H
#define SIM_POST_H

#include "sim/press.h"
#include "sim/web_link.h"

#define POST_TEXT_SIZE 1200
#define POST_LINKS_MAX 4
#define POST_LANGS_MAX 2

enum post_embed { EMBED_NONE, EMBED_EXTERNAL, EMBED_RECORD, EMBED_RECORD_WITH_MEDIA, EMBED_IMAGES };

enum post_shape {
    SHAPE_PLAIN,
    SHAPE_REPLY,
    SHAPE_LINK,
    SHAPE_CARD_AND_LINK,
    SHAPE_CARD,
    SHAPE_QUOTE,
    SHAPE_QUOTE_AND_CARD,
    SHAPE_LINKS,
    SHAPE_BARE,
    SHAPE_REPLY_LINK,
    SHAPE_IMAGES,
    SHAPE_LONG,
    SHAPE_COUNT,
};

/* A page and how its address is spelled. */
struct post_share {
    uint32_t link, spelling;
};

/* What a version of a post shares and points at; made without its text. */
struct post_outline {
    enum post_shape shape;
    enum post_embed embed;
    bool is_reply;
    uint32_t subject; /* event of the post answered or quoted, or WORLD_NONE */
    struct post_share shares[POST_LINKS_MAX];
    unsigned share_count; /* a card beside links in the text shows the first of them */
};

struct post_link {
    char url[URL_SIZE];
    unsigned begin, end; /* facet range in the text; equal: a bare address without a facet */
};

struct post {
    struct post_outline outline;
    char text[POST_TEXT_SIZE];
    size_t text_len;
    struct post_link links[POST_LINKS_MAX]; /* those in the text */
    unsigned link_count;
    unsigned tag_begin, tag_end; /* a tag in the text; equal: none */
    bool has_card;
    char card_url[URL_SIZE];
    char card_title[PRESS_HEADLINE_SIZE], card_description[PRESS_SUMMARY_SIZE];
    const char *langs[POST_LANGS_MAX];
    unsigned lang_count;
    const char *listed_tag; /* that is not in the text; NULL: none */
    int64_t created_us;     /* what the author claims */
};

/* Event k must have created or updated a post. */
void post_outline_make(const struct world *world, uint32_t k, struct post_outline *outline);
void post_compose(const struct world *world, uint32_t k, struct post *post);
/* True when the post carries another one inside. */
bool post_quotes(const struct post_outline *outline);
/* createdAt of the record that event k created. */
int64_t post_created_us(const struct world *world, uint32_t k);
/* The tag that is marked in texts. */
#define POST_MARKED_TAG "tide"
/* "card_and_link" and so on; SHAPE_COUNT when there is none of that name. */
enum post_shape post_shape_find(const char *name);

#endif
