/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/appview_view.h"
#include "sim/event_json.h"
#include "sim/post.h"

#include <string.h>

#define PROFILE_BEFORE_US 86400000000

bool view_is_visible(const struct world *world, uint32_t k)
{
    const struct world_event *event = world_event(world, k);
    return event->kind == EVENT_CREATE && !event->gone &&
           world_account(world, event->account)->status == ACCOUNT_ACTIVE;
}

int64_t view_sort_us(const struct world *world, uint32_t k)
{
    int64_t created_us = post_created_us(world, k), seen_us = world_event(world, k)->time_us;
    return created_us < seen_us ? created_us : seen_us;
}

static void count_records(const struct world *world, uint32_t account, unsigned *posts,
                          unsigned *follows)
{
    *posts = *follows = 0;
    for (uint32_t k = world_account(world, account)->last; k != WORLD_NONE;
         k = world_previous(world, k)) {
        const struct world_event *event = world_event(world, k);
        if (event->kind != EVENT_CREATE || event->gone)
            continue;
        *posts += event->collection == COLLECTION_POST;
        *follows += event->collection == COLLECTION_FOLLOW;
    }
    if (account == 0)
        *follows = world_settings(world)->follows;
}

void view_actor(const struct world *world, uint32_t account, enum view_depth depth,
                struct text *out)
{
    const struct world_account *who = world_account(world, account);
    char handle[NAME_SIZE], name[NAME_SIZE], avatar[AVATAR_SIZE], created[ISO_SIZE];
    world_handle(world, account, who->renamed, handle);
    world_display_name(world, account, who->profiled, name);
    world_avatar(world, account, who->profiled, avatar);
    iso_write(world_settings(world)->start_us - PROFILE_BEFORE_US, 3, created);
    text_appendf(out, "{\"did\":\"%s\",\"handle\":\"%s\",\"displayName\":", who->did, handle);
    event_json_string(out, bytes_of(name));
    text_appendf(out, ",\"avatar\":\"%s\",\"associated\":{", avatar);
    if (depth == VIEW_DETAILED)
        text_append_string(out, "\"lists\":0,\"feedgens\":0,\"starterPacks\":0,\"labeler\":false,");
    text_appendf(out,
                 "\"activitySubscription\":{\"allowSubscriptions\":\"followers\"}},\"labels\":[],"
                 "\"createdAt\":\"%s\"",
                 created);
    if (depth != VIEW_BASIC)
        text_appendf(out, ",\"description\":\"tides \\u0026 marks\",\"indexedAt\":\"%s\"", created);
    if (depth == VIEW_DETAILED) {
        unsigned posts, follows;
        count_records(world, account, &posts, &follows);
        text_appendf(out, ",\"followersCount\":%d,\"followsCount\":%u,\"postsCount\":%u",
                     who->followed, follows, posts);
    }
    text_append_char(out, '}');
}

static void view_card(const struct post *post, struct text *out)
{
    text_append_string(out, "{\"external\":{\"uri\":");
    event_json_string(out, bytes_of(post->card_url));
    text_append_string(out, ",\"title\":");
    event_json_string(out, bytes_of(post->card_title));
    text_append_string(out, ",\"description\":");
    event_json_string(out, bytes_of(post->card_description));
    text_append_string(out, "},\"$type\":\"app.bsky.embed.external#view\"}");
}

static void view_quote(const struct world *world, uint32_t k, struct text *out)
{
    char cid[CID_SIZE], indexed[ISO_SIZE];
    text_append_string(out, "{\"record\":{\"uri\":\"");
    event_uri(world, k, out);
    if (view_is_visible(world, k)) {
        uint32_t latest = world_event(world, k)->latest;
        world_cid(world, latest, cid);
        iso_write(view_sort_us(world, k), 3, indexed);
        text_appendf(out, "\",\"cid\":\"%s\",\"author\":", cid);
        view_actor(world, world_event(world, k)->account, VIEW_BASIC, out);
        text_append_string(out, ",\"value\":");
        event_json_record(world, latest, out);
        text_appendf(out,
                     ",\"labels\":[],\"indexedAt\":\"%s\","
                     "\"$type\":\"app.bsky.embed.record#viewRecord\"}",
                     indexed);
    } else {
        text_append_string(out, "\",\"notFound\":true,"
                                "\"$type\":\"app.bsky.embed.record#viewNotFound\"}");
    }
    text_append_string(out, ",\"$type\":\"app.bsky.embed.record#view\"}");
}

static void view_embed(const struct world *world, const struct post *post, struct text *out)
{
    if (post->outline.embed == EMBED_NONE)
        return;
    text_append_string(out, ",\"embed\":");
    if (post->outline.embed == EMBED_EXTERNAL) {
        view_card(post, out);
    } else if (post->outline.embed == EMBED_RECORD) {
        view_quote(world, post->outline.subject, out);
    } else if (post->outline.embed == EMBED_RECORD_WITH_MEDIA) {
        text_append_string(out, "{\"media\":");
        view_card(post, out);
        text_append_string(out, ",\"record\":");
        view_quote(world, post->outline.subject, out);
        text_append_string(out, ",\"$type\":\"app.bsky.embed.recordWithMedia#view\"}");
    } else {
        text_append_string(out, "{\"images\":[{\"thumb\":\"https://cdn.sky.example/thumb.jpeg\","
                                "\"fullsize\":\"https://cdn.sky.example/full.jpeg\",\"alt\":\"\"}],"
                                "\"$type\":\"app.bsky.embed.images#view\"}");
    }
}

void view_post(const struct world *world, uint32_t k, struct text *out)
{
    const struct world_event *event = world_event(world, k);
    char cid[CID_SIZE], indexed[ISO_SIZE];
    struct post post;
    post_compose(world, event->latest, &post);
    world_cid(world, event->latest, cid);
    iso_write(view_sort_us(world, k), 3, indexed);
    text_append_string(out, "{\"uri\":\"");
    event_uri(world, k, out);
    text_appendf(out, "\",\"cid\":\"%s\",\"author\":", cid);
    view_actor(world, event->account, VIEW_BASIC, out);
    text_append_string(out, ",\"record\":");
    event_json_record(world, event->latest, out);
    view_embed(world, &post, out);
    text_appendf(out,
                 ",\"bookmarkCount\":0,\"replyCount\":0,\"repostCount\":0,\"likeCount\":0,"
                 "\"quoteCount\":0,\"indexedAt\":\"%s\",\"labels\":[]}",
                 indexed);
}

void view_post_or_notice(const struct world *world, uint32_t k, struct text *out)
{
    if (view_is_visible(world, k)) {
        view_post(world, k, out);
        /* Where a post may also be a notice, it says what it is. */
        out->len--;
        text_append_string(out, ",\"$type\":\"app.bsky.feed.defs#postView\"}");
        return;
    }
    text_append_string(out, "{\"$type\":\"app.bsky.feed.defs#notFoundPost\",\"uri\":\"");
    event_uri(world, k, out);
    text_append_string(out, "\",\"notFound\":true}");
}
