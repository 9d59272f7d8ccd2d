/* SPDX-License-Identifier: Apache-2.0
 *
 * post_stock.h - posts as a busy network sends them, made from a seed.
 *
 * The same count gives the same posts. They come in commits of STOCK_COMMIT_POSTS, each made of
 * STOCK_BATCHES batches; every batch brings one stream's cursor forward. Ingest numbers are
 * therefore known beforehand: one per post and one per commit for the cursor. */
#ifndef BENCH_POST_STOCK_H
#define BENCH_POST_STOCK_H

#include "base/bytes.h"

#define STOCK_ACTORS       10000
#define STOCK_BATCH_POSTS  249 /* and a cursor: four of them are a commit's 1,000 records */
#define STOCK_BATCHES      4
#define STOCK_COMMIT_POSTS (STOCK_BATCH_POSTS * STOCK_BATCHES)
#define STOCK_COLLECTION   "app.bsky.feed.post"
#define STOCK_SOURCE       "jetstream"
#define STOCK_STREAM       "live"
#define STOCK_STATE_MAX    320

struct stock_post {
    uint32_t actor;
    bool actor_is_new; /* nobody before it in the stock */
    char rkey[16], rev[16];
    int64_t shared_us, created_us;
    size_t text_at, text_len;
    int64_t n;        /* its ingest number */
    int64_t actor_id; /* the ingest number of the actor's first post */
};

struct post_stock {
    struct stock_post *posts;
    size_t commits, count;
    char (*dids)[40];
    struct text text;
};

void post_stock_init(struct post_stock *stock, size_t commits);
void post_stock_deinit(struct post_stock *stock);
struct bytes post_stock_text(const struct post_stock *stock, const struct stock_post *post);
/* The cursor's state as it stands after `posts` posts; its position is the last one's time. */
struct bytes post_stock_state(const struct post_stock *stock, size_t posts,
                              char out[STOCK_STATE_MAX]);

#endif
