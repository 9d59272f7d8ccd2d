/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads addresses as posts have them: with our parser, with all that makes an identity, and with
 * libcurl's parser, in turns. libcurl does less: it folds neither case nor escapes nor names. */
#include "decode/url_identity.h"

#include <assert.h>
#include <curl/curl.h>
#include <stdio.h>
#include <time.h>

#define PASSES 4000
#define ROUNDS 15
#define GOAL   0.8 /* of the speed of libcurl's parser */

static const char *const addresses[] = {
    "https://www.nytimes.com/2025/08/11/us/a-story.html?unlocked_article_code=1.dk8.Ab&smid=share",
    "https://www.theguardian.com/world/2025/aug/11/another-story-with-a-slug?CMP=share_btn_url",
    "https://youtu.be/dQw4w9WgXcQ?si=AbCdEfGhIjKlMnOp",
    "https://apnews.com/article/slug-0123456789abcdef0123456789abcdef",
    "https://bsky.app/profile/someone.bsky.social/post/3lw5k2n7xyz2a",
    "https://author.substack.com/p/a-newsletter?utm_source=share&utm_medium=android&r=abc12",
    "https://en.m.wikipedia.org/wiki/Tide_(disambiguation)#See_also",
    "https://media.tenor.com/AbCdEfGh/a-reaction.gif?hh=280&ww=498",
    "https://www.bbc.co.uk/news/articles/c0123456789o?at_medium=RSS&at_campaign=rss",
    "http://example.com/",
    "https://web.archive.org/web/20250811000000/https://www.example.com/news/1?x=1&y=2",
    "https://www.washingtonpost.com/technology/2025/08/11/story/?utm_campaign=wp_main&itid=hp",
};
#define COUNT (sizeof addresses / sizeof addresses[0])

typedef void read_fn(const char *address);

static void parse(const char *address)
{
    struct url url;
    enum rc rc = url_parse(bytes_of(address), &url, NULL);
    assert(rc == RC_OK);
}

static void normalize(const char *address)
{
    struct url_identity identity;
    enum rc rc = url_normalize(bytes_of(address), &identity, NULL);
    assert(rc == RC_OK);
}

static void parse_with_curl(const char *address)
{
    CURLU *handle = curl_url();
    CURLUcode code = curl_url_set(handle, CURLUPART_URL, address, 0);
    assert(code == CURLUE_OK);
    curl_url_cleanup(handle);
}

/* Nanoseconds for one address. */
static double run_round(read_fn *read)
{
    struct timespec before, after;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    for (int pass = 0; pass < PASSES; pass++)
        for (size_t i = 0; i < COUNT; i++)
            read(addresses[i]);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    double ns =
        (double)(after.tv_sec - before.tv_sec) * 1e9 + (double)(after.tv_nsec - before.tv_nsec);
    size_t count = COUNT;
    return ns / ((double)PASSES * (double)count);
}

int main(void)
{
    static read_fn *const readers[] = {parse, normalize, parse_with_curl};
    double best[3] = {1e12, 1e12, 1e12};
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < 3; i++) {
            double ns = run_round(readers[i]);
            best[i] = ns < best[i] ? ns : best[i];
        }
    bool ok = best[2] / best[0] >= GOAL;
    printf("{\"name\":\"url_parse\",\"value\":%.0f,\"unit\":\"ns\",\"against\":%.0f,"
           "\"ratio\":%.2f,\"goal\":%.1f,\"ok\":%s}\n",
           best[0], best[2], best[2] / best[0], GOAL, ok ? "true" : "false");
    printf("{\"name\":\"url_normalize\",\"value\":%.0f,\"unit\":\"ns\",\"against\":%.0f,"
           "\"ratio\":%.2f,\"goal\":null,\"ok\":true}\n",
           best[1], best[2], best[2] / best[1]);
    return ok ? 0 : 1;
}
