/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/event_json.h"
#include "sim/post.h"
#include "sim/query_string.h"
#include "sim/sim.h"

#include <string.h>

/* What somebody asked to happen, and the first thing that is wrong with it. */
struct act {
    const struct world *world;
    struct bytes query;
    struct world_event event;
    const char *error;
};

static void complain(struct act *act, const char *error)
{
    if (act->error == NULL)
        act->error = error;
}

static uint32_t read_account(struct act *act, const char *name)
{
    char did[64] = "";
    query_get(act->query, name, did, sizeof did);
    uint32_t account = world_find_did(act->world, bytes_of(did));
    if (account == WORLD_NONE)
        complain(act, "nobody has this DID");
    return account == WORLD_NONE ? 0 : account;
}

/* The record that a parameter names; WORLD_NONE when it is not given. */
static uint32_t read_record(struct act *act, const char *name)
{
    char uri[160];
    if (!query_get(act->query, name, uri, sizeof uri))
        return WORLD_NONE;
    uint32_t k = world_find_uri(act->world, bytes_of(uri));
    if (k == WORLD_NONE)
        complain(act, "no record has this address");
    return k;
}

static uint32_t read_post_address(struct act *act, const char *name)
{
    uint32_t k = read_record(act, name);
    if (k != WORLD_NONE && world_event(act->world, k)->collection != COLLECTION_POST)
        complain(act, "this points at no post");
    return k;
}

static void need_active(struct act *act)
{
    if (world_account(act->world, act->event.account)->status != ACCOUNT_ACTIVE)
        complain(act, "whoever is not active does nothing");
}

static void read_link(struct act *act)
{
    uint64_t link = query_get_u64(act->query, "link", UINT64_MAX);
    if (link == UINT64_MAX)
        return;
    if (link >= world_settings(act->world)->links)
        complain(act, "the world has no such page");
    act->event.link = (uint32_t)link;
    act->event.spelling = (uint8_t)query_get_u64(act->query, "spelling", 0);
}

static bool has_links(unsigned shape)
{
    return shape != SHAPE_PLAIN && shape != SHAPE_REPLY && shape != SHAPE_QUOTE &&
           shape != SHAPE_IMAGES && shape != SHAPE_LONG;
}

static void read_post(struct act *act)
{
    struct world_event *event = &act->event;
    char shape[32];
    *event = world_event_make(EVENT_CREATE, COLLECTION_POST, read_account(act, "did"));
    read_link(act);
    event->shape = event->link == WORLD_NONE ? SHAPE_PLAIN : SHAPE_LINK;
    if (query_get(act->query, "shape", shape, sizeof shape))
        event->shape = (uint8_t)post_shape_find(shape);
    if (event->shape == SHAPE_COUNT || (event->link != WORLD_NONE && !has_links(event->shape)))
        complain(act, "no such shape, or one without links");
    event->subject = read_post_address(act, "subject");
    need_active(act);
}

static void read_pointer(struct act *act, enum world_collection collection)
{
    act->event = world_event_make(EVENT_CREATE, collection, read_account(act, "did"));
    if (collection == COLLECTION_FOLLOW)
        act->event.subject = read_account(act, "subject");
    else if ((act->event.subject = read_post_address(act, "subject")) == WORLD_NONE)
        complain(act, "this needs a subject");
    need_active(act);
}

static void read_change(struct act *act, enum world_kind kind)
{
    uint32_t k = read_record(act, "uri");
    act->event = world_event_make(kind, COLLECTION_POST, 0);
    if (k == WORLD_NONE) {
        complain(act, "this needs a record");
        return;
    }
    const struct world_event *record = world_event(act->world, k);
    act->event.account = record->account;
    act->event.collection = record->collection;
    act->event.subject = k;
    read_link(act);
    if (act->event.link != WORLD_NONE)
        act->event.shape = SHAPE_LINK;
    if (record->gone || (kind == EVENT_UPDATE && record->collection != COLLECTION_POST))
        complain(act, "this record cannot be changed");
    need_active(act);
}

static void read_status(struct act *act)
{
    char name[32] = "";
    unsigned status = ACCOUNT_ACTIVE;
    act->event = world_event_make(EVENT_ACCOUNT, COLLECTION_POST, read_account(act, "did"));
    query_get(act->query, "status", name, sizeof name);
    while (status <= ACCOUNT_DELETED && strcmp(world_status_name(status), name) != 0)
        status++;
    if (status > ACCOUNT_DELETED ||
        world_account(act->world, act->event.account)->status == ACCOUNT_DELETED)
        complain(act, "no such status, or the account was deleted");
    act->event.subject = status;
}

static void read_act(struct act *act)
{
    char what[16] = "";
    query_get(act->query, "do", what, sizeof what);
    if (strcmp(what, "post") == 0) {
        read_post(act);
    } else if (strcmp(what, "repost") == 0) {
        read_pointer(act, COLLECTION_REPOST);
    } else if (strcmp(what, "like") == 0) {
        read_pointer(act, COLLECTION_LIKE);
    } else if (strcmp(what, "follow") == 0) {
        read_pointer(act, COLLECTION_FOLLOW);
    } else if (strcmp(what, "edit") == 0) {
        read_change(act, EVENT_UPDATE);
    } else if (strcmp(what, "delete") == 0) {
        read_change(act, EVENT_DELETE);
    } else if (strcmp(what, "account") == 0) {
        read_status(act);
    } else if (strcmp(what, "handle") == 0) {
        act->event = world_event_make(EVENT_IDENTITY, COLLECTION_POST, read_account(act, "did"));
        act->event.subject = world_account(act->world, act->event.account)->renamed + 1;
    } else if (strcmp(what, "profile") == 0) {
        act->event = world_event_make(EVENT_UPDATE, COLLECTION_PROFILE, read_account(act, "did"));
        act->event.subject = read_post_address(act, "pin");
        need_active(act);
    } else {
        complain(act, "there is no such act");
    }
}

static void put_answer(const struct world *world, uint32_t k, struct text *out)
{
    const struct world_event *event = world_event(world, k);
    char rev[TID_SIZE];
    world_rev(world, k, rev);
    text_appendf(out, "{\"k\":%u,\"time_us\":%lld,\"did\":\"%s\",\"rev\":\"%s\"", k,
                 (long long)event->time_us, world_account(world, event->account)->did, rev);
    if (event->kind != EVENT_IDENTITY && event->kind != EVENT_ACCOUNT) {
        text_append_string(out, ",\"uri\":\"");
        event_uri(world, k, out);
        text_append_char(out, '"');
    }
    text_append_string(out, "}\n");
}

void control_act(struct http_exchange *exchange, void *arg)
{
    struct sim *sim = arg;
    struct act act = {.world = sim->world, .query = http_exchange_request(exchange)->query};
    struct text body = {0};
    read_act(&act);
    if (act.error != NULL) {
        http_reply_text(exchange, 400, act.error);
        return;
    }
    uint32_t k = sim_append(sim, &act.event, (int64_t)query_get_u64(act.query, "at_us", 0));
    put_answer(sim->world, k, &body);
    http_reply(exchange, 200, "application/json", NULL, text_bytes(&body));
    text_free(&body);
}

void control_link(struct http_exchange *exchange, void *arg)
{
    const struct world *world = ((struct sim *)arg)->world;
    uint64_t link = query_get_u64(http_exchange_request(exchange)->query, "n", 0);
    struct text body = {0};
    char url[URL_SIZE];
    uint32_t id, number = (uint32_t)link;
    if (link >= world_settings(world)->links) {
        http_reply_text(exchange, 400, "the world has no such page\n");
        return;
    }
    const char *kind = web_link_kind(world, number, &id);
    web_link_url(world, web_link_address(world, number, 0), url);
    text_appendf(&body, "{\"n\":%u,\"url\":", number);
    event_json_string(&body, bytes_of(url));
    web_link_url(world, web_link_merged(world, web_link_address(world, number, 0)), url);
    text_append_string(&body, ",\"merged\":");
    event_json_string(&body, bytes_of(url));
    text_appendf(&body, ",\"news\":%s,\"kind\":\"%s\",\"spellings\":[",
                 web_link_is_news(world, web_link_address(world, number, 0)) ? "true" : "false",
                 kind == NULL ? "" : kind);
    for (uint32_t spelling = 0; spelling < SPELLING_COUNT; spelling++) {
        web_link_spell(world, number, spelling, url);
        text_append_string(&body, spelling == 0 ? "" : ",");
        event_json_string(&body, bytes_of(url));
    }
    text_append_string(&body, "]}\n");
    http_reply(exchange, 200, "application/json", NULL, text_bytes(&body));
    text_free(&body);
}
