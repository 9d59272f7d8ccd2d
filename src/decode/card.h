/* SPDX-License-Identifier: Apache-2.0
 *
 * card.h - what a web page says of itself: title, description, picture, its own address.
 *
 * Reads the head of an HTML page piece by piece as it arrives, never builds a tree, and wants no
 * more once it has met the body or CARD_PAGE_MAX bytes. A page without Open Graph or Twitter tags
 * in its head is read a little further, because some put them in the body; nothing else counts
 * there.
 *
 * Words come out as card_text makes them, references decoded once. Of several words for one thing
 * Open Graph wins, then Twitter, then the page's own. Addresses are absolute, http or https, and a
 * public page's picture is never on a private network.
 *
 * The bytes may be anything: no entity is fetched or expanded beyond HTML's own, nesting and
 * lengths are bounded, a declared character set is used only when it is one of the web's.
 *
 * Owner: the caller. Any thread, one at a time. Touches the disk only where the C library loads the
 * table of a rare character set. */
#ifndef DECODE_CARD_H
#define DECODE_CARD_H

#include "decode/url_identity.h"

#define CARD_PAGE_MAX        (1024 * 1024)
#define CARD_TITLE_MAX       512
#define CARD_DESCRIPTION_MAX 2048
#define CARD_SITE_MAX        128

/* Absent where the page says nothing. */
struct card {
    struct bytes title, description, site_name;
    struct bytes image;
    struct bytes canonical; /* <link rel=canonical> */
    struct bytes og_url;
};

struct card_reader;

/* True for what may hold a card: HTML, XHTML, or nothing said. */
bool card_reads(struct bytes content_type);
/* `page` is the address the bytes came from, after redirects; addresses are read relative to it.
 * `content_type` is the header's value, or absent. */
struct card_reader *card_reader_new(struct bytes page, struct bytes content_type);
void card_reader_free(struct card_reader *reader);
/* False: enough was read, the rest need not be fetched. */
bool card_reader_feed(struct card_reader *reader, struct bytes piece);
/* The card; its bytes live as long as the reader. Call it once, after the last piece. */
void card_reader_finish(struct card_reader *reader, struct card *card);

/* The identity that the page gives itself, when that can be believed: the same registered domain,
 * an article, and not the front page for whatever is not the front page. */
must_check bool card_identity(const struct card *card, const struct url_identity *page,
                              struct url_identity *out);

#endif
