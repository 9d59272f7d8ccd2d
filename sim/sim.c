/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim.h"
#include "sim/subscriber.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define TICK_MS          5
#define DICTIONARY_ID    1700000000u
#define STEP_EVENTS_MAX  100000u
#define TRAINED_ACCOUNTS 200u

static const struct http_route all_routes[] = {
    {.method = "GET", .path = "/subscribe", .handler = jetstream_v1_subscribe},
    {.method = "GET",
     .path = "/xrpc/network.bsky.jetstream.subscribeEvents",
     .handler = jetstream_v2_subscribe},
    {.method = "GET",
     .path = "/xrpc/network.bsky.jetstream.getZstdDictionary",
     .handler = jetstream_v2_dictionary},
    {.method = "GET", .path = "/xrpc/app.bsky.actor.getProfile", .handler = appview_get_profile},
    {.method = "GET", .path = "/xrpc/app.bsky.actor.getProfiles", .handler = appview_get_profiles},
    {.method = "GET", .path = "/xrpc/app.bsky.graph.getFollows", .handler = appview_get_follows},
    {.method = "GET",
     .path = "/xrpc/com.atproto.identity.resolveHandle",
     .handler = appview_resolve_handle},
    {.method = "GET",
     .path = "/xrpc/app.bsky.feed.getAuthorFeed",
     .handler = appview_get_author_feed},
    {.method = "GET", .path = "/xrpc/app.bsky.feed.getPosts", .handler = appview_get_posts},
    {.method = "POST", .path = "/_sim/follow", .handler = control_follow},
    {.method = "DELETE", .path = "/_sim/follow", .handler = control_unfollow},
    {.method = "GET", .path = "/_sim/stats", .handler = control_stats},
    {.method = "POST", .path = "/_sim/step", .handler = control_step},
    {.method = "POST", .path = "/_sim/fault", .handler = control_arm},
    {.method = "DELETE", .path = "/_sim/fault", .handler = control_disarm},
    {.method = "GET", .path = "/_sim/truth", .handler = control_truth},
    {.method = "GET", .path = "/_sim/events", .handler = control_events},
    {.method = "GET", .path = "/_sim/lost", .handler = control_lost},
    {.method = "GET", .path = "/_sim/accounts", .handler = control_accounts},
    {.method = "GET", .path = "/_sim/dictionary", .handler = control_dictionary},
    {.method = "GET", .path = "/_sim/update", .handler = control_update},
    {.method = NULL, .path = NULL, .handler = NULL},
};

struct sim_options sim_options_default(void)
{
    return (struct sim_options){
        .world = world_options_default(),
        .events = 1000,
        .retention_us = 24LL * 3600 * 1000000,
        .ping_ms = 30000,
        .pong_wait_ms = 5000,
    };
}

void sim_step(struct sim *sim, uint32_t events)
{
    world_grow(sim->world, events);
    for (struct subscriber *at = sim->subscribers; at != NULL; at = at->list_next)
        subscriber_wake(at);
}

/* Live events happen when the clock has reached their place in the world's time. */
static void on_tick(uv_timer_t *timer)
{
    struct sim *sim = timer->data;
    int64_t passed_us = (int64_t)(uv_now(sim->loop) - sim->begun_ms) * 1000;
    int64_t now_us = world_time_of(sim->world, sim->options.events) + passed_us;
    uint32_t have = world_count(sim->world), due = have;
    uint32_t end = sim->options.live_events == 0 ? WORLD_NONE - 1
                                                 : sim->options.events + sim->options.live_events;
    while (due < end && due - have < STEP_EVENTS_MAX && world_time_of(sim->world, due) <= now_us)
        due++;
    if (due > have)
        sim_step(sim, due - have);
    if (due == end)
        uv_timer_stop(timer);
}

enum rc sim_start(struct sim *sim, uv_loop_t *loop, const struct sim_options *options,
                  struct err *err)
{
    memset(sim, 0, sizeof *sim);
    sim->options = *options;
    sim->loop = loop;
    sim->world = world_new(&options->world);
    world_grow(sim->world, options->events);
    sim->routes = memory_new(sizeof all_routes);
    memcpy(sim->routes, all_routes, sizeof all_routes);
    uv_timer_init(loop, &sim->timer);
    sim->timer.data = sim;
    uv_update_time(loop);
    sim->begun_ms = uv_now(loop);
    if (options->rate > 0)
        uv_timer_start(&sim->timer, on_tick, TICK_MS, TICK_MS);
    return http_server_start(&sim->http, loop, options->port, sim->routes, sim, err);
}

void sim_stop(struct sim *sim)
{
    uv_close((uv_handle_t *)&sim->timer, NULL);
    http_server_stop(sim->http);
    for (struct subscriber *at = sim->subscribers; at != NULL; at = at->list_next) {
        at->ended = true;
        peer_reset(ws_peer(at->ws));
    }
}

void sim_deinit(struct sim *sim)
{
    assert(sim->subscribers == NULL);
    http_server_free(sim->http);
    for (int i = 0; i < 4; i++)
        dictionary_free(sim->dictionaries[i / 2][i % 2]);
    world_free(sim->world);
    text_free(&sim->last_query);
    text_free(&sim->last_update);
    free(sim->losses);
    free(sim->routes);
}

void sim_lose(struct sim *sim, uint32_t k, enum fault_kind kind)
{
    if (sim->loss_count == sim->loss_cap) {
        sim->loss_cap = sim->loss_cap == 0 ? 64 : sim->loss_cap * 2;
        sim->losses = memory_resize(sim->losses, sizeof *sim->losses * sim->loss_cap);
    }
    sim->losses[sim->loss_count++] = (struct sim_loss){k, kind};
}

struct dictionary *sim_dictionary(struct sim *sim, enum event_wire wire, bool wrong)
{
    struct dictionary **slot = &sim->dictionaries[wire][wrong];
    if (*slot == NULL) {
        struct world_options options = sim->options.world;
        options.seed += wrong;
        /* Training a dictionary needs a few repeated names, not the whole population. */
        if (options.accounts > TRAINED_ACCOUNTS)
            options.accounts = options.follows = TRAINED_ACCOUNTS;
        *slot = dictionary_train(&options, wire, DICTIONARY_ID + 2 * wire + wrong);
    }
    return *slot;
}

uint32_t sim_replay_floor(const struct sim *sim)
{
    uint32_t count = world_count(sim->world);
    if (count == 0)
        return 0;
    return world_find_time(sim->world,
                           world_event(sim->world, count - 1)->time_us - sim->options.retention_us);
}

int64_t sim_seq(const struct sim *sim, uint32_t k)
{
    return sim->options.seq_base + (int64_t)k + 1;
}

uint32_t sim_find_seq(const struct sim *sim, int64_t seq)
{
    int64_t k = seq - sim->options.seq_base - 1, count = world_count(sim->world);
    return (uint32_t)(k < 0 ? 0 : k > count ? count : k);
}
