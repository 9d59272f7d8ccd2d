/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/appview_view.h"
#include "sim/event_json.h"
#include "sim/page.h"
#include "sim/post.h"
#include "sim/query_string.h"
#include "sim/xrpc.h"

#include <string.h>

#define POSTS_MAX 25

/* True when the filter lets this post of the author through; an unknown filter is none. */
static bool passes(const struct world *world, uint32_t k, const char *filter)
{
    struct post post;
    uint32_t latest = world_event(world, k)->latest;
    if (strcmp(filter, "posts_no_replies") != 0 && strcmp(filter, "posts_with_media") != 0 &&
        strcmp(filter, "posts_and_author_threads") != 0)
        return true;
    post_compose(world, latest, &post);
    if (strcmp(filter, "posts_with_media") == 0)
        return post.outline.embed == EMBED_IMAGES;
    if (!post.outline.is_reply)
        return true;
    return strcmp(filter, "posts_and_author_threads") == 0 &&
           world_event(world, post.outline.subject)->account == world_event(world, k)->account;
}

static void list_feed(const struct world *world, uint32_t account, const char *filter,
                      struct page *page)
{
    for (uint32_t k = world_account(world, account)->last; k != WORLD_NONE;
         k = world_previous(world, k)) {
        const struct world_event *event = world_event(world, k);
        struct page_item item = {.number = k};
        if (!view_is_visible(world, k))
            continue;
        if (event->collection == COLLECTION_POST
                ? !passes(world, k, filter)
                : event->collection != COLLECTION_REPOST || !view_is_visible(world, event->subject))
            continue;
        item.ms = view_sort_us(world, k) / 1000;
        world_cid(world, event->latest, item.cid);
        page_add(page, &item);
    }
    page_sort(page);
}

static void put_reply(const struct world *world, uint32_t k, struct text *out)
{
    struct post post;
    post_compose(world, world_event(world, k)->latest, &post);
    if (!post.outline.is_reply)
        return;
    text_append_string(out, ",\"reply\":{\"root\":");
    view_post_or_notice(world, post.outline.subject, out);
    text_append_string(out, ",\"parent\":");
    view_post_or_notice(world, post.outline.subject, out);
    text_append_char(out, '}');
}

static void put_item(const struct world *world, const struct page_item *item, bool pinned,
                     struct text *out)
{
    const struct world_event *event = world_event(world, item->number);
    bool is_repost = event->collection == COLLECTION_REPOST;
    text_append_string(out, "{\"post\":");
    view_post(world, is_repost ? event->subject : item->number, out);
    if (is_repost) {
        char indexed[ISO_SIZE];
        iso_write(view_sort_us(world, item->number), 3, indexed);
        text_append_string(out, ",\"reason\":{\"by\":");
        view_actor(world, event->account, VIEW_BASIC, out);
        text_append_string(out, ",\"uri\":\"");
        event_uri(world, item->number, out);
        text_appendf(out,
                     "\",\"cid\":\"%s\",\"indexedAt\":\"%s\","
                     "\"$type\":\"app.bsky.feed.defs#reasonRepost\"}",
                     item->cid, indexed);
    } else {
        put_reply(world, item->number, out);
    }
    if (pinned)
        text_append_string(out, ",\"reason\":{\"$type\":\"app.bsky.feed.defs#reasonPin\"}");
    text_append_char(out, '}');
}

/* The post on top of the first page, or WORLD_NONE. */
static uint32_t find_pin(const struct xrpc *call, uint32_t account, const char *cursor)
{
    char wanted[8] = "";
    uint32_t pin = world_account(call->sim->world, account)->pinned;
    query_get(call->query, "includePins", wanted, sizeof wanted);
    bool shown = strcmp(wanted, "true") == 0 && cursor[0] == '\0' && pin != WORLD_NONE &&
                 view_is_visible(call->sim->world, pin);
    return shown ? pin : WORLD_NONE;
}

static void put_page(struct xrpc *call, const struct page *page, size_t begin, unsigned limit,
                     uint32_t pin)
{
    const struct world *world = call->sim->world;
    size_t end = page->count - begin < limit ? page->count : begin + limit;
    text_append_string(&call->body, "{\"feed\":[");
    bool first = true;
    if (pin != WORLD_NONE) {
        struct page_item item = {.number = pin};
        put_item(world, &item, true, &call->body);
        first = false;
    }
    for (size_t i = begin; i < end; i++) {
        if (page->items[i].number == pin)
            continue;
        text_append_string(&call->body, first ? "" : ",");
        put_item(world, &page->items[i], false, &call->body);
        first = false;
    }
    text_append_char(&call->body, ']');
    page_put_cursor(page, begin, end, limit, &call->body);
    text_append_char(&call->body, '}');
}

void appview_get_author_feed(struct http_exchange *exchange, void *arg)
{
    struct xrpc call;
    struct page page = {0};
    char actor[256], cursor[XRPC_CURSOR_SIZE] = "", filter[64] = "";
    uint32_t account;
    unsigned limit;
    size_t begin;
    if (!xrpc_begin(&call, exchange, arg) || !xrpc_read_actor(&call, actor, &account) ||
        !xrpc_read_limit(&call, &limit))
        return;
    const struct world *world = call.sim->world;
    if (account == WORLD_NONE || world_account(world, account)->status != ACCOUNT_ACTIVE) {
        xrpc_fail(&call, 400, "InvalidRequest", "Profile not found");
        return;
    }
    query_get(call.query, "cursor", cursor, sizeof cursor);
    query_get(call.query, "filter", filter, sizeof filter);
    list_feed(world, account, filter, &page);
    if (!page_seek(&page, cursor, &begin)) {
        xrpc_fail(&call, 500, "InternalServerError", "Internal Server Error");
    } else {
        put_page(&call, &page, begin, limit, find_pin(&call, account, cursor));
        xrpc_finish(&call);
    }
    page_deinit(&page);
}

static bool put_post(const struct world *world, struct bytes uri, struct text *out)
{
    uint32_t k = world_find_uri(world, uri);
    if (k == WORLD_NONE || world_event(world, k)->collection != COLLECTION_POST ||
        !view_is_visible(world, k))
        return false;
    view_post(world, k, out);
    return true;
}

void appview_get_posts(struct http_exchange *exchange, void *arg)
{
    static const struct xrpc_list posts = {"uris", "posts", POSTS_MAX, false, put_post};
    struct xrpc call;
    if (xrpc_begin(&call, exchange, arg))
        xrpc_answer_list(&call, &posts);
}
