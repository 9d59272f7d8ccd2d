/* SPDX-License-Identifier: Apache-2.0
 *
 * url_identity.h - which article an address means, whoever shared it and however it was written.
 *
 * Two addresses of one article should give the same `normalized`; two articles never should. It is
 * a name, not a place: it is compared and stored, and it always parses, but what is fetched and
 * what a reader clicks is `reader`.
 *
 * What is folded, beyond what url_parse does:
 *   scheme and host   https for http on its own port; no closing dot; no leading www., m., mobile.
 *                     or amp. unless somebody registered just that name; known twins are one
 *   shells            links that redirectors, archives and AMP caches carry inside are unpacked
 *   escapes           one spelling per meaning
 *   path              no closing slashes, no AMP ending after what looks like an article; videos,
 *                     posts and products of a few large sites by their number
 *   query             parameters that only say where a click came from are dropped, by tables: some
 *                     everywhere, names that mean something elsewhere only on their hosts. The rest
 *                     keep their order: sites exist where it matters, and one article's links
 *                     differ in what was added to them, not in their order. "&amp;" left by
 *                     careless HTML counts as "&".
 *   fragment          dropped, unless it is a route (#!... or #/...), which names a page of its own
 *
 * Always holds: normalizing `normalized` gives it again.
 *
 * A gift (a parameter that opens a paid article to everybody) is no part of the identity but stays
 * in `reader`. `reader` is otherwise the address as it was shared, outside any redirector, less its
 * tracking parameters; of an archived copy it is the copy.
 *
 * The bytes point into the struct, so it is never copied. Owner: the caller. Pure; any thread. */
#ifndef DECODE_URL_IDENTITY_H
#define DECODE_URL_IDENTITY_H

#include "decode/url.h"

/* What an index of either store takes. */
#define URL_IDENTITY_MAX 2048

enum url_flag {
    URL_GIFT = 1 << 0,      /* `reader` opens what is otherwise paid for */
    URL_ARCHIVE = 1 << 1,   /* `reader` is an archive's copy */
    URL_SHORTENER = 1 << 2, /* stands for another address that only its server knows */
    URL_GIF = 1 << 3,       /* a reaction, no article */
    URL_IMAGE = 1 << 4,     /* a picture, no article */
    URL_SELF = 1 << 5,      /* Bluesky itself, or another face of it */
};

/* Stays out of trending. */
#define URL_NO_NEWS (URL_GIF | URL_IMAGE | URL_SELF)

struct url_identity {
    struct bytes normalized;
    struct bytes reader;
    struct bytes host;   /* of `normalized` */
    struct bytes domain; /* what somebody registered of `host` */
    unsigned flags;      /* enum url_flag */
    char normalized_room[URL_IDENTITY_MAX];
    char reader_room[URL_BYTES_MAX];
};

/* RC_REJECT: no http or https address, too long, or wrapped too often. */
must_check enum rc url_normalize(struct bytes input, struct url_identity *out, struct err *err);
/* Names a site, no page of it. */
bool url_identity_is_front_page(const struct url_identity *identity);

#endif
