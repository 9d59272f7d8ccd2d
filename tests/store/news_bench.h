/* SPDX-License-Identifier: Apache-2.0
 *
 * news_bench.h - short ways to say who posted, reposted and shared what. */
#ifndef TESTS_NEWS_BENCH_H
#define TESTS_NEWS_BENCH_H

#include "store_bench.h"

#define POSTS   "app.bsky.feed.post"
#define REPOSTS "app.bsky.feed.repost"

struct news_post {
    const char *did, *rkey, *rev; /* rev NULL: as a feed shows it, and then `asof` counts */
    int kind, op;
    int64_t shared_us, asof;
    const char *cid, *subject_did, *subject_rkey; /* NULL: none */
    bool fresh;                                   /* the live event says: created, not edited */
};

struct record *news_add_post(struct bench *bench, struct news_post post);
/* A link of that post, with its title (NULL: none). */
struct record *news_add_link(struct bench *bench, struct news_post post, const char *url,
                             const char *title);
/* Both, with a title. */
void news_add_post_with_link(struct bench *bench, struct news_post post, const char *url);
struct record *news_add_account(struct bench *bench, const char *did, int64_t at_us, int active);
/* `same_as` NULL: the page has no other address. */
struct record *news_add_card(struct bench *bench, const char *url, int64_t at_us, const char *title,
                             const char *same_as);

#endif
