/* SPDX-License-Identifier: Apache-2.0
 *
 * cards_page.h - what a fetched page says about the link it was fetched for.
 *
 * A link may turn out to be another one: a shortener stands for where it leads, a site moves an
 * article for good, a page names its own address. Nothing else is believed: a passing redirect
 * (consent, a login, the nearest mirror) says nothing about the article, and then what stands
 * there is not taken for its card either, unless it is the same host or another site.
 *
 * Owner: the cards.  Thread: the owner's.  No I/O. */
#ifndef SOURCE_CARDS_PAGE_H
#define SOURCE_CARDS_PAGE_H

#include "record_batch.h"
#include "sys/runtime.h"

#define CARDS_HOPS_MAX 10

/* How far the way to the page has led. */
struct cards_way {
    struct text address;  /* the next place to ask */
    struct text believed; /* the last one that is the link itself */
    unsigned hops;
    bool strayed; /* `address` is not believed to be the link */
};

void cards_way_begin(struct cards_way *way, struct bytes address);
void cards_way_deinit(struct cards_way *way);
/* A redirect with that status. RC_REJECT: it leads nowhere, or too far. */
must_check enum rc cards_way_follow(struct cards_way *way, int status, struct bytes location,
                                    struct err *err);

/* Adds the CARD of the link `url`. `response` is the page at the way's end; NULL: there is none,
 * and only what the way told is known. RC_AGAIN: the batch is full. */
must_check enum rc cards_page_add(struct batch *batch, struct bytes url,
                                  const struct cards_way *way, const struct http_response *response,
                                  int64_t now_us);
/* Whether the way alone shows that the link is another one. */
bool cards_way_tells(const struct cards_way *way, struct bytes url);

#endif
