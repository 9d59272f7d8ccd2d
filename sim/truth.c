/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/truth.h"
#include "sim/event_json.h"
#include "sim/post.h"

#include <assert.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

static int compare_rows(const void *left, const void *right)
{
    const struct truth_row *a = left, *b = right;
    int order = strcmp(a->did, b->did);
    if (order == 0)
        order = strcmp(world_collection_name(a->collection), world_collection_name(b->collection));
    return order != 0 ? order : strcmp(a->rkey, b->rkey);
}

static bool belongs(const struct world *world, const struct truth_scope *scope, uint32_t k)
{
    const struct world_event *event = world_event(world, k);
    const struct world_account *account = world_account(world, event->account);
    return event->kind == EVENT_CREATE && !event->gone &&
           (event->collection == COLLECTION_POST || event->collection == COLLECTION_REPOST) &&
           account->status == ACCOUNT_ACTIVE && event->time_us >= scope->from_us &&
           (scope->accounts == NULL || scope->accounts[event->account]);
}

static void put_links(const struct post *post, struct text *out)
{
    bool first = true;
    text_append_string(out, ",\"links\":[");
    for (unsigned i = 0; i < post->link_count; i++) {
        bool seen = false;
        for (unsigned j = 0; j < i; j++)
            seen = seen || strcmp(post->links[i].url, post->links[j].url) == 0;
        if (seen)
            continue;
        text_append_string(out, first ? "" : ",");
        event_json_string(out, bytes_of(post->links[i].url));
        first = false;
    }
    /* A card beside links in the text always shows the first of them. */
    if (post->has_card && first)
        event_json_string(out, bytes_of(post->card_url));
    text_append_char(out, ']');
}

static void put_range(unsigned begin, unsigned end, const char *kind, const char *value, bool first,
                      struct text *out)
{
    text_appendf(out, "%s[%u,%u,\"%s\",", first ? "" : ",", begin, end, kind);
    event_json_string(out, bytes_of(value));
    text_append_char(out, ']');
}

/* What it says about its own text: languages and tags with commas between them, then the parts of
 * the text that stand for something. */
static void put_marks(const struct post *post, struct text *out)
{
    bool first = true, marked = post->tag_end > post->tag_begin;
    bool twice =
        marked && post->listed_tag != NULL && strcmp(post->listed_tag, POST_MARKED_TAG) == 0;
    struct text tags = {0};
    for (unsigned i = 0; i < post->lang_count; i++)
        text_appendf(out, "%s%s", i == 0 ? ",\"langs\":\"" : ",", post->langs[i]);
    text_append_string(out, post->lang_count > 0 ? "\"" : "");
    if (post->listed_tag != NULL)
        text_append_string(&tags, post->listed_tag);
    if (marked && !twice)
        text_appendf(&tags, "%s" POST_MARKED_TAG, tags.len > 0 ? "," : "");
    if (tags.len > 0) {
        text_append_string(out, ",\"tags\":");
        event_json_string(out, text_bytes(&tags));
    }
    text_free(&tags);
    text_append_string(out, ",\"facets\":[");
    for (unsigned i = 0; i < post->link_count; i++) {
        const struct post_link *link = &post->links[i];
        if (link->begin == link->end)
            continue;
        put_range(link->begin, link->end, "link", link->url, first, out);
        first = false;
    }
    if (marked)
        put_range(post->tag_begin, post->tag_end, "tag", POST_MARKED_TAG, first, out);
    text_append_char(out, ']');
}

static void put_subject(const struct world *world, const char *key, uint32_t k, struct text *out)
{
    text_appendf(out, ",\"%s\":\"", key);
    event_uri(world, k, out);
    text_append_char(out, '"');
}

static void put_row(const struct world *world, const struct truth_row *row, struct text *out)
{
    const struct world_event *event = world_event(world, row->k);
    bool is_post = row->collection == COLLECTION_POST;
    char rev[TID_SIZE], created[ISO_SIZE];
    world_rev(world, event->latest, rev);
    iso_write(post_created_us(world, row->k), 3, created);
    text_appendf(out,
                 "{\"did\":\"%s\",\"collection\":\"%s\",\"rkey\":\"%s\",\"rev\":\"%s\","
                 "\"time_us\":%lld,\"updated_us\":%lld,\"kind\":\"%s\",\"createdAt\":\"%s\"",
                 row->did, world_collection_name(row->collection), row->rkey, rev,
                 (long long)event->time_us, (long long)world_event(world, event->latest)->time_us,
                 is_post ? "post" : "repost", created);
    put_subject(world, "uri", row->k, out);
    if (is_post) {
        struct post post;
        post_compose(world, event->latest, &post);
        text_append_string(out, ",\"text\":");
        event_json_string(out, bytes_make(post.text, post.text_len));
        put_marks(&post, out);
        put_links(&post, out);
        if (post_quotes(&post.outline))
            put_subject(world, "quote", post.outline.subject, out);
    } else {
        put_subject(world, "subject", event->subject, out);
    }
    text_append_string(out, "}\n");
}

struct truth_row *truth_rows(const struct world *world, const struct truth_scope *scope,
                             size_t *count)
{
    size_t found = 0, cap = 1024;
    struct truth_row *rows = memory_new(sizeof *rows * cap);
    for (uint32_t k = 0; k < world_count(world); k++) {
        if (!belongs(world, scope, k))
            continue;
        if (found == cap)
            rows = memory_resize(rows, sizeof *rows * (cap *= 2));
        rows[found] =
            (struct truth_row){.did = world_account(world, world_event(world, k)->account)->did,
                               .collection = world_event(world, k)->collection,
                               .k = k};
        world_rkey(world, k, rows[found].rkey);
        found++;
    }
    qsort(rows, found, sizeof *rows, compare_rows);
    *count = found;
    return rows;
}

static void hash_row(const struct world *world, const struct truth_row *row, EVP_MD_CTX *hash)
{
    struct text line = {0};
    char rev[TID_SIZE];
    world_rev(world, world_event(world, row->k)->latest, rev);
    event_uri(world, row->k, &line);
    text_appendf(&line, "\t%s\n", rev);
    EVP_DigestUpdate(hash, line.data, line.len);
    text_free(&line);
}

void truth_write(const struct world *world, const struct truth_scope *scope, struct text *out)
{
    size_t count, posts = 0;
    struct truth_row *rows = truth_rows(world, scope, &count);
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned digest_len = 0;
    EVP_MD_CTX *hash = EVP_MD_CTX_new();
    assert(hash != NULL);
    EVP_DigestInit_ex(hash, EVP_sha256(), NULL);
    for (size_t i = 0; i < count; i++) {
        hash_row(world, &rows[i], hash);
        posts += rows[i].collection == COLLECTION_POST;
    }
    EVP_DigestFinal_ex(hash, digest, &digest_len);
    EVP_MD_CTX_free(hash);
    text_appendf(out, "{\"records\":%zu,\"posts\":%zu,\"reposts\":%zu,\"events\":%u,\"hash\":\"",
                 count, posts, count - posts, world_count(world));
    for (unsigned i = 0; i < digest_len; i++)
        text_appendf(out, "%02x", digest[i]);
    text_append_string(out, "\"}\n");
    for (size_t i = 0; i < count && !scope->summary_only; i++)
        put_row(world, &rows[i], out);
    free(rows);
}
