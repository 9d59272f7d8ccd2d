/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads Jetstream-like events through the product's JSON reader and through the bare library, in
 * turns, and compares the best round of each. */
#include "base/arena.h"
#include "base/json.h"
#include "base/json_write.h"
#include "event_fields.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EVENTS 20000
#define ROUNDS 25
#define GOAL   0.9

struct stock {
    struct text text;
    size_t start[EVENTS + 1];
};

static struct json_doc *doc;

static uint64_t next_random(void)
{
    static uint64_t state = 42;
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return state >> 33;
}

static const char *random_letters(int count)
{
    static char out[64];
    for (int i = 0; i < count; i++)
        out[i] = "abcdefghijklmnopqrstuvwxyz234567"[next_random() % 32];
    out[count] = '\0';
    return out;
}

static void put_pair(struct json_writer *writer, const char *key, const char *value)
{
    json_key(writer, key);
    json_put_cstring(writer, value);
}

static void put_like(struct json_writer *writer)
{
    char uri[128];
    put_pair(writer, "$type", "app.bsky.feed.like");
    put_pair(writer, "createdAt", "2025-08-11T23:26:32.374Z");
    json_key(writer, "subject");
    json_begin_object(writer);
    put_pair(writer, "cid", random_letters(59));
    snprintf(uri, sizeof uri, "at://did:plc:%s/app.bsky.feed.post/3lw5k2n7xyz2a",
             random_letters(24));
    put_pair(writer, "uri", uri);
    json_end_object(writer);
}

static void put_embed(struct json_writer *writer)
{
    char uri[128];
    json_key(writer, "embed");
    json_begin_object(writer);
    put_pair(writer, "$type", "app.bsky.embed.external");
    json_key(writer, "external");
    json_begin_object(writer);
    put_pair(writer, "description", "What the page says of itself, at some length \"quoted\".");
    put_pair(writer, "title", "A title");
    snprintf(uri, sizeof uri, "https://news.example.com/%s", random_letters(20));
    put_pair(writer, "uri", uri);
    json_end_object(writer);
    json_end_object(writer);
}

static void put_facets(struct json_writer *writer)
{
    char uri[128];
    json_key(writer, "facets");
    json_begin_array(writer);
    for (uint64_t i = 1 + next_random() % 2; i > 0; i--) {
        json_begin_object(writer);
        json_key(writer, "features");
        json_begin_array(writer);
        json_begin_object(writer);
        put_pair(writer, "$type", "app.bsky.richtext.facet#link");
        snprintf(uri, sizeof uri, "https://example.org/%s", random_letters(16));
        put_pair(writer, "uri", uri);
        json_end_object(writer);
        json_end_array(writer);
        json_key(writer, "index");
        json_begin_object(writer);
        json_key(writer, "byteEnd");
        json_put_i64(writer, 64);
        json_key(writer, "byteStart");
        json_put_i64(writer, 40);
        json_end_object(writer);
        json_end_object(writer);
    }
    json_end_array(writer);
}

static void put_post(struct json_writer *writer)
{
    static const char *const texts[] = {
        "Good morning", "Two lines\nof text, and a \"quotation\" in it",
        "速報: 今日の天気は晴れです 🌤️ 詳しくはこちら",
        "A longer post that says what the linked article is about, in the three hundred characters "
        "there are, and then some more of it because people like to fill the space they are "
        "given."};
    put_pair(writer, "$type", "app.bsky.feed.post");
    put_pair(writer, "createdAt", "2025-08-11T23:26:32.374Z");
    if (next_random() % 2 == 0)
        put_embed(writer);
    if (next_random() % 3 == 0)
        put_facets(writer);
    json_key(writer, "langs");
    json_begin_array(writer);
    json_put_cstring(writer, "en");
    json_end_array(writer);
    put_pair(writer, "text", texts[next_random() % 4]);
}

static void put_event(struct json_writer *writer, int64_t time_us, bool post)
{
    char did[64];
    snprintf(did, sizeof did, "did:plc:%s", random_letters(24));
    json_begin_object(writer);
    put_pair(writer, "did", did);
    json_key(writer, "time_us");
    json_put_i64(writer, time_us);
    put_pair(writer, "kind", "commit");
    json_key(writer, "commit");
    json_begin_object(writer);
    put_pair(writer, "rev", random_letters(13));
    put_pair(writer, "operation", "create");
    put_pair(writer, "collection", post ? "app.bsky.feed.post" : "app.bsky.feed.like");
    put_pair(writer, "rkey", random_letters(13));
    json_key(writer, "record");
    json_begin_object(writer);
    post ? put_post(writer) : put_like(writer);
    json_end_object(writer);
    put_pair(writer, "cid", random_letters(59));
    json_end_object(writer);
    json_end_object(writer);
}

static void make_stock(struct stock *stock)
{
    for (size_t i = 0; i < EVENTS; i++) {
        struct json_writer writer;
        stock->start[i] = stock->text.len;
        json_writer_init(&writer, &stock->text);
        put_event(&writer, INT64_C(1754954792374000) + (int64_t)i * 997, next_random() % 5 == 0);
    }
    stock->start[EVENTS] = stock->text.len;
    memset(text_reserve(&stock->text, ARENA_PAD), 0, ARENA_PAD);
}

static void take_links(struct json record, struct event_fields *out)
{
    struct json_walk facets = json_walk(json_get(record, "facets"));
    struct json facet, feature;
    struct bytes key;
    while (json_walk_next(&facets, &key, &facet)) {
        struct json_walk features = json_walk(json_get(facet, "features"));
        while (json_walk_next(&features, &key, &feature)) {
            struct bytes uri = json_string_or_absent(json_get(feature, "uri"));
            if (uri.data != NULL && out->link_count < EVENT_LINKS_MAX)
                out->links[out->link_count++] = uri;
        }
    }
}

static bool product_extract(struct bytes input, struct event_fields *out)
{
    struct json root;
    if (json_parse(doc, input, &root, NULL) != RC_OK)
        return false;
    out->did = json_string_or_absent(json_get(root, "did"));
    out->kind = json_string_or_absent(json_get(root, "kind"));
    if (!json_i64(json_get(root, "time_us"), &out->time_us))
        out->time_us = 0;
    struct json commit = json_get(root, "commit");
    out->operation = json_string_or_absent(json_get(commit, "operation"));
    out->collection = json_string_or_absent(json_get(commit, "collection"));
    out->rkey = json_string_or_absent(json_get(commit, "rkey"));
    struct json record = json_get(commit, "record");
    out->text = json_string_or_absent(json_get(record, "text"));
    out->created_at = json_string_or_absent(json_get(record, "createdAt"));
    struct json external = json_get(json_get(record, "embed"), "external");
    out->embed_uri = json_string_or_absent(json_get(external, "uri"));
    take_links(record, out);
    return true;
}

static uint64_t fold(uint64_t sum, struct bytes field)
{
    sum = sum * 31 + field.len;
    return field.len == 0 ? sum : sum * 31 + (unsigned char)field.data[field.len - 1];
}

typedef bool extract_fn(struct bytes input, struct event_fields *out);

/* Seconds for the whole stock; `*sum` is the same for whoever reads the same fields. */
static double run_round(const struct stock *stock, extract_fn *extract, uint64_t *sum)
{
    struct timespec before, after;
    *sum = 0;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    for (size_t i = 0; i < EVENTS; i++) {
        struct event_fields fields = {0};
        size_t len = stock->start[i + 1] - stock->start[i];
        bool read = extract(bytes_make(stock->text.data + stock->start[i], len), &fields);
        assert(read);
        const struct bytes all[] = {fields.did,  fields.kind, fields.operation,  fields.collection,
                                    fields.rkey, fields.text, fields.created_at, fields.embed_uri};
        for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
            *sum = fold(*sum, all[k]);
        for (size_t k = 0; k < fields.link_count; k++)
            *sum = fold(*sum, fields.links[k]);
        *sum += (uint64_t)fields.time_us;
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    return (double)(after.tv_sec - before.tv_sec) + (double)(after.tv_nsec - before.tv_nsec) / 1e9;
}

int main(void)
{
    static struct stock stock;
    double product = 1e9, floor = 1e9;
    make_stock(&stock);
    doc = json_doc_new((size_t)1 << 20, JSON_DEPTH_MAX);
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t product_sum, floor_sum;
        double seconds = run_round(&stock, floor_extract, &floor_sum);
        floor = seconds < floor ? seconds : floor;
        seconds = run_round(&stock, product_extract, &product_sum);
        product = seconds < product ? seconds : product;
        assert(product_sum == floor_sum);
    }
    double megabytes = (double)stock.text.len / 1e6;
    double ratio = floor / product;
    printf("{\"name\":\"json_extract\",\"value\":%.1f,\"unit\":\"MB/s\",\"against\":%.1f,"
           "\"ratio\":%.3f,\"goal\":%.1f,\"ok\":%s}\n",
           megabytes / product, megabytes / floor, ratio, GOAL, ratio >= GOAL ? "true" : "false");
    json_doc_free(doc);
    text_free(&stock.text);
    return ratio >= GOAL ? 0 : 1;
}
