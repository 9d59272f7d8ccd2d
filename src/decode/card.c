/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/card.h"

#include "decode/card_charset.h"
#include "decode/card_text.h"
#include "decode/url_text.h"

#include <assert.h>
#include <libxml/HTMLparser.h>
#include <stdlib.h>
#include <string.h>

#define SLICE_MAX   1024  /* handed to the parser at once, whatever the pieces of the page */
#define DEPTH_MAX   256   /* elements inside each other */
#define PARTS_MAX   2048  /* of one tag: the parser compares each attribute with all others */
#define VALUE_MAX   8192  /* of one attribute, or of the title, before it is cleaned */
#define BEYOND_BODY 65536 /* how far a body is searched when the head had no tags */

enum slot {
    OG_TITLE,
    TWITTER_TITLE,
    PAGE_TITLE,
    OG_DESCRIPTION,
    TWITTER_DESCRIPTION,
    PAGE_DESCRIPTION,
    SITE_NAME,
    OG_IMAGE,
    OG_IMAGE_SECURE,
    TWITTER_IMAGE,
    OG_URL,
    CANONICAL,
    BASE,
    SLOTS
};

struct card_reader {
    struct url page;
    bool page_known;
    char *content_type;
    struct text head; /* the first bytes, until the character set is chosen */
    struct card_charset *charset;
    struct text utf8; /* what is not parsed yet */
    htmlParserCtxtPtr parser;
    size_t taken;   /* bytes of the page */
    size_t parsed;  /* the same as UTF-8 */
    size_t body_at; /* `parsed` when the body began; 0: not yet */
    unsigned depth;
    size_t tag_at, tag_seen; /* in `parsed`: a tag without an end, how far it was looked at */
    size_t tag_parts;
    bool in_title, in_script, done;
    struct text values[SLOTS]; /* as the page has them; the first that is not empty stays */
    struct text out[6];        /* as the card has them */
};

static const struct {
    const char *name;
    enum slot slot;
} tags[] = {
    {"description", PAGE_DESCRIPTION},
    {"og:description", OG_DESCRIPTION},
    {"og:image", OG_IMAGE},
    {"og:image:secure_url", OG_IMAGE_SECURE},
    {"og:image:url", OG_IMAGE},
    {"og:site_name", SITE_NAME},
    {"og:title", OG_TITLE},
    {"og:url", OG_URL},
    {"twitter:description", TWITTER_DESCRIPTION},
    {"twitter:image", TWITTER_IMAGE},
    {"twitter:image:src", TWITTER_IMAGE},
    {"twitter:title", TWITTER_TITLE},
};

static void put_value(struct card_reader *reader, enum slot slot, const char *value)
{
    size_t len = strlen(value);
    if (reader->values[slot].len > 0)
        return;
    text_append(&reader->values[slot], value, len < VALUE_MAX ? len : VALUE_MAX);
}

/* The value of an attribute, or "". */
static const char *attribute(const xmlChar **attributes, const char *name)
{
    for (; attributes != NULL && attributes[0] != NULL; attributes += 2)
        if (strcmp((const char *)attributes[0], name) == 0 && attributes[1] != NULL)
            return (const char *)attributes[1];
    return "";
}

static void read_tag(struct card_reader *reader, const char *name, const char *content)
{
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++)
        if (url_equals_lower(bytes_of(name), bytes_of(tags[i].name)))
            put_value(reader, tags[i].slot, content);
}

static void read_meta(struct card_reader *reader, const xmlChar **attributes)
{
    const char *content = attribute(attributes, "content");
    read_tag(reader, attribute(attributes, "property"), content);
    read_tag(reader, attribute(attributes, "name"), content);
}

/* One of the words of `list` is `word`. */
static bool has_word(const char *list, const char *word)
{
    while (*list != '\0') {
        size_t len = strcspn(list, " \t\r\n\f");
        if (url_equals_lower(bytes_make(list, len), bytes_of(word)))
            return true;
        list += len + (list[len] != '\0');
    }
    return false;
}

static bool tagged(const struct card_reader *reader)
{
    return reader->values[OG_TITLE].len > 0 || reader->values[TWITTER_TITLE].len > 0;
}

static bool begins_body(const char *name)
{
    static const char *const names[] = {"article",  "body", "div",     "footer", "form",
                                        "frameset", "h1",   "h2",      "header", "main",
                                        "nav",      "p",    "section", "table",  "ul"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static void on_start(void *ctx, const xmlChar *element, const xmlChar **attributes)
{
    struct card_reader *reader = ctx;
    const char *name = (const char *)element;
    if (reader->done)
        return;
    reader->depth++;
    reader->in_title = false;
    reader->in_script = strcmp(name, "script") == 0 || strcmp(name, "style") == 0;
    if (reader->body_at == 0 && begins_body(name))
        reader->body_at = reader->parsed;
    if (reader->depth > DEPTH_MAX || (reader->body_at > 0 && tagged(reader))) {
        reader->done = true;
        return;
    }
    if (strcmp(name, "meta") == 0)
        read_meta(reader, attributes);
    if (reader->body_at > 0)
        return;
    if (strcmp(name, "title") == 0)
        reader->in_title = reader->values[PAGE_TITLE].len == 0;
    else if (strcmp(name, "base") == 0)
        put_value(reader, BASE, attribute(attributes, "href"));
    else if (strcmp(name, "link") == 0 && has_word(attribute(attributes, "rel"), "canonical"))
        put_value(reader, CANONICAL, attribute(attributes, "href"));
}

static void on_end(void *ctx, const xmlChar *element)
{
    struct card_reader *reader = ctx;
    if (reader->depth > 0)
        reader->depth--;
    reader->in_script = false;
    if (strcmp((const char *)element, "title") == 0)
        reader->in_title = false;
}

static void on_text(void *ctx, const xmlChar *text, int len)
{
    struct card_reader *reader = ctx;
    struct text *title = &reader->values[PAGE_TITLE];
    if (!reader->done && reader->in_title && title->len < VALUE_MAX)
        text_append(title, text,
                    (size_t)len < VALUE_MAX - title->len ? (size_t)len : VALUE_MAX - title->len);
}

static char *copy_string(struct bytes bytes)
{
    struct text text = {0};
    text_append(&text, bytes.data == NULL ? "" : bytes.data, bytes.len);
    return text.data;
}

bool card_reads(struct bytes content_type)
{
    size_t len = 0;
    while (len < content_type.len && content_type.data[len] != ';' &&
           (unsigned char)content_type.data[len] > ' ')
        len++;
    struct bytes type = bytes_make(content_type.data, len);
    return len == 0 || url_equals_lower(type, bytes_of("text/html")) ||
           url_equals_lower(type, bytes_of("application/xhtml+xml"));
}

struct card_reader *card_reader_new(struct bytes page, struct bytes content_type)
{
    static htmlSAXHandler handler = {
        .startElement = on_start, .endElement = on_end, .characters = on_text};
    struct card_reader *reader = memory_new_zeroed(1, sizeof *reader);
    reader->page_known = url_parse(page, &reader->page, NULL) == RC_OK;
    reader->content_type = copy_string(content_type);
    reader->parser =
        htmlCreatePushParserCtxt(&handler, reader, NULL, 0, NULL, XML_CHAR_ENCODING_UTF8);
    if (reader->parser == NULL)
        abort(); /* no memory: a crash is a supported operation */
    htmlCtxtUseOptions(reader->parser, HTML_PARSE_RECOVER | HTML_PARSE_NODEFDTD |
                                           HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING |
                                           HTML_PARSE_NONET | HTML_PARSE_NOIMPLIED |
                                           HTML_PARSE_IGNORE_ENC);
    /* A root that stays open: the parser takes what follows the end of a root for the end. */
    htmlParseChunk(reader->parser, "<html>", 6, 0);
    return reader;
}

void card_reader_free(struct card_reader *reader)
{
    if (reader == NULL)
        return;
    if (reader->parser->myDoc != NULL)
        xmlFreeDoc(reader->parser->myDoc);
    htmlFreeParserCtxt(reader->parser);
    card_charset_free(reader->charset);
    free(reader->content_type);
    text_free(&reader->head);
    text_free(&reader->utf8);
    for (size_t i = 0; i < SLOTS; i++)
        text_free(&reader->values[i]);
    for (size_t i = 0; i < sizeof reader->out / sizeof reader->out[0]; i++)
        text_free(&reader->out[i]);
    free(reader);
}

/* What the parser keeps back is a tag whose end has not come, of more parts than a tag has. */
static bool drowns(struct card_reader *reader)
{
    const xmlChar *at = reader->parser->input->cur, *end = reader->parser->input->end;
    size_t start = reader->parsed - (size_t)(end - at);
    if (end - at < SLICE_MAX || reader->in_script || at[0] != '<' ||
        !url_letter_or_digit((char)at[1]))
        return false;
    if (start != reader->tag_at) {
        reader->tag_at = reader->tag_seen = start;
        reader->tag_parts = 0;
    }
    for (at += reader->tag_seen - start; at < end; at++)
        reader->tag_parts += *at <= ' ' || *at == '=';
    reader->tag_seen = reader->parsed;
    return reader->tag_parts > PARTS_MAX;
}

/* Hands UTF-8 to the parser, in slices that end with a character. How it reads a tag with quotes in
 * odd places depends on where a slice ends: the same page has the same slices. */
static void parse(struct card_reader *reader, bool last)
{
    struct bytes utf8 = text_bytes(&reader->utf8);
    size_t at = 0;
    if (utf8.len <= (last ? 0 : SLICE_MAX))
        return;
    /* A byte order mark is no text; text would begin the body. */
    if (reader->parsed == 0 && bytes_starts_with(utf8, "\xef\xbb\xbf"))
        at = 3;
    while (!reader->done && utf8.len - at > (last ? 0 : SLICE_MAX)) {
        size_t end = utf8.len - at > SLICE_MAX ? at + SLICE_MAX : utf8.len;
        while (end < utf8.len && ((unsigned char)utf8.data[end] & 0xc0) == 0x80)
            end--;
        reader->parsed += end - at;
        htmlParseChunk(reader->parser, utf8.data + at, (int)(end - at), 0);
        at = end;
        if ((reader->body_at > 0 && reader->parsed - reader->body_at > BEYOND_BODY) ||
            drowns(reader))
            reader->done = true;
    }
    reader->utf8.len -= at;
    memmove(reader->utf8.data, reader->utf8.data + at, reader->utf8.len);
}

static void take(struct card_reader *reader, struct bytes piece)
{
    card_charset_convert(reader->charset, piece, &reader->utf8);
    parse(reader, false);
}

static void choose_charset(struct card_reader *reader)
{
    struct bytes all = bytes_make(text_string(&reader->head), reader->head.len), head = all;
    if (head.len > CARD_CHARSET_HEAD) /* by so much it is chosen, whatever came in one piece */
        head.len = CARD_CHARSET_HEAD;
    reader->charset = card_charset_new(bytes_of(reader->content_type), head);
    take(reader, all);
    text_free(&reader->head);
}

bool card_reader_feed(struct card_reader *reader, struct bytes piece)
{
    assert(reader->taken <= CARD_PAGE_MAX);
    if (piece.len > CARD_PAGE_MAX - reader->taken)
        piece.len = CARD_PAGE_MAX - reader->taken;
    if (reader->done || piece.len == 0)
        return !reader->done && reader->taken < CARD_PAGE_MAX;
    reader->taken += piece.len;
    if (reader->charset != NULL) {
        take(reader, piece);
    } else {
        text_append(&reader->head, piece.data, piece.len);
        if (reader->head.len >= CARD_CHARSET_HEAD)
            choose_charset(reader);
    }
    return !reader->done && reader->taken < CARD_PAGE_MAX;
}

/* The first of `slots` that has words. */
static struct bytes put_words(struct card_reader *reader, const enum slot *slots, size_t count,
                              size_t max, struct text *out)
{
    for (size_t i = 0; i < count && out->len == 0; i++)
        out->len =
            card_text_clean(text_bytes(&reader->values[slots[i]]), text_reserve(out, max), max);
    return out->len == 0 ? BYTES_ABSENT : text_bytes(out);
}

/* The first of `slots` that is an address a page may name. */
static struct bytes put_address(struct card_reader *reader, const struct url *base,
                                const enum slot *slots, size_t count, struct text *out)
{
    struct url url;
    for (size_t i = 0; i < count && out->len == 0; i++) {
        struct bytes value = text_bytes(&reader->values[slots[i]]);
        if (value.len == 0 || value.len > URL_BYTES_MAX ||
            url_join(base, value, &url, NULL) != RC_OK)
            continue;
        if (!url_is_local(&url) || url_is_local(&reader->page))
            url_print(&url, true, out);
    }
    return out->len == 0 ? BYTES_ABSENT : text_bytes(out);
}

void card_reader_finish(struct card_reader *reader, struct card *card)
{
    static const enum slot titles[] = {OG_TITLE, TWITTER_TITLE, PAGE_TITLE};
    static const enum slot descriptions[] = {OG_DESCRIPTION, TWITTER_DESCRIPTION, PAGE_DESCRIPTION};
    static const enum slot sites[] = {SITE_NAME};
    static const enum slot images[] = {OG_IMAGE, OG_IMAGE_SECURE, TWITTER_IMAGE};
    static const enum slot canonicals[] = {CANONICAL}, og_urls[] = {OG_URL};
    struct url joined;
    const struct url *base = &reader->page;
    if (reader->charset == NULL)
        choose_charset(reader);
    parse(reader, true);
    if (!reader->done)
        htmlParseChunk(reader->parser, "", 0, 1);
    *card = (struct card){0};
    card->title = put_words(reader, titles, 3, CARD_TITLE_MAX, &reader->out[0]);
    card->description = put_words(reader, descriptions, 3, CARD_DESCRIPTION_MAX, &reader->out[1]);
    card->site_name = put_words(reader, sites, 1, CARD_SITE_MAX, &reader->out[2]);
    if (!reader->page_known)
        return;
    if (reader->values[BASE].len > 0 &&
        url_join(&reader->page, text_bytes(&reader->values[BASE]), &joined, NULL) == RC_OK)
        base = &joined;
    card->image = put_address(reader, base, images, 3, &reader->out[3]);
    card->canonical = put_address(reader, base, canonicals, 1, &reader->out[4]);
    card->og_url = put_address(reader, base, og_urls, 1, &reader->out[5]);
}

static bool believable(const struct url_identity *said, const struct url_identity *page)
{
    return bytes_equal(said->domain, page->domain) &&
           (said->flags & (URL_NO_NEWS | URL_SHORTENER)) == 0 &&
           (!url_identity_is_front_page(said) || url_identity_is_front_page(page));
}

bool card_identity(const struct card *card, const struct url_identity *page,
                   struct url_identity *out)
{
    assert(page != out);
    if (card->canonical.data != NULL && url_normalize(card->canonical, out, NULL) == RC_OK &&
        believable(out, page))
        return true;
    return card->og_url.data != NULL && url_normalize(card->og_url, out, NULL) == RC_OK &&
           believable(out, page);
}
