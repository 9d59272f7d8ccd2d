/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim.h"
#include "sim/subscriber.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TICK_MS          5
#define DICTIONARY_ID    1700000000u
#define STEP_EVENTS_MAX  100000u
#define TRAINED_ACCOUNTS 200u

static const struct http_route all_routes[] = {
    {"GET", "/subscribe", jetstream_v1_subscribe, 0},
    {"GET", "/xrpc/network.bsky.jetstream.subscribeEvents", jetstream_v2_subscribe, 0},
    {"GET", "/xrpc/network.bsky.jetstream.getZstdDictionary", jetstream_v2_dictionary, 0},
    {"GET", "/xrpc/app.bsky.actor.getProfile", appview_get_profile, 0},
    {"GET", "/xrpc/app.bsky.actor.getProfiles", appview_get_profiles, 0},
    {"GET", "/xrpc/app.bsky.graph.getFollows", appview_get_follows, 0},
    {"GET", "/xrpc/com.atproto.identity.resolveHandle", appview_resolve_handle, 0},
    {"GET", "/xrpc/app.bsky.feed.getAuthorFeed", appview_get_author_feed, 0},
    {"GET", "/xrpc/app.bsky.feed.getPosts", appview_get_posts, 0},
    {"POST", "/xrpc/com.atproto.server.createSession", xrpc_create_session, 0},
    {"POST", "/xrpc/com.atproto.server.refreshSession", xrpc_refresh_session, 0},
    {"GET", "/web/*", web_page_get, 0},
    {"GET", "/s/*", web_page_shortened, 0},
    {"GET", "/picture/*", web_picture_get, 0},
    {"GET", "/img/*", web_picture_thumb, 0},
    {"POST", "/_sim/follow", control_follow, 0},
    {"DELETE", "/_sim/follow", control_unfollow, 0},
    {"GET", "/_sim/stats", control_stats, 0},
    {"POST", "/_sim/step", control_step, 0},
    {"POST", "/_sim/act", control_act, 0},
    {"POST", "/_sim/fault", control_arm, 0},
    {"DELETE", "/_sim/fault", control_disarm, 0},
    {"GET", "/_sim/truth", control_truth, 0},
    {"GET", "/_sim/events", control_events, 0},
    {"GET", "/_sim/lost", control_lost, 0},
    {"GET", "/_sim/accounts", control_accounts, 0},
    {"GET", "/_sim/dictionary", control_dictionary, 0},
    {"GET", "/_sim/update", control_update, 0},
    {"GET", "/_sim/link", control_link, 0},
    {"GET", "/_sim/requests", control_requests, 0},
    {"GET", "/_sim/certificate", control_certificate, 0},
    {"GET", "/_sim/ledger/accounts", control_ledger_accounts, 0},
    {"GET", "/_sim/ledger/truth", control_ledger_truth, 0},
    {"POST", "/_sim/ledger/act", control_ledger_act, 0},
    {"GET", "/_sim/ledger/keys", control_ledger_keys, 0},
    {"GET", "/_sim/content/hosts", control_content_hosts, 0},
    {"POST", "/_sim/content/manner", control_content_manner, 0},
    {"POST", "/_sim/content/act", control_content_act, 0},
    {"GET", "/_sim/content/truth", control_content_truth, 0},
    {NULL, NULL, ledger_serve, 0},
};

struct sim_options sim_options_default(void)
{
    return (struct sim_options){
        .world = world_options_default(),
        .chain = chain_options_default(),
        .content = content_options_default(),
        .explorer_window = 10000,
        .events = 1000,
        .retention_us = 24LL * 3600 * 1000000,
        .ping_ms = 30000,
        .pong_wait_ms = 5000,
        .password = "tide-mark-sim1-pass",
        .token_seconds = 7200,
        .slow_page_ms = 30000,
    };
}

static void tell_subscribers(struct sim *sim)
{
    for (struct subscriber *at = sim->subscribers; at != NULL; at = at->list_next)
        subscriber_wake(at);
}

void sim_step(struct sim *sim, uint32_t events)
{
    world_grow(sim->world, events);
    tell_subscribers(sim);
}

uint32_t sim_append(struct sim *sim, const struct world_event *event, int64_t at_us)
{
    const struct world_event *record = event;
    if (event->kind == EVENT_DELETE)
        record = world_event(sim->world, event->subject);
    if (record->collection == COLLECTION_FOLLOW && record->account == 0 && record->subject != 0)
        world_set_followed(sim->world, record->subject, event->kind == EVENT_CREATE);
    uint32_t k = world_append(sim->world, event, at_us);
    tell_subscribers(sim);
    return k;
}

void sim_faults_changed(struct sim *sim)
{
    const struct fault *skew = &sim->faults.faults[FAULT_SKEW];
    world_set_skew(sim->world, skew->armed ? skew->us : 0);
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

static void watch_request(void *arg, const struct http_request *request, int status)
{
    struct sim *sim = arg;
    request_log_add(&sim->requests, request, status);
}

static enum tls_manner choose_manner(void *arg)
{
    struct sim *sim = arg;
    const struct fault *fault = fault_plan_fire(&sim->faults, FAULT_TLS, "");
    if (fault == NULL)
        return TLS_PROPER;
    return fault->status == 1 ? TLS_STRANGE : TLS_GARBAGE;
}

void sim_address(const struct sim *sim, char out[64])
{
    snprintf(out, 64, "%s://127.0.0.1:%u", sim->keys == NULL ? "http" : "https",
             http_server_port(sim->http));
}

void sim_plain_address(const struct sim *sim, char out[64])
{
    snprintf(out, 64, "http://127.0.0.1:%u", http_server_port(sim->plain));
}

static enum rc listen_for_clients(struct sim *sim, struct err *err)
{
    const struct sim_options *options = &sim->options;
    enum rc rc = http_server_start(&sim->http, sim->loop, options->port, sim->routes, sim, err);
    if (rc == RC_OK && options->tls)
        rc = tls_keys_new(options->tls_cert_file, options->tls_key_file, &sim->keys, err);
    /* A handshake that fails must not fail whoever steers the simulation. */
    if (rc == RC_OK && options->tls)
        rc = http_server_start(&sim->plain, sim->loop, 0, sim->routes, sim, err);
    if (rc != RC_OK)
        return rc;
    if (options->tls)
        http_server_secure(sim->http, sim->keys, choose_manner);
    http_server_watch(sim->http, watch_request);
    return RC_OK;
}

enum rc sim_start(struct sim *sim, uv_loop_t *loop, const struct sim_options *options,
                  struct err *err)
{
    memset(sim, 0, sizeof *sim);
    sim->options = *options;
    sim->loop = loop;
    sim->routes = memory_new(sizeof all_routes);
    memcpy(sim->routes, all_routes, sizeof all_routes);
    enum rc rc = listen_for_clients(sim, err);
    if (rc != RC_OK)
        return rc;
    /* Where the world's own pages lie, when nobody said so: here. */
    if (sim->options.world.web_base[0] == '\0')
        sim_address(sim, sim->options.world.web_base);
    sim->world = world_new(&sim->options.world);
    world_grow(sim->world, options->events);
    ledger_init(&sim->ledger, &options->chain, options->explorer_window);
    rc = content_world_start(&sim->content, loop, &options->content, err);
    if (rc != RC_OK)
        return rc;
    uv_timer_init(loop, &sim->timer);
    sim->timer.data = sim;
    uv_update_time(loop);
    sim->begun_ms = uv_now(loop);
    if (options->rate > 0)
        uv_timer_start(&sim->timer, on_tick, TICK_MS, TICK_MS);
    return RC_OK;
}

void sim_stop(struct sim *sim)
{
    uv_close((uv_handle_t *)&sim->timer, NULL);
    http_server_stop(sim->http);
    if (sim->plain != NULL)
        http_server_stop(sim->plain);
    content_world_stop(&sim->content);
    for (struct subscriber *at = sim->subscribers; at != NULL; at = at->list_next) {
        at->ended = true;
        peer_reset(ws_peer(at->ws));
    }
}

void sim_deinit(struct sim *sim)
{
    assert(sim->subscribers == NULL);
    http_server_free(sim->http);
    if (sim->plain != NULL)
        http_server_free(sim->plain);
    for (int i = 0; i < 4; i++)
        dictionary_free(sim->dictionaries[i / 2][i % 2]);
    world_free(sim->world);
    ledger_deinit(&sim->ledger);
    content_world_deinit(&sim->content);
    text_free(&sim->last_query);
    text_free(&sim->last_update);
    tls_keys_free(sim->keys);
    free(sim->losses);
    free(sim->sessions.used);
    request_log_deinit(&sim->requests);
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
