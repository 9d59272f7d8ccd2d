/* SPDX-License-Identifier: Apache-2.0 */
#include "post_stock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_US       INT64_C(1754954792374000)
#define TEXT_BYTES_MIN 60
#define TEXT_BYTES_MAX 240
#define TID_LETTERS    "234567abcdefghijklmnopqrstuvwxyz"

static uint64_t next_random(void)
{
    static uint64_t state = 42;
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return state >> 33;
}

static void make_did(char did[40])
{
    size_t at = (size_t)snprintf(did, 40, "did:plc:");
    for (int i = 0; i < 24; i++)
        did[at++] = TID_LETTERS[next_random() % 32];
    did[at] = '\0';
}

/* A timestamp identifier: microseconds and a clock's number, five bits a letter. */
static void make_tid(char tid[16], int64_t time_us)
{
    uint64_t bits = (uint64_t)time_us << 10 | next_random() % 1024;
    for (int i = 12; i >= 0; i--, bits >>= 5)
        tid[i] = TID_LETTERS[bits % 32];
    tid[13] = '\0';
}

static void make_text(struct text *text, struct stock_post *post)
{
    static const char *const words[] = {"the ",     "morning ", "news ",  "is ",
                                        "that ",    "people ",  "share ", "links, ",
                                        "\"and\" ", "so on ",   "über ",  "今日 "};
    size_t len = TEXT_BYTES_MIN + next_random() % (TEXT_BYTES_MAX - TEXT_BYTES_MIN);
    post->text_at = text->len;
    while (text->len - post->text_at < len)
        text_append_string(text, words[next_random() % (sizeof words / sizeof words[0])]);
    post->text_len = text->len - post->text_at;
}

void post_stock_init(struct post_stock *stock, size_t commits)
{
    int64_t first_n[STOCK_ACTORS] = {0}, time_us = FIRST_US;
    *stock = (struct post_stock){.commits = commits, .count = commits * STOCK_COMMIT_POSTS};
    stock->posts = memory_new_zeroed(stock->count, sizeof *stock->posts);
    stock->dids = memory_new_zeroed(STOCK_ACTORS, sizeof *stock->dids);
    for (size_t i = 0; i < STOCK_ACTORS; i++)
        make_did(stock->dids[i]);
    for (size_t i = 0; i < stock->count; i++) {
        struct stock_post *post = &stock->posts[i];
        time_us += 500 + (int64_t)(next_random() % 1000);
        post->actor = (uint32_t)(next_random() % STOCK_ACTORS);
        post->shared_us = time_us;
        post->created_us = time_us - (int64_t)(next_random() % 2000000);
        make_tid(post->rkey, post->created_us);
        make_tid(post->rev, time_us);
        make_text(&stock->text, post);
        post->n = 1 + (int64_t)(i + i / STOCK_COMMIT_POSTS);
        post->actor_is_new = first_n[post->actor] == 0;
        if (post->actor_is_new)
            first_n[post->actor] = post->n;
        post->actor_id = first_n[post->actor];
    }
}

void post_stock_deinit(struct post_stock *stock)
{
    free(stock->posts);
    free(stock->dids);
    text_free(&stock->text);
}

struct bytes post_stock_text(const struct post_stock *stock, const struct stock_post *post)
{
    return bytes_make(stock->text.data + post->text_at, post->text_len);
}

struct bytes post_stock_state(const struct post_stock *stock, size_t posts,
                              char out[STOCK_STATE_MAX])
{
    int len = snprintf(out, STOCK_STATE_MAX,
                       "{\"primary\":{\"type\":\"timeUs\",\"value\":%" PRId64 "},"
                       "\"lastTransactionId\":\"%s\",\"totalFetched\":%zu,"
                       "\"metadata\":{\"providerName\":\"host.example\",\"updatedAt\":%" PRId64
                       ",\"isComplete\":false}}",
                       stock->posts[posts - 1].shared_us, stock->posts[posts - 1].rkey, posts,
                       stock->posts[posts - 1].shared_us / 1000);
    return bytes_make(out, (size_t)len);
}
