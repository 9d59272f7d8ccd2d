/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/post.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define COUNT_OF(array) ((uint32_t)(sizeof(array) / sizeof(array)[0]))

/* Ordinary words, and the ones that break careless code. */
static const char *const words[] = {
    "the",     "tide",  "turns", "at",    "noon",        "and",         "every",    "harbour",
    "has",     "a",     "mark",  "for",   "it",          "someone",     "measured", "twice",
    "then",    "read",  "this",  "again", "because",     "of",          "new",      "figures",
    "from",    "north", "R&D",   "<3",    "\"so\"",      "naïve",       "日本語",   "🌊",
    "C:\\tmp", "it's",  "=>",    "café",  "line\nbreak", "👩‍🔬", "tab\tbed", "a\u2028b"};

static const char *const shape_names[SHAPE_COUNT] = {
    [SHAPE_PLAIN] = "plain",
    [SHAPE_REPLY] = "reply",
    [SHAPE_LINK] = "link",
    [SHAPE_CARD_AND_LINK] = "card_and_link",
    [SHAPE_CARD] = "card",
    [SHAPE_QUOTE] = "quote",
    [SHAPE_QUOTE_AND_CARD] = "quote_and_card",
    [SHAPE_LINKS] = "links",
    [SHAPE_BARE] = "bare",
    [SHAPE_REPLY_LINK] = "reply_link",
    [SHAPE_IMAGES] = "images",
    [SHAPE_LONG] = "long",
};

static const struct {
    uint8_t percent, shape;
} shapes[] = {{30, SHAPE_PLAIN},         {14, SHAPE_REPLY}, {12, SHAPE_LINK},
              {12, SHAPE_CARD_AND_LINK}, {6, SHAPE_CARD},   {6, SHAPE_QUOTE},
              {4, SHAPE_QUOTE_AND_CARD}, {5, SHAPE_LINKS},  {3, SHAPE_BARE},
              {3, SHAPE_REPLY_LINK},     {3, SHAPE_IMAGES}, {2, SHAPE_LONG}};

static enum post_shape draw_shape(struct draw *draw)
{
    uint32_t dice = draw_below(draw, 100);
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        if (dice < shapes[i].percent)
            return shapes[i].shape;
        dice -= shapes[i].percent;
    }
    return SHAPE_PLAIN;
}

enum post_shape post_shape_find(const char *name)
{
    enum post_shape shape = 0;
    while (shape < SHAPE_COUNT && strcmp(shape_names[shape], name) != 0)
        shape++;
    return shape;
}

static bool has_card(enum post_shape shape)
{
    return shape == SHAPE_CARD || shape == SHAPE_CARD_AND_LINK || shape == SHAPE_QUOTE_AND_CARD;
}

bool post_quotes(const struct post_outline *outline)
{
    return outline->embed == EMBED_RECORD || outline->embed == EMBED_RECORD_WITH_MEDIA;
}

static unsigned count_shares(struct draw *draw, enum post_shape shape)
{
    if (shape == SHAPE_LINKS)
        return 2 + draw_below(draw, 2);
    return has_card(shape) || shape == SHAPE_LINK || shape == SHAPE_BARE ||
           shape == SHAPE_REPLY_LINK;
}

static struct post_share draw_share(const struct world *world, struct draw *draw, bool card)
{
    uint32_t pages = world_settings(world)->links, link = draw_skewed(draw, pages);
    /* Half of the shares copy the plain address, the others bring their own spelling. */
    uint32_t spelling = draw_below(draw, 2) == 0 ? 0 : draw_below(draw, SPELLING_COUNT);
    /* What bears the name of a real site comes with a card, so that nobody has to fetch one. */
    for (uint32_t i = 0; i < pages && !card && web_link_is_named(world, link); i++)
        link = (link + 1) % pages;
    return (struct post_share){link, spelling};
}

static enum post_embed embed_of(enum post_shape shape, bool has_subject)
{
    switch (shape) {
    case SHAPE_QUOTE:
        return has_subject ? EMBED_RECORD : EMBED_NONE;
    case SHAPE_QUOTE_AND_CARD:
        return has_subject ? EMBED_RECORD_WITH_MEDIA : EMBED_EXTERNAL;
    case SHAPE_CARD:
    case SHAPE_CARD_AND_LINK:
        return EMBED_EXTERNAL;
    case SHAPE_IMAGES:
        return EMBED_IMAGES;
    default:
        return EMBED_NONE;
    }
}

void post_outline_make(const struct world *world, uint32_t k, struct post_outline *outline)
{
    const struct world_event *event = world_event(world, k);
    assert(event->collection == COLLECTION_POST && event->kind != EVENT_DELETE);
    uint32_t root = event->kind == EVENT_UPDATE ? event->subject : k;
    uint64_t seed = world_settings(world)->seed;
    struct draw shape = draw_make(seed, root, SALT_POST), draw = draw_make(seed, k, SALT_SHARE);
    const struct world_event *first = world_event(world, root);
    outline->shape = event->shape != SHAPE_DRAWN   ? (enum post_shape)event->shape
                     : first->shape != SHAPE_DRAWN ? (enum post_shape)first->shape
                                                   : draw_shape(&shape);
    outline->subject = first->subject;
    outline->is_reply = outline->subject != WORLD_NONE &&
                        (outline->shape == SHAPE_REPLY || outline->shape == SHAPE_REPLY_LINK);
    outline->embed = embed_of(outline->shape, outline->subject != WORLD_NONE);
    outline->share_count = count_shares(&draw, outline->shape);
    for (unsigned i = 0; i < outline->share_count; i++)
        outline->shares[i] = draw_share(world, &draw, i == 0 && has_card(outline->shape));
    if (event->link != WORLD_NONE)
        outline->shares[0] = (struct post_share){event->link, event->spelling};
}

static void say(struct post *post, const char *word)
{
    size_t len = strlen(word);
    assert(post->text_len + len + 2 < sizeof post->text);
    if (post->text_len > 0)
        post->text[post->text_len++] = ' ';
    memcpy(post->text + post->text_len, word, len + 1);
    post->text_len += len;
}

static void say_words(struct post *post, struct draw *draw, uint32_t count)
{
    for (; count > 0; count--)
        say(post, words[draw_below(draw, COUNT_OF(words))]);
}

/* A few words, many when it is to be long. */
static void say_something(const struct world *world, struct post *post, struct draw *draw)
{
    bool is_long = post->outline.shape == SHAPE_LONG;
    if (!world_settings(world)->press) {
        say_words(post, draw, is_long ? 40 : 2 + draw_below(draw, 18));
        return;
    }
    for (uint32_t left = is_long ? 6 : 1; left > 0; left--)
        say(post, press_remark(draw));
}

/* A bare address, as people put it into a sentence. */
static void say_bare(struct post *post, struct draw *draw, const char *url)
{
    static const char *const around[][2] = {
        {"", ""}, {"(", ")"}, {"", "."}, {"", ","}, {"see ", ")!"}};
    uint32_t how = draw_below(draw, COUNT_OF(around) - (strchr(url, '(') != NULL));
    char said[URL_SIZE + 16];
    snprintf(said, sizeof said, "%s%s%s", around[how][0], url, around[how][1]);
    say(post, said);
}

/* Puts a link into the text the way clients do: shortened, with a facet over what is shown. */
static void say_link(const struct world *world, struct post *post, struct draw *draw, unsigned i)
{
    struct post_link *link = &post->links[post->link_count++];
    char shown[URL_SIZE];
    web_link_spell(world, post->outline.shares[i].link, post->outline.shares[i].spelling,
                   link->url);
    if (post->outline.shape == SHAPE_BARE) {
        say_bare(post, draw, link->url);
        link->begin = link->end = 0;
        return;
    }
    if (draw_below(draw, 4) == 0)
        snprintf(shown, sizeof shown, "%s", link->url);
    else
        snprintf(shown, sizeof shown, "%.24s...", strstr(link->url, "//") + 2);
    say(post, shown);
    link->end = (unsigned)post->text_len;
    link->begin = link->end - (unsigned)strlen(shown);
}

static void say_tag(struct post *post, struct draw *draw)
{
    if (draw_below(draw, 8) != 0)
        return;
    say(post, "#" POST_MARKED_TAG);
    post->tag_end = (unsigned)post->text_len;
    post->tag_begin = post->tag_end - (unsigned)strlen("#" POST_MARKED_TAG);
}

static void add_card(const struct world *world, struct post *post, struct draw *draw)
{
    const struct post_share *share = &post->outline.shares[0];
    const struct world_options *settings = world_settings(world);
    uint32_t id;
    const char *kind = web_link_kind(world, share->link, &id);
    web_link_spell(world, share->link, share->spelling, post->card_url);
    if (settings->press && kind != NULL) {
        press_headline(settings->seed, web_link_article(kind, id), post->card_title);
        press_summary(settings->seed, web_link_article(kind, id), post->card_description);
        return;
    }
    snprintf(post->card_title, sizeof post->card_title, "The %s & the %s: \"part %u\"",
             words[draw_below(draw, 26)], words[draw_below(draw, 26)], draw_below(draw, 9));
    snprintf(post->card_description, sizeof post->card_description, "All about <%s> in %s",
             words[draw_below(draw, 26)], words[draw_below(draw, 26)]);
}

static void say_shape(const struct world *world, struct post *post, struct draw *draw)
{
    enum post_shape shape = post->outline.shape;
    say_something(world, post, draw);
    say_tag(post, draw);
    bool in_text = shape != SHAPE_CARD && shape != SHAPE_QUOTE_AND_CARD;
    for (unsigned i = 0; in_text && i < post->outline.share_count; i++) {
        if (i == 1)
            say(post, world_settings(world)->press ? "and" : "🌊");
        say_link(world, post, draw, i);
    }
    post->has_card = has_card(shape);
    if (post->has_card)
        add_card(world, post, draw);
}

int64_t post_created_us(const struct world *world, uint32_t k)
{
    const struct world_event *event = world_event(world, k);
    struct draw draw = draw_make(world_settings(world)->seed, k, SALT_NAME);
    uint32_t dice = draw_below(&draw, 200);
    int64_t lag_us = 200000 + (int64_t)draw_below(&draw, 1500000);
    /* Clients lie: some dates are years old, a few lie in the future. */
    if (dice == 0)
        lag_us += 400LL * 86400 * 1000000;
    else if (dice == 1)
        lag_us = -3600LL * 1000000;
    int64_t us = event->time_us - lag_us;
    return us < 0 ? 0 : us / 1000 * 1000;
}

void post_compose(const struct world *world, uint32_t k, struct post *post)
{
    static const char *const langs[] = {"en", "en", "en", "de", "ja", "pt"};
    const struct world_event *event = world_event(world, k);
    struct draw draw = draw_make(world_settings(world)->seed, k, SALT_POST);
    post_outline_make(world, k, &post->outline);
    draw_next(&draw);
    post->text_len = 0;
    post->link_count = 0;
    post->tag_begin = post->tag_end = 0;
    post->langs[0] = langs[draw_below(&draw, COUNT_OF(langs))];
    post->langs[1] = "pt-BR";
    post->lang_count = k % 11 == 0 ? 0 : k % 7 == 0 ? 2 : 1;
    post->listed_tag = k % 13 == 0 ? "high \"water\"" : k % 17 == 0 ? POST_MARKED_TAG : NULL;
    post->created_us = post_created_us(world, event->kind == EVENT_UPDATE ? event->subject : k);
    if (event->kind == EVENT_UPDATE)
        say(post, "(edited)");
    say_shape(world, post, &draw);
}
