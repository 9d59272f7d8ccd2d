/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/appview_view.h"
#include "sim/page.h"
#include "sim/query_string.h"
#include "sim/xrpc.h"

#include <stdlib.h>
#include <string.h>

#define PROFILES_MAX 25

void appview_get_profile(struct http_exchange *exchange, void *arg)
{
    struct xrpc call;
    char actor[256];
    uint32_t account;
    if (!xrpc_begin(&call, exchange, arg) || !xrpc_read_actor(&call, actor, &account))
        return;
    unsigned status =
        account == WORLD_NONE ? ACCOUNT_DELETED : world_account(call.sim->world, account)->status;
    if (status == ACCOUNT_DEACTIVATED) {
        xrpc_fail(&call, 400, "AccountDeactivated", "Account is deactivated");
    } else if (status == ACCOUNT_TAKENDOWN || status == ACCOUNT_SUSPENDED) {
        xrpc_fail(&call, 400, "AccountTakedown", "Account has been suspended");
    } else if (status == ACCOUNT_DELETED) {
        xrpc_fail(&call, 400, "InvalidRequest", "Profile not found");
    } else {
        view_actor(call.sim->world, account, VIEW_DETAILED, &call.body);
        xrpc_finish(&call);
    }
}

static bool put_profile(const struct world *world, struct bytes actor, struct text *out)
{
    uint32_t account = xrpc_find_actor(world, actor);
    if (account == WORLD_NONE || world_account(world, account)->status != ACCOUNT_ACTIVE)
        return false;
    view_actor(world, account, VIEW_DETAILED, out);
    return true;
}

void appview_get_profiles(struct http_exchange *exchange, void *arg)
{
    static const struct xrpc_list profiles = {"actors", "profiles", PROFILES_MAX, true,
                                              put_profile};
    struct xrpc call;
    if (xrpc_begin(&call, exchange, arg))
        xrpc_answer_list(&call, &profiles);
}

void appview_resolve_handle(struct http_exchange *exchange, void *arg)
{
    struct xrpc call;
    char handle[256] = "";
    if (!xrpc_begin(&call, exchange, arg))
        return;
    query_get(call.query, "handle", handle, sizeof handle);
    uint32_t account = world_find_handle(call.sim->world, bytes_of(handle));
    if (account == WORLD_NONE ||
        world_account(call.sim->world, account)->status == ACCOUNT_DELETED) {
        xrpc_fail(&call, 400, "InvalidRequest", "Unable to resolve handle");
        return;
    }
    text_appendf(&call.body, "{\"did\":\"%s\"}", world_account(call.sim->world, account)->did);
    xrpc_finish(&call);
}

/* One follow; the dead are not listed, and nobody twice. */
static void add_follow(const struct world *world, bool *listed, uint32_t subject, int64_t us,
                       uint32_t number, struct page *page)
{
    struct page_item item = {.ms = us / 1000, .number = subject};
    if (listed[subject] || world_account(world, subject)->status != ACCOUNT_ACTIVE)
        return;
    listed[subject] = true;
    world_cid(world, number, item.cid);
    page_add(page, &item);
}

/* Those followed from the start were followed one after the other, before the first event. */
static void list_follows(const struct world *world, uint32_t account, struct page *page)
{
    const struct world_options *settings = world_settings(world);
    bool *listed = memory_new_zeroed(settings->accounts, sizeof *listed);
    listed[account] = true;
    for (uint32_t i = 1; account == 0 && i < settings->accounts; i++)
        if (world_account(world, i)->followed)
            add_follow(world, listed, i, settings->start_us - (int64_t)(i / 2) * 1000000, i, page);
    for (uint32_t k = world_account(world, account)->last; account != 0 && k != WORLD_NONE;
         k = world_previous(world, k)) {
        const struct world_event *event = world_event(world, k);
        if (event->collection == COLLECTION_FOLLOW && view_is_visible(world, k))
            add_follow(world, listed, event->subject, event->time_us, k, page);
    }
    for (uint32_t i = 0; account != 0 && i < settings->follows_each; i++)
        add_follow(world, listed, world_first_follow(world, account, i),
                   settings->start_us - (int64_t)(i + 1) * 1000000, ~i, page);
    free(listed);
    page_sort(page);
}

void appview_get_follows(struct http_exchange *exchange, void *arg)
{
    struct xrpc call;
    struct page page = {0};
    char actor[256], cursor[XRPC_CURSOR_SIZE] = "";
    uint32_t account;
    unsigned limit;
    size_t begin;
    if (!xrpc_begin(&call, exchange, arg) || !xrpc_read_actor(&call, actor, &account) ||
        !xrpc_read_limit(&call, &limit))
        return;
    const struct world *world = call.sim->world;
    if (account == WORLD_NONE || world_account(world, account)->status != ACCOUNT_ACTIVE) {
        xrpc_fail(&call, 400, "InvalidRequest", "Actor not found: %s", actor);
        return;
    }
    query_get(call.query, "cursor", cursor, sizeof cursor);
    list_follows(world, account, &page);
    if (!page_seek(&page, cursor, &begin)) {
        xrpc_fail(&call, 500, "InternalServerError", "Internal Server Error");
    } else {
        size_t end = page.count - begin < limit ? page.count : begin + limit;
        text_append_string(&call.body, "{\"follows\":[");
        for (size_t i = begin; i < end; i++) {
            text_append_string(&call.body, i == begin ? "" : ",");
            view_actor(world, page.items[i].number, VIEW_PLAIN, &call.body);
        }
        text_append_string(&call.body, "],\"subject\":");
        view_actor(world, account, VIEW_PLAIN, &call.body);
        page_put_cursor(&page, begin, end, limit, &call.body);
        text_append_char(&call.body, '}');
        xrpc_finish(&call);
    }
    page_deinit(&page);
}
