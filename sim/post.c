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
static const char *const sections[] = {"news", "science", "coast", "data", "letters"};

enum shape {
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
};

static const struct {
    uint8_t percent, shape;
} shapes[] = {{30, SHAPE_PLAIN},         {14, SHAPE_REPLY}, {12, SHAPE_LINK},
              {12, SHAPE_CARD_AND_LINK}, {6, SHAPE_CARD},   {6, SHAPE_QUOTE},
              {4, SHAPE_QUOTE_AND_CARD}, {5, SHAPE_LINKS},  {3, SHAPE_BARE},
              {3, SHAPE_REPLY_LINK},     {3, SHAPE_IMAGES}, {2, SHAPE_LONG}};

static enum shape draw_shape(struct draw *draw)
{
    uint32_t dice = draw_below(draw, 100);
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        if (dice < shapes[i].percent)
            return shapes[i].shape;
        dice -= shapes[i].percent;
    }
    return SHAPE_PLAIN;
}

void post_url(const struct world *world, uint32_t link, uint32_t spelling, char out[URL_SIZE])
{
    static const char *const tails[] = {"", "?utm_source=sky&utm_medium=social", "?id=7&ref=sky",
                                        "#top", "?a=1&b=%26&c=%3C"};
    struct draw draw = draw_make(world_settings(world)->seed, link, SALT_LINK);
    const char *section = sections[draw_below(&draw, COUNT_OF(sections))];
    snprintf(out, URL_SIZE, "%s://%spaper%u.example/%s/%08x%s", link % 10 == 0 ? "http" : "https",
             link % 7 == 0 ? "www." : "", link % 61, section, (unsigned)draw_next(&draw),
             tails[spelling % COUNT_OF(tails)]);
}

static void draw_url(const struct world *world, struct draw *draw, char out[URL_SIZE])
{
    uint32_t link = draw_skewed(draw, world_settings(world)->links);
    /* Half of the shares copy the plain address, the others bring their own tail. */
    post_url(world, link, draw_below(draw, 2) == 0 ? 0 : draw_below(draw, 5), out);
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

/* Puts a link into the text the way clients do: shortened, with a facet over what is shown. */
static void say_link(const struct world *world, struct post *post, struct draw *draw, bool bare)
{
    struct post_link *link = &post->links[post->link_count++];
    char shown[URL_SIZE];
    draw_url(world, draw, link->url);
    if (bare) {
        say(post, link->url);
        link->begin = link->end = 0;
        return;
    }
    snprintf(shown, sizeof shown, "%.24s...", strstr(link->url, "//") + 2);
    say(post, shown);
    link->end = (unsigned)post->text_len;
    link->begin = link->end - (unsigned)strlen(shown);
}

static void add_card(const struct world *world, struct post *post, struct draw *draw)
{
    if (post->link_count > 0)
        memcpy(post->card_url, post->links[0].url, URL_SIZE);
    else
        draw_url(world, draw, post->card_url);
    snprintf(post->card_title, sizeof post->card_title, "The %s & the %s: \"part %u\"",
             words[draw_below(draw, 26)], words[draw_below(draw, 26)], draw_below(draw, 9));
    snprintf(post->card_description, sizeof post->card_description, "All about <%s> in %s",
             words[draw_below(draw, 26)], words[draw_below(draw, 26)]);
}

static void fill_shape(const struct world *world, struct post *post, struct draw *draw,
                       enum shape shape)
{
    say_words(post, draw, shape == SHAPE_LONG ? 40 : 2 + draw_below(draw, 18));
    if (shape == SHAPE_LINK || shape == SHAPE_REPLY_LINK || shape == SHAPE_CARD_AND_LINK ||
        shape == SHAPE_LINKS || shape == SHAPE_BARE)
        say_link(world, post, draw, shape == SHAPE_BARE);
    if (shape == SHAPE_LINKS) {
        say(post, "🌊");
        say_link(world, post, draw, false);
        if (draw_below(draw, 2) == 0)
            say_link(world, post, draw, false);
    }
    if (shape == SHAPE_CARD || shape == SHAPE_CARD_AND_LINK || shape == SHAPE_QUOTE_AND_CARD)
        add_card(world, post, draw);
    post->is_reply = shape == SHAPE_REPLY || shape == SHAPE_REPLY_LINK;
    post->embed = shape == SHAPE_QUOTE                                  ? EMBED_RECORD
                  : shape == SHAPE_QUOTE_AND_CARD                       ? EMBED_RECORD_WITH_MEDIA
                  : shape == SHAPE_CARD || shape == SHAPE_CARD_AND_LINK ? EMBED_EXTERNAL
                  : shape == SHAPE_IMAGES                               ? EMBED_IMAGES
                                                                        : EMBED_NONE;
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
    uint32_t root = event->kind == EVENT_UPDATE ? event->subject : k;
    uint64_t seed = world_settings(world)->seed;
    struct draw shape = draw_make(seed, root, SALT_POST), draw = draw_make(seed, k, SALT_POST);
    assert(event->collection == COLLECTION_POST && event->kind != EVENT_DELETE);
    draw_next(&draw);
    post->text_len = 0;
    post->link_count = 0;
    post->card_url[0] = '\0';
    post->subject = world_event(world, root)->subject;
    post->lang = langs[draw_below(&draw, COUNT_OF(langs))];
    post->created_us = post_created_us(world, root);
    if (event->kind == EVENT_UPDATE)
        say(post, "(edited)");
    fill_shape(world, post, &draw, draw_shape(&shape));
    if (post->subject == WORLD_NONE) {
        post->is_reply = false;
        if (post->embed == EMBED_RECORD || post->embed == EMBED_RECORD_WITH_MEDIA)
            post->embed = post->embed == EMBED_RECORD ? EMBED_NONE : EMBED_EXTERNAL;
    }
}
