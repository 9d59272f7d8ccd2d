/* SPDX-License-Identifier: Apache-2.0 */
#include "sim_world.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

#define SECOND_US INT64_C(1000000)

static const char *const hosts[SIM_SERVERS] = {
    [SERVER_ALPHA] = "https://alpha.example/",   [SERVER_BETA] = "https://beta.example/",
    [SERVER_NODE_A] = "https://node-a.example/", [SERVER_NODE_B] = "https://node-b.example/",
    [SERVER_GATE_A] = "https://gate-a.example/", [SERVER_GATE_B] = "https://gate-b.example/"};

static enum sim_server find_server(const struct sim_world *world, const char *url)
{
    for (enum sim_server server = 0; server < SIM_SERVERS; server++)
        if (strncmp(url, hosts[server], strlen(hosts[server])) == 0)
            return server;
    sim_fail(world, "nobody is at %s", url);
}

/* What is said behind the host. */
static const char *path_of(const struct http_call *call)
{
    return text_string(&call->url) + strlen(hosts[call->server]);
}

static void say(struct http_call *call)
{
    struct sim_world *world = call->life->world;
    if (call->said)
        return;
    call->said = true;
    if (call->server < SERVER_NODE_A)
        call->status = sim_ledger_say(world, (int)call->server, path_of(call), &call->body);
    else if (call->server < SERVER_GATE_A)
        call->status = sim_node_say(world, (int)(call->server - SERVER_NODE_A),
                                    text_string(&call->question), &call->body);
    else
        call->status =
            sim_gateway_say(world, (int)(call->server - SERVER_GATE_A), path_of(call), &call->body);
    if (call->garbled)
        call->body.len /= 2;
}

/* ---- an answer ---- */

static void release(struct http_call *call)
{
    struct http_call **link = &call->life->calls;
    while (*link != call)
        link = &(*link)->next;
    *link = call->next;
    timer_heap_disarm(&call->life->timers, &call->timer);
    text_free(&call->url);
    text_free(&call->question);
    text_free(&call->body);
    free(call);
}

void sim_http_free(struct sim_life *life)
{
    while (life->calls != NULL)
        release(life->calls);
}

void sim_http_cancel(struct runtime *runtime, struct http_call *call)
{
    (void)runtime;
    release(call);
}

static void arrive(void *arg)
{
    struct http_call *call = arg;
    struct sim_life *life = call->life;
    struct text body = {0}, url = call->url;
    if (!call->lost)
        say(call);
    struct http_response response = {.rc = call->lost ? RC_RETRY : RC_OK,
                                     .status = call->lost ? 0 : call->status,
                                     .headers = bytes_of(""),
                                     .retry_after_ms = call->retry_after_ms,
                                     .effective_url = text_string(&url)};
    if (call->lost)
        err_set(&response.err, RC_RETRY, "no answer");
    if (call->retry_after_ms > 0)
        life->manners[call->server].quiet_until_us =
            life->world->now_us + call->retry_after_ms * 1000;
    body = call->body;
    memset(text_reserve(&body, ARENA_PAD), 0, ARENA_PAD);
    response.body = text_bytes(&body);
    http_done_fn *done = call->done;
    void *done_arg = call->arg;
    sim_trace(life->world, "answer %d %d %016" PRIx64, (int)call->server, response.status,
              sim_hash(response.body));
    call->url = call->body = (struct text){0};
    release(call);
    done(done_arg, &response);
    text_free(&body);
    text_free(&url);
}

/* ---- a question ---- */

static void refuse(struct http_call *call, int status)
{
    call->status = status;
    call->said = true;
    text_append_string(&call->body, "{}");
}

/* What becomes of this question; how long it takes. */
static int64_t choose_fate(struct http_call *call)
{
    struct sim_world *world = call->life->world;
    struct sim_swarm *swarm = &world->swarm;
    int64_t *down_until_us = &world->down_until_us[call->server];
    call->retry_after_ms = -1;
    if (sim_strikes(swarm, FAULT_SERVER_DIES))
        *down_until_us = world->now_us + sim_between(swarm, 5, 300) * SECOND_US;
    if (world->now_us < *down_until_us && !swarm->healed) {
        call->lost = sim_between(swarm, 0, 1) == 0;
        refuse(call, 503);
        return sim_between(swarm, 1000, 3 * SECOND_US);
    }
    if (sim_strikes(swarm, FAULT_HTTP_LOST)) {
        call->lost = true;
        return sim_between(swarm, 1000, 10 * SECOND_US);
    }
    if (sim_strikes(swarm, FAULT_HTTP_500)) {
        refuse(call, 500);
    } else if (sim_strikes(swarm, FAULT_HTTP_429)) {
        refuse(call, 429);
        if (sim_between(swarm, 0, 1) == 0)
            call->retry_after_ms = sim_between(swarm, 1, 20) * 1000;
    } else {
        call->garbled = sim_strikes(swarm, FAULT_HTTP_GARBLED);
        if (sim_between(swarm, 0, 1) == 0)
            say(call);
    }
    if (sim_strikes(swarm, FAULT_HTTP_SLOW))
        return sim_between(swarm, SECOND_US, 9 * SECOND_US);
    return sim_between(swarm, 1000, 400000);
}

struct http_call *sim_http_send(struct runtime *runtime, const struct http_request *request,
                                http_done_fn *done, void *arg)
{
    struct sim_life *life = (struct sim_life *)runtime;
    struct sim_world *world = life->world;
    struct http_call *call = memory_new_zeroed(1, sizeof *call);
    *call = (struct http_call){.next = life->calls,
                               .life = life,
                               .done = done,
                               .arg = arg,
                               .server = find_server(world, request->url),
                               .timer = {.fn = arrive, .arg = call}};
    life->calls = call;
    text_append_string(&call->url, request->url);
    if (request->body.len > 0)
        text_append(&call->question, request->body.data, request->body.len);
    sim_trace(world, "ask %s %.*s", request->url, (int)request->body.len,
              request->body.len > 0 ? request->body.data : "");
    if (world->now_us < life->manners[call->server].quiet_until_us)
        sim_fail(world, "%s is asked while it wants to be left alone", request->url);
    if (call->server < SERVER_NODE_A)
        sim_ledger_hear(life, (int)call->server, path_of(call));
    timer_heap_arm(&life->timers, &call->timer, world->now_us + choose_fate(call));
    return call;
}
