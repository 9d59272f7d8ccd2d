/* SPDX-License-Identifier: Apache-2.0
 *
 * The machine as a life sees it, and the hosts it can reach.
 *
 * A host sends the history as the Jetstream v1 wire does: from the cursor on, the event at the
 * cursor included; from what is left when the cursor is older than its retention, without a word;
 * and then what happens, as it happens. */
#include "sim_world.h"

#include "base/arena.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define MONO_ZERO_US (SIM_BEGIN_US - 3600 * INT64_C(1000000))
#define NO_EVENT     SIZE_MAX
#define REORDER_US   INT64_C(900000)
#define TAIL_MAX     8

const char *const sim_host_urls[SIM_HOSTS] = {"wss://alpha.example/subscribe",
                                              "wss://beta.example/subscribe",
                                              "wss://gamma.example/subscribe"};
const char *const sim_host_names[SIM_HOSTS] = {"alpha.example", "beta.example", "gamma.example"};

enum phase { PHASE_DIAL, PHASE_STREAM, PHASE_CLOSE };

struct ws {
    struct ws *next;
    struct sim_life *life;
    const struct ws_events *events;
    void *arg;
    int host;
    enum phase phase;
    struct timer timer;
    size_t first, at;    /* events: it began with, and to send next */
    size_t held;         /* an event sent later than its successors */
    bool on_hold;        /* nobody listens */
    bool caught_up;      /* the replay came to its end once */
    bool rushing;        /* a burst: frames come without a pause */
    int close_status;    /* what `closed` will say */
    const char *why;     /* and in words */
    const char *refused; /* the body of a refusal */
};

static struct sim_life *life_of(struct runtime *runtime)
{
    return (struct sim_life *)runtime;
}

/* ---- time and chance ---- */

static int64_t wall_us(struct runtime *runtime)
{
    const struct sim_world *world = life_of(runtime)->world;
    return world->now_us + world->wall_offset_us;
}

static int64_t mono_us(struct runtime *runtime)
{
    return life_of(runtime)->world->now_us - MONO_ZERO_US;
}

static uint64_t chance(struct runtime *runtime)
{
    return seeded_next(&life_of(runtime)->world->swarm.random);
}

static void timer_arm(struct runtime *runtime, struct timer *timer, int64_t delay_us)
{
    assert(delay_us >= 0);
    timer_heap_arm(&life_of(runtime)->timers, timer, life_of(runtime)->world->now_us + delay_us);
}

static void timer_disarm(struct runtime *runtime, struct timer *timer)
{
    timer_heap_disarm(&life_of(runtime)->timers, timer);
}

/* ---- a connection ---- */

static void wake(struct ws *ws, int64_t delay_us)
{
    timer_heap_arm(&ws->life->timers, &ws->timer, ws->life->world->now_us + delay_us);
}

static void end(struct ws *ws, int status, const char *why, int64_t delay_us)
{
    ws->phase = PHASE_CLOSE;
    ws->close_status = status;
    ws->why = why;
    wake(ws, delay_us);
}

static void release(struct ws *ws)
{
    struct ws **link = &ws->life->connections;
    while (*link != ws)
        link = &(*link)->next;
    *link = ws->next;
    timer_heap_disarm(&ws->life->timers, &ws->timer);
    free(ws);
}

void sim_connections_free(struct sim_life *life)
{
    while (life->connections != NULL)
        release(life->connections);
}

static void finish(struct ws *ws)
{
    const struct ws_events *events = ws->events;
    void *arg = ws->arg;
    int status = ws->close_status;
    struct err why;
    struct bytes body = bytes_of(ws->refused == NULL ? "" : ws->refused);
    err_set(&why, RC_RETRY, "%s", ws->why);
    sim_trace(ws->life->world, "closed %d %s", status, ws->why);
    release(ws);
    events->closed(arg, status, body, &why);
}

static void note_opening(struct sim_world *world, int host, int64_t asked_us, size_t first,
                         bool cut)
{
    world->openings =
        memory_resize(world->openings, (world->opening_count + 1) * sizeof *world->openings);
    bool stranger = world->db.cursor_host < 0;
    for (size_t i = 0; i < world->opening_count; i++)
        stranger = stranger || world->openings[i].host != host;
    world->openings[world->opening_count++] = (struct sim_opening){
        .host = host, .asked_us = asked_us, .first = first, .cut = cut, .stranger = stranger};
    if (world->last_host >= 0 && world->last_host != host) {
        sim_saw(SIGHT_FAILOVER);
        if (sim_has(&world->swarm, FAULT_HOST_SKEW))
            sim_saw(SIGHT_FAILOVER_SKEWED);
    }
}

/* Where the host begins: at the cursor, or at the oldest event it still has. */
static void find_place(struct ws *ws, int64_t asked_us)
{
    struct sim_world *world = ws->life->world;
    const struct sim_history *history = &world->history;
    int64_t now_us = world->now_us + history->skew_us[ws->host];
    int64_t from_us = asked_us == 0 || asked_us > now_us ? now_us : asked_us;
    size_t wanted = sim_history_find(history, from_us, ws->host);
    size_t oldest = sim_history_find(history, now_us - world->shape.retention_us, ws->host);
    if (oldest == history->count)
        oldest--; /* the live stream never ends: a host always has something to send */
    bool cut = sim_has(&world->swarm, FAULT_RETENTION) && oldest > wanted;
    ws->at = ws->first = cut ? oldest : wanted;
    if (cut) {
        sim_saw(SIGHT_RETENTION_CUT);
        sim_fault_count(FAULT_RETENTION);
    }
    note_opening(world, ws->host, asked_us, ws->at, cut);
}

static void dial_ends(struct ws *ws)
{
    ws->phase = PHASE_STREAM;
    sim_trace(ws->life->world, "opened host %d at %zu", ws->host, ws->at);
    ws->events->opened(ws->arg);
    if (ws->phase == PHASE_STREAM)
        wake(ws, sim_between(&ws->life->world->swarm, 0, 50000));
}

static void send_bytes(struct ws *ws, const struct text *frame)
{
    sim_trace_number(ws->life->world, sim_host_names[ws->host], sim_hash(text_bytes(frame)));
    ws->events->message(ws->arg, false, text_bytes(frame));
}

static void send_event(struct ws *ws, size_t at)
{
    struct text frame = {0};
    struct sim_world *world = ws->life->world;
    sim_history_frame(&world->history, at, ws->host, &frame);
    if (world->history.events[at].kind != EVENT_GARBAGE)
        world->last_host = ws->host;
    send_bytes(ws, &frame);
    if (ws->phase == PHASE_STREAM && sim_strikes(&world->swarm, FAULT_DUPLICATE))
        send_bytes(ws, &frame);
    text_free(&frame);
}

/* Bytes that were damaged on the way: nobody sends them again. */
static void send_wire_garbage(struct ws *ws)
{
    struct text frame = {0};
    struct sim_world *world = ws->life->world;
    text_appendf(&frame, "{\"did\":\"did:plc:sim0001\",\"time_us\":17500000, \"wire\": %zu",
                 world->wire_garbage_count);
    world->wire_garbage = memory_resize(world->wire_garbage, (world->wire_garbage_count + 1) *
                                                                 sizeof *world->wire_garbage);
    digest_sha256(text_bytes(&frame), world->wire_garbage[world->wire_garbage_count++]);
    memset(text_reserve(&frame, ARENA_PAD), 0, ARENA_PAD);
    send_bytes(ws, &frame);
    text_free(&frame);
}

static int64_t event_at(const struct ws *ws, size_t at)
{
    return ws->life->world->history.events[at].at_us;
}

/* The next event in this connection's order; NO_EVENT when there is none yet. */
static size_t choose_event(struct ws *ws)
{
    struct sim_world *world = ws->life->world;
    size_t count = world->history.count, next = ws->at;
    bool there = next < count && event_at(ws, next) <= world->now_us;
    bool next_in_reach =
        ws->held != NO_EVENT && there && event_at(ws, next) - event_at(ws, ws->held) < REORDER_US;
    if (ws->held != NO_EVENT && (!next_in_reach || sim_between(&world->swarm, 0, 2) == 0)) {
        size_t held = ws->held;
        ws->held = NO_EVENT;
        return held;
    }
    if (!there)
        return NO_EVENT;
    ws->at++;
    bool after_in_reach = ws->at < count && event_at(ws, ws->at) <= world->now_us &&
                          event_at(ws, ws->at) - event_at(ws, next) < REORDER_US;
    if (ws->held == NO_EVENT && after_in_reach && sim_strikes(&world->swarm, FAULT_REORDER)) {
        ws->held = next;
        next = ws->at++;
    }
    return next;
}

static bool breaks(struct ws *ws)
{
    struct sim_swarm *swarm = &ws->life->world->swarm;
    if (sim_strikes(swarm, FAULT_DROP_WITH_CLOSE))
        end(ws, 1011, "the host closed", sim_between(swarm, 0, 10000));
    else if (sim_strikes(swarm, FAULT_DROP_ABRUPT))
        end(ws, 0, "connection reset", 0);
    else if (sim_strikes(swarm, FAULT_STALL_DEAD))
        end(ws, 0, "no pong", sim_between(swarm, 10000000, 40000000));
    return ws->phase == PHASE_CLOSE;
}

static int64_t pause_after(struct ws *ws)
{
    struct sim_world *world = ws->life->world;
    if (sim_strikes(&world->swarm, FAULT_SLOW))
        return sim_between(&world->swarm, 100000, 4000000);
    if (ws->held == NO_EVENT && ws->at < world->history.count &&
        event_at(ws, ws->at) > world->now_us)
        return event_at(ws, ws->at) - world->now_us + sim_between(&world->swarm, 1, 150000);
    return ws->rushing ? 0 : sim_between(&world->swarm, 50, 3000);
}

/* Frames of a burst come in one go; else one by one. */
static void stream(struct ws *ws)
{
    struct sim_world *world = ws->life->world;
    int64_t frames = ws->rushing ? sim_between(&world->swarm, 1, 60) : 1;
    for (; frames > 0 && ws->phase == PHASE_STREAM; frames--) {
        if (breaks(ws))
            return;
        if (sim_strikes(&world->swarm, FAULT_GARBAGE_ON_WIRE))
            send_wire_garbage(ws);
        if (ws->phase != PHASE_STREAM)
            return;
        size_t at = choose_event(ws);
        if (at != NO_EVENT) {
            send_event(ws, at);
            continue;
        }
        if (!ws->caught_up && ws->at > ws->first &&
            sim_strikes(&world->swarm, FAULT_CUTOVER_REPEATS)) {
            size_t back = (size_t)sim_between(&world->swarm, 1, TAIL_MAX);
            ws->at = ws->at - ws->first < back ? ws->first : ws->at - back;
        }
        ws->caught_up = true;
        break;
    }
    if (ws->phase == PHASE_STREAM && !ws->on_hold &&
        (ws->at < world->history.count || ws->held != NO_EVENT))
        wake(ws, pause_after(ws));
}

static void connection_turn(void *arg)
{
    struct ws *ws = arg;
    if (ws->phase == PHASE_DIAL)
        dial_ends(ws);
    else if (ws->phase == PHASE_STREAM)
        stream(ws);
    else
        finish(ws);
}

static int find_host(const char *url)
{
    int host = 0;
    while (host < SIM_HOSTS && strncmp(url, sim_host_urls[host], strlen(sim_host_urls[host])) != 0)
        host++;
    assert(host < SIM_HOSTS);
    return host;
}

static struct ws *ws_open(struct runtime *runtime, const struct ws_request *request,
                          const struct ws_events *events, void *arg)
{
    struct sim_life *life = life_of(runtime);
    struct sim_swarm *swarm = &life->world->swarm;
    struct ws *ws = memory_new_zeroed(1, sizeof *ws);
    const char *cursor = strstr(request->url, "cursor=");
    assert(!life->ended);
    *ws = (struct ws){.next = life->connections,
                      .life = life,
                      .events = events,
                      .arg = arg,
                      .host = find_host(request->url),
                      .timer = {.fn = connection_turn, .arg = ws},
                      .held = NO_EVENT};
    life->connections = ws;
    sim_trace(life->world, "dial %s", request->url);
    if (sim_strikes(swarm, FAULT_REFUSED_500)) {
        ws->refused = "out of order";
        end(ws, 500, "refused", sim_between(swarm, 1000, 500000));
    } else if (sim_strikes(swarm, FAULT_REFUSED_429)) {
        end(ws, 429, "too many", sim_between(swarm, 1000, 500000));
    } else if (sim_strikes(swarm, FAULT_DIAL_TIMEOUT)) {
        end(ws, 0, "no answer", 10000000);
    } else {
        find_place(ws, cursor == NULL ? 0 : strtoll(cursor + strlen("cursor="), NULL, 10));
        ws->rushing = sim_strikes(swarm, FAULT_BURST);
        wake(ws, sim_between(swarm, 1000, 300000));
    }
    return ws;
}

static enum rc ws_send_text(struct ws *ws, struct bytes payload)
{
    (void)payload;
    sim_fail(ws->life->world, "nothing is to be said on this wire");
}

static void ws_hold(struct ws *ws, bool on)
{
    bool was = ws->on_hold;
    ws->on_hold = on;
    if (was && !on && ws->phase == PHASE_STREAM)
        wake(ws, 0);
}

static void ws_close(struct ws *ws, uint16_t code, const char *reason)
{
    assert(code == 1000);
    if (strstr(reason, "keeping up") != NULL)
        sim_saw(SIGHT_RING_FULL);
    end(ws, 0, "closed by us", sim_between(&ws->life->world->swarm, 0, 100000));
}

const struct runtime_ops sim_runtime_ops = {.wall_us = wall_us,
                                            .mono_us = mono_us,
                                            .random = chance,
                                            .timer_arm = timer_arm,
                                            .timer_disarm = timer_disarm,
                                            .http_send = sim_http_send,
                                            .http_cancel = sim_http_cancel,
                                            .ws_open = ws_open,
                                            .ws_send_text = ws_send_text,
                                            .ws_hold = ws_hold,
                                            .ws_close = ws_close};
