/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/frame_fault.h"

#include <string.h>

static const char *name_of(const struct world_event *event)
{
    if (event->kind == EVENT_IDENTITY)
        return "identity";
    if (event->kind == EVENT_ACCOUNT)
        return "account";
    return world_collection_name(event->collection);
}

static void send_huge(struct subscriber *subscriber, uint64_t bytes)
{
    static const char head[] = "{\"did\":\"did:plc:aaaaaaaaaaaaaaaaaaaaaaaa\",\"time_us\":1,"
                               "\"kind\":\"huge\",\"filling\":\"";
    static const char tail[] = "\"}";
    size_t frame = sizeof head - 1 + sizeof tail - 1;
    size_t filling = bytes > frame ? (size_t)bytes - frame : 0;
    struct text *out = peer_out(ws_peer(subscriber->ws));
    ws_send_head(subscriber->ws, WS_TEXT, frame + filling);
    text_append(out, head, sizeof head - 1);
    memset(text_reserve(out, filling), 'x', filling);
    out->len += filling;
    text_append(out, tail, sizeof tail - 1);
}

/* Appends frames that come in front of the event; false when the event itself is not to be sent. */
static bool send_before(struct subscriber *subscriber, const char *name, uint32_t k)
{
    struct sim *sim = subscriber->sim;
    static const char garbage[] = "\x01 this is {no JSON ]";
    const struct fault *fault;
    if (fault_plan_fire(&sim->faults, FAULT_GARBAGE, name) != NULL)
        subscriber_send_raw(subscriber, bytes_of(garbage));
    fault = fault_plan_fire(&sim->faults, FAULT_HUGE, name);
    if (fault != NULL)
        send_huge(subscriber, fault->bytes);
    fault = fault_plan_fire(&sim->faults, FAULT_TRUNCATE, name);
    if (fault == NULL)
        return true;
    size_t whole = subscriber->line.len;
    subscriber->line.len = whole / 2;
    subscriber_send(subscriber, false);
    subscriber->line.len = whole;
    if (fault->lossy)
        sim_lose(sim, k, FAULT_TRUNCATE);
    return !fault->lossy;
}

/* Cuts what waits to be sent in the middle of its last frame. */
static void cut_last_frame(struct subscriber *subscriber)
{
    struct text *out = peer_out(ws_peer(subscriber->ws));
    size_t frame = subscriber->compress ? subscriber->packed.len : subscriber->line.len;
    out->len -= frame / 2 < out->len ? frame / 2 : 0;
}

/* Things that happen to the connection after the event was appended. */
static void disturb(struct subscriber *subscriber, const char *name)
{
    struct fault_plan *plan = &subscriber->sim->faults;
    struct peer *peer = ws_peer(subscriber->ws);
    const struct fault *fault;
    if ((fault = fault_plan_fire(plan, FAULT_SLOW, name)) != NULL)
        peer_slow(peer, (size_t)fault->bytes, fault->ms);
    if ((fault = fault_plan_fire(plan, FAULT_STALL, name)) != NULL)
        peer_stall(peer, fault->ms);
    if ((fault = fault_plan_fire(plan, FAULT_CLOSE, name)) != NULL) {
        subscriber_end(subscriber, fault->status, "server shutting down");
    } else if (fault_plan_fire(plan, FAULT_TOO_SLOW, name) != NULL) {
        subscriber_send_json(subscriber, "{\"$type\":\"error\",\"error\":\"ConsumerTooSlow\","
                                         "\"message\":\"consumer too slow\"}");
        subscriber_end(subscriber, 1008, "ConsumerTooSlow");
    } else if (fault_plan_fire(plan, FAULT_DISCONNECT, name) != NULL) {
        subscriber->ended = true;
        peer_finish(peer);
    } else if (fault_plan_fire(plan, FAULT_CUT, name) != NULL) {
        subscriber->ended = true;
        cut_last_frame(subscriber);
        peer_finish(peer);
    } else if (fault_plan_fire(plan, FAULT_RESET, name) != NULL) {
        subscriber->ended = true;
        cut_last_frame(subscriber);
        peer_flush(peer);
        peer_reset(peer);
    }
}

bool frame_fault_send(struct subscriber *subscriber, uint32_t k)
{
    struct sim *sim = subscriber->sim;
    const char *name = name_of(world_event(sim->world, k));
    const struct fault *fault;
    bool wrong_dictionary = false;
    for (enum fault_kind kind = FAULT_DROP; kind <= FAULT_OMIT; kind++) {
        if (fault_plan_fire(&sim->faults, kind, name) != NULL) {
            sim_lose(sim, k, kind);
            return false;
        }
    }
    (void)fault_plan_fire(&sim->faults, FAULT_SKEW, name);
    if (subscriber->held == WORLD_NONE &&
        (fault = fault_plan_fire(&sim->faults, FAULT_REORDER, name)) != NULL) {
        subscriber->held = k;
        subscriber->held_left = fault->bytes == 0 ? 1 : (uint32_t)fault->bytes;
        return false;
    }
    bool whole = send_before(subscriber, name, k);
    if (whole && subscriber->compress &&
        fault_plan_fire(&sim->faults, FAULT_WRONG_DICTIONARY, name) != NULL) {
        wrong_dictionary = true;
        sim_lose(sim, k, FAULT_WRONG_DICTIONARY);
    }
    if (whole)
        subscriber_send(subscriber, wrong_dictionary);
    if (whole && fault_plan_fire(&sim->faults, FAULT_DUPLICATE, name) != NULL)
        subscriber_send(subscriber, wrong_dictionary);
    disturb(subscriber, name);
    return true;
}
