/* SPDX-License-Identifier: Apache-2.0
 *
 * post_links.h - every link that a post shares, and where in the post it stands.
 *
 * Read from the post's record: the card it carries (also beside a quoted post), the links of its
 * rich text, and addresses that stand plainly in the text outside of those. One link per identity:
 * met again it gains the other place, the card, and a gift that it lacked. The card's link comes
 * first, then rich text, then text, each in the order of the post.
 *
 * Strings are taken as the JSON gives them. Nothing is unescaped a second time: an "&amp;" that is
 * still there was written by somebody (the identity knows what to make of one in a query).
 *
 * Never fails on a stranger's account: what is malformed is passed over, what does not fit is
 * counted. Pure; any thread. */
#ifndef DECODE_POST_LINKS_H
#define DECODE_POST_LINKS_H

#include "base/arena.h"
#include "base/json.h"
#include "decode/url_identity.h"

#define POST_LINKS_MAX            32
#define POST_LINKS_LOOKED_AT      256   /* addresses of one post; the rest is only counted */
#define POST_TEXT_LOOKED_AT       16384 /* bytes of its text; a valid post has 3000 at most */
#define POST_CARD_TITLE_MAX       512
#define POST_CARD_DESCRIPTION_MAX 2048

enum post_link_via {
    POST_LINK_CARD = 1 << 0,
    POST_LINK_FACET = 1 << 1,
    POST_LINK_TEXT = 1 << 2,
};

struct post_link {
    struct bytes normalized; /* as url_identity has them */
    struct bytes reader;
    struct bytes host, domain;
    unsigned flags;                  /* enum url_flag */
    unsigned via;                    /* enum post_link_via */
    struct bytes title, description; /* of the card, fit to be shown; absent: it says nothing */
    struct bytes thumb;              /* the CID of the card's picture; absent without one */
};

struct post_links {
    struct post_link links[POST_LINKS_MAX];
    size_t count;
    size_t left_out; /* more than fit, or than were looked at; the rest of a text counts as one */
    size_t refused;  /* no http or https address */
    struct bytes quote; /* at:// address of the post this one quotes, or absent */
};

void post_links_clear(struct post_links *links);
/* Reads the `record` of a post. What `out` points at lies in `arena`. RC_AGAIN: the arena is full,
 * and as it was before. */
must_check enum rc post_links_read(struct json record, struct arena *arena, struct post_links *out);

#endif
