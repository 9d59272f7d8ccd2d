/* SPDX-License-Identifier: Apache-2.0
 *
 * page_frame.h - what all pages have in common: head, banner, foot, and how a time is said.
 *
 * Pages are whole without scripts: these only add to them. Nothing on a page comes from elsewhere,
 * and the policy that is sent with it says so to the browser.
 *
 * Pure but for its constants; any thread. */
#ifndef SERVE_PAGE_FRAME_H
#define SERVE_PAGE_FRAME_H

#include "base/json.h"
#include "base/markup.h"

struct refusal;
struct request;

/* No inline script or style, nothing from elsewhere, and no text that becomes markup. */
#define PAGE_POLICY                                                                                \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "                    \
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; "               \
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
#define PAGE_TYPE "text/html; charset=utf-8"

enum page_place { PAGE_NEWS, PAGE_STATUS, PAGE_OTHER };

struct page_head {
    const char *title;
    const char *script;     /* the plain name of an asset; NULL: none */
    const char *class_name; /* of the body */
    const char *feed_view;  /* "?hours=6": the feeds of the same view; NULL: it has none */
    enum page_place place;
};

struct page_picture {
    const char *class_name;
    struct bytes owner, url, stead;
    int64_t width, height;
};

/* Begins the page up to where <main> is open; page_end() ends it. */
void page_begin(struct markup *page, struct text *out, const struct page_head *head);
void page_end(struct markup *page);

/* "3 h ago", and when exactly for machines; absent or no time: nothing. */
void page_put_age(struct markup *page, struct bytes time, int64_t now_us);
/* "14:02 UTC", with the day when it is not today's. */
void page_put_clock(struct markup *page, struct bytes time, int64_t now_us);
/* The picture at `url` of a link, by its id, or of a person, by the DID, as it is given out from
 * here: loaded when it is looked at, silent, of a fixed size. `stead`: a text that the style shows
 * in its place when it cannot be had; absent: none. Nothing where there can be no picture. */
void page_put_picture(struct markup *page, const struct page_picture *picture);
/* "a", "b" by a count: "1 person", "2 people". */
const char *page_plural(int64_t count, const char *one, const char *many);

/* Whether a browser asks for something to show: programs get an answer of their own kind. */
bool page_is_wanted(const struct request *request);
/* Whether `work` made what was asked for; else the request is answered. */
bool page_is_made(struct request *request);
/* Sends the page that `work` made; a route's `finish`. */
void page_finish(struct request *request);
/* Answers a person: what was refused, and where to go on. */
void page_refuse(struct request *request, const struct refusal *refusal);

#endif
