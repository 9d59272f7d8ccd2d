/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/truth_link.h"
#include "sim/event_json.h"
#include "sim/post.h"
#include "sim/web_page.h"

#include <stdlib.h>
#include <string.h>

enum via { VIA_POST, VIA_QUOTE, VIA_REPOST };

static const char *const via_names[] = {"post", "quote", "repost"};

/* One post shares one address. `rank` is the place of the address among all, by its text. */
struct pair {
    uint32_t k, address, rank;
    uint8_t via;
    bool fluid;
};

struct pairs {
    const struct world *world;
    const struct truth_link_question *question;
    struct pair *items;
    size_t count, cap;
    size_t begin;     /* of the pairs of the post at hand */
    char **urls;      /* by rank */
    uint32_t *ranked; /* addresses by rank */
    uint32_t url_count;
};

static void add(struct pairs *pairs, uint32_t k, uint32_t address, enum via via, bool fluid)
{
    if (pairs->question->merged)
        address = web_link_merged(pairs->world, address);
    for (size_t i = pairs->begin; i < pairs->count; i++) {
        struct pair *known = &pairs->items[i];
        if (known->address != address)
            continue;
        if (known->fluid && !fluid)
            *known = (struct pair){.k = k, .address = address, .via = (uint8_t)via};
        return;
    }
    if (pairs->count == pairs->cap) {
        pairs->cap = pairs->cap == 0 ? 1024 : pairs->cap * 2;
        pairs->items = memory_resize(pairs->items, sizeof *pairs->items * pairs->cap);
    }
    pairs->items[pairs->count++] =
        (struct pair){.k = k, .address = address, .via = (uint8_t)via, .fluid = fluid};
}

static void add_version(struct pairs *pairs, uint32_t k, uint32_t version, enum via via, bool fluid)
{
    struct post_outline outline;
    post_outline_make(pairs->world, version, &outline);
    for (unsigned i = 0; i < outline.share_count; i++)
        add(pairs, k,
            web_link_address(pairs->world, outline.shares[i].link, outline.shares[i].spelling), via,
            fluid);
}

static void add_all_versions(struct pairs *pairs, uint32_t k, uint32_t subject, enum via via)
{
    const struct world *world = pairs->world;
    uint32_t author = world_event(world, subject)->account;
    add_version(pairs, k, subject, via, true);
    for (uint32_t at = world_account(world, author)->last; at > subject;
         at = world_previous(world, at)) {
        const struct world_event *event = world_event(world, at);
        if (event->kind == EVENT_UPDATE && event->collection == COLLECTION_POST &&
            event->subject == subject)
            add_version(pairs, k, at, via, true);
    }
}

/* True when a client of the scope cannot know what became of the subject: it is told nothing, and
 * may have read it at any time since it was written, for whoever pointed at it first. */
static bool is_unsure(const struct pairs *pairs, uint32_t subject)
{
    const struct world_event *event = world_event(pairs->world, subject);
    const struct world_account *author = world_account(pairs->world, event->account);
    const bool *scope = pairs->question->scope.accounts;
    if (author->status != ACCOUNT_ACTIVE)
        return true;
    if (scope == NULL || scope[event->account])
        return false;
    return event->latest > subject ||
           (author->status_event != WORLD_NONE && author->status_event > subject);
}

static void add_inherited(struct pairs *pairs, uint32_t k, uint32_t subject, enum via via)
{
    bool fluid = false;
    for (unsigned depth = 0; depth < pairs->question->depth && subject != WORLD_NONE; depth++) {
        const struct world_event *event = world_event(pairs->world, subject);
        struct post_outline outline;
        fluid = fluid || is_unsure(pairs, subject);
        if (fluid)
            add_all_versions(pairs, k, subject, via);
        else if (!event->gone)
            add_version(pairs, k, event->latest, via, false);
        else
            return;
        /* A later version quotes what the first one quoted. */
        post_outline_make(pairs->world, subject, &outline);
        subject = post_quotes(&outline) ? outline.subject : WORLD_NONE;
    }
}

static int compare_addresses(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* Writes every address once and puts them in the order of their text. Two addresses never have the
 * same text. */
static void rank(struct pairs *pairs)
{
    size_t slots = (size_t)world_settings(pairs->world)->links * 2;
    uint32_t *rank_of = memory_new_zeroed(slots, sizeof *rank_of);
    struct named {
        char *url; /* first, for the comparison */
        uint32_t address;
    } *named = memory_new(sizeof *named * (pairs->count + 1));
    uint32_t count = 0;
    for (size_t i = 0; i < pairs->count; i++) {
        uint32_t address = pairs->items[i].address;
        char url[URL_SIZE];
        if (rank_of[address]++ > 0)
            continue;
        web_link_url(pairs->world, address, url);
        named[count++] = (struct named){memory_copy_string(url), address};
    }
    qsort(named, count, sizeof *named, compare_addresses);
    pairs->urls = memory_new(sizeof *pairs->urls * (count + 1));
    pairs->ranked = memory_new(sizeof *pairs->ranked * (count + 1));
    pairs->url_count = count;
    for (uint32_t i = 0; i < count; i++) {
        pairs->urls[i] = named[i].url;
        pairs->ranked[i] = named[i].address;
        rank_of[named[i].address] = i;
    }
    for (size_t i = 0; i < pairs->count; i++)
        pairs->items[i].rank = rank_of[pairs->items[i].address];
    free(named);
    free(rank_of);
}

static struct pairs collect(const struct world *world, const struct truth_link_question *question)
{
    struct pairs pairs = {.world = world, .question = question};
    size_t count;
    struct truth_row *rows = truth_rows(world, &question->scope, &count);
    for (size_t i = 0; i < count; i++) {
        uint32_t k = rows[i].k;
        const struct world_event *event = world_event(world, k);
        struct post_outline outline;
        pairs.begin = pairs.count;
        if (event->collection == COLLECTION_REPOST) {
            add_inherited(&pairs, k, event->subject, VIA_REPOST);
            continue;
        }
        add_version(&pairs, k, event->latest, VIA_POST, false);
        post_outline_make(world, event->latest, &outline);
        if (post_quotes(&outline))
            add_inherited(&pairs, k, outline.subject, VIA_QUOTE);
    }
    free(rows);
    rank(&pairs);
    return pairs;
}

static void release(struct pairs *pairs)
{
    for (uint32_t i = 0; i < pairs->url_count; i++)
        free(pairs->urls[i]);
    free(pairs->urls);
    free(pairs->ranked);
    free(pairs->items);
}

static size_t count_fluid(const struct pairs *pairs)
{
    size_t fluid = 0;
    for (size_t i = 0; i < pairs->count; i++)
        fluid += pairs->items[i].fluid;
    return fluid;
}

static void put_url(struct text *out, const char *key, const char *url)
{
    text_append_string(out, key);
    event_json_string(out, bytes_of(url));
}

void truth_links_write(const struct world *world, const struct truth_link_question *question,
                       struct text *out)
{
    struct pairs pairs = collect(world, question);
    bool *certain = memory_new_zeroed(pairs.url_count + 1, sizeof *certain);
    for (size_t i = 0; i < pairs.count; i++)
        certain[pairs.items[i].rank] |= !pairs.items[i].fluid;
    text_appendf(out, "{\"links\":%u}\n", pairs.url_count);
    for (uint32_t i = 0; i < pairs.url_count && !question->scope.summary_only; i++) {
        char merged[URL_SIZE];
        web_link_url(world, web_link_merged(world, pairs.ranked[i]), merged);
        put_url(out, "{\"url\":", pairs.urls[i]);
        put_url(out, ",\"merged\":", merged);
        text_appendf(out, ",\"news\":%s",
                     web_link_is_news(world, pairs.ranked[i]) ? "true" : "false");
        web_page_put_card(world, web_link_number(pairs.ranked[i]), out);
        text_append_string(out, certain[i] ? "}\n" : ",\"fluid\":true}\n");
    }
    free(certain);
    release(&pairs);
}

static int compare_within_posts(const void *left, const void *right)
{
    const struct pair *a = left, *b = right;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

void truth_post_links_write(const struct world *world, const struct truth_link_question *question,
                            struct text *out)
{
    struct pairs pairs = collect(world, question);
    text_appendf(out, "{\"post_links\":%zu,\"fluid\":%zu}\n", pairs.count, count_fluid(&pairs));
    for (size_t begin = 0, end; begin < pairs.count && !question->scope.summary_only; begin = end) {
        for (end = begin; end < pairs.count && pairs.items[end].k == pairs.items[begin].k;)
            end++;
        qsort(&pairs.items[begin], end - begin, sizeof *pairs.items, compare_within_posts);
        for (size_t i = begin; i < end; i++) {
            text_append_string(out, "{\"uri\":\"");
            event_uri(world, pairs.items[i].k, out);
            put_url(out, "\",\"url\":", pairs.urls[pairs.items[i].rank]);
            text_appendf(out, ",\"via\":\"%s\"%s}\n", via_names[pairs.items[i].via],
                         pairs.items[i].fluid ? ",\"fluid\":true" : "");
        }
    }
    release(&pairs);
}

/* One account shares one address. */
struct share {
    uint32_t rank;
    const char *did;
    int64_t last_us;
    unsigned posts, fluid;
};

static int compare_shares(const void *left, const void *right)
{
    const struct share *a = left, *b = right;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return strcmp(a->did, b->did);
}

/* The pairs that lie in the window and whose author counts, folded by address and account. */
static struct share *fold_shares(const struct pairs *pairs, size_t *count)
{
    const struct truth_link_question *question = pairs->question;
    struct share *shares = memory_new(sizeof *shares * (pairs->count + 1));
    size_t found = 0, kept = 0;
    for (size_t i = 0; i < pairs->count; i++) {
        const struct pair *pair = &pairs->items[i];
        const struct world_event *event = world_event(pairs->world, pair->k);
        if (event->time_us < question->since_us || event->time_us >= question->until_us ||
            (question->people != NULL && !question->people[event->account]))
            continue;
        shares[found++] = (struct share){.rank = pair->rank,
                                         .did = world_account(pairs->world, event->account)->did,
                                         .last_us = event->time_us,
                                         .posts = 1,
                                         .fluid = pair->fluid};
    }
    qsort(shares, found, sizeof *shares, compare_shares);
    for (size_t i = 0; i < found; i++) {
        if (kept == 0 || compare_shares(&shares[kept - 1], &shares[i]) != 0) {
            shares[kept++] = shares[i];
            continue;
        }
        shares[kept - 1].posts++;
        shares[kept - 1].fluid += shares[i].fluid;
        if (shares[i].last_us > shares[kept - 1].last_us)
            shares[kept - 1].last_us = shares[i].last_us;
    }
    *count = kept;
    return shares;
}

void truth_shares_write(const struct world *world, const struct truth_link_question *question,
                        struct text *out)
{
    struct pairs pairs = collect(world, question);
    size_t count, fluid = 0;
    struct share *shares = fold_shares(&pairs, &count);
    for (size_t i = 0; i < count; i++)
        fluid += shares[i].fluid > 0;
    text_appendf(out, "{\"shares\":%zu,\"fluid\":%zu}\n", count, fluid);
    for (size_t i = 0; i < count && !question->scope.summary_only; i++) {
        put_url(out, "{\"url\":", pairs.urls[shares[i].rank]);
        text_appendf(out, ",\"did\":\"%s\",\"n_posts\":%u,\"last_us\":%lld%s}\n", shares[i].did,
                     shares[i].posts, (long long)shares[i].last_us,
                     shares[i].fluid > 0 ? ",\"fluid\":true" : "");
    }
    free(shares);
    release(&pairs);
}

struct trend {
    uint32_t rank, people, people_max;
    unsigned posts;
    int64_t last_us;
};

static int compare_trends(const void *left, const void *right)
{
    const struct trend *a = left, *b = right;
    if (a->people != b->people)
        return a->people > b->people ? -1 : 1;
    if (a->last_us != b->last_us)
        return a->last_us > b->last_us ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static struct trend *fold_trends(const struct pairs *pairs, const struct share *shares,
                                 size_t share_count, size_t *count)
{
    struct trend *trends = memory_new_zeroed(pairs->url_count + 1, sizeof *trends);
    size_t found = 0;
    for (size_t i = 0; i < share_count; i++) {
        if (!web_link_is_news(pairs->world, pairs->ranked[shares[i].rank]))
            continue;
        if (found == 0 || trends[found - 1].rank != shares[i].rank)
            trends[found++].rank = shares[i].rank;
        struct trend *trend = &trends[found - 1];
        trend->people += shares[i].fluid < shares[i].posts;
        trend->people_max++;
        trend->posts += shares[i].posts;
        if (shares[i].last_us > trend->last_us)
            trend->last_us = shares[i].last_us;
    }
    qsort(trends, found, sizeof *trends, compare_trends);
    *count = found;
    return trends;
}

void truth_trending_write(const struct world *world, const struct truth_link_question *question,
                          struct text *out)
{
    struct pairs pairs = collect(world, question);
    size_t share_count, count;
    struct share *shares = fold_shares(&pairs, &share_count);
    struct trend *trends = fold_trends(&pairs, shares, share_count, &count);
    text_appendf(out, "{\"links\":%zu}\n", count);
    for (size_t i = 0; i < count && i < question->limit && !question->scope.summary_only; i++) {
        put_url(out, "{\"url\":", pairs.urls[trends[i].rank]);
        text_appendf(out, ",\"people\":%u,\"people_max\":%u,\"posts\":%u,\"last_us\":%lld}\n",
                     trends[i].people, trends[i].people_max, trends[i].posts,
                     (long long)trends[i].last_us);
    }
    free(trends);
    free(shares);
    release(&pairs);
}
