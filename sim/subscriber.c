/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/subscriber.h"
#include "sim/event_json.h"
#include "sim/frame_fault.h"

#include <stdlib.h>

#define CUTOVER_US 1000000

struct subscriber *subscriber_new(struct sim *sim, enum event_wire wire)
{
    struct subscriber *subscriber = memory_new_zeroed(1, sizeof *subscriber);
    subscriber->sim = sim;
    subscriber->wire = wire;
    subscriber->next = world_count(sim->world);
    subscriber->held = WORLD_NONE;
    return subscriber;
}

void subscriber_free(struct subscriber *subscriber)
{
    if (subscriber->list_back != NULL) {
        *subscriber->list_back = subscriber->list_next;
        if (subscriber->list_next != NULL)
            subscriber->list_next->list_back = subscriber->list_back;
        subscriber->sim->connections--;
    }
    stream_filter_deinit(&subscriber->filter);
    text_free(&subscriber->line);
    text_free(&subscriber->packed);
    free(subscriber);
}

void subscriber_join(struct subscriber *subscriber)
{
    struct sim *sim = subscriber->sim;
    subscriber->list_next = sim->subscribers;
    subscriber->list_back = &sim->subscribers;
    if (subscriber->list_next != NULL)
        subscriber->list_next->list_back = &subscriber->list_next;
    sim->subscribers = subscriber;
    sim->connections++;
    sim->connections_total++;
}

bool subscriber_render(struct subscriber *subscriber, uint32_t k)
{
    text_clear(&subscriber->line);
    const struct sim *sim = subscriber->sim;
    int64_t seq = sim_seq(sim, k);
    if (subscriber->wire == WIRE_V2)
        event_json_v2(sim->world, k, seq, &subscriber->line);
    else
        event_json_v1(sim->world, k, sim->options.v2_software ? seq : 0, &subscriber->line);
    return subscriber->filter.bytes_max == 0 ||
           subscriber->line.len <= subscriber->filter.bytes_max;
}

void subscriber_send_raw(struct subscriber *subscriber, struct bytes payload)
{
    ws_send(subscriber->ws, subscriber->compress ? WS_BINARY : WS_TEXT, payload);
    subscriber->sim->frames++;
    subscriber->sim->frame_bytes += payload.len;
}

void subscriber_send(struct subscriber *subscriber, bool wrong_dictionary)
{
    struct bytes payload = text_bytes(&subscriber->line);
    if (subscriber->compress) {
        dictionary_compress(sim_dictionary(subscriber->sim, subscriber->wire, wrong_dictionary),
                            payload, &subscriber->packed);
        payload = text_bytes(&subscriber->packed);
    }
    subscriber_send_raw(subscriber, payload);
}

void subscriber_send_json(struct subscriber *subscriber, const char *json)
{
    text_clear(&subscriber->line);
    text_append_string(&subscriber->line, json);
    subscriber_send(subscriber, false);
}

/* True when the subscriber is to be kept from this event by a cut-over from replay to live. */
static bool cuts_over(struct subscriber *subscriber, const struct world_event *event, uint32_t k)
{
    struct sim *sim = subscriber->sim;
    const struct world_event *tip = world_event(sim->world, world_count(sim->world) - 1);
    if (subscriber->replaying && !subscriber->cut_over &&
        tip->time_us - event->time_us < CUTOVER_US) {
        const struct fault *fault = fault_plan_fire(&sim->faults, FAULT_CUTOVER, "");
        subscriber->cut_over = true;
        subscriber->cut_left = fault == NULL ? 0 : (uint32_t)fault->bytes + 1;
    }
    if (subscriber->cut_left == 0)
        return false;
    if (--subscriber->cut_left == 0) {
        /* The first one after the hole changes places with the next. */
        subscriber->held = k;
        subscriber->held_left = 1;
    } else {
        sim_lose(sim, k, FAULT_CUTOVER);
    }
    return true;
}

static void release_held(struct subscriber *subscriber)
{
    uint32_t k = subscriber->held;
    subscriber->held = WORLD_NONE;
    if (k != WORLD_NONE && subscriber_render(subscriber, k))
        subscriber_send(subscriber, false);
}

static void deliver(struct subscriber *subscriber, uint32_t k)
{
    struct sim *sim = subscriber->sim;
    const struct world_event *event = world_event(sim->world, k);
    if (!stream_filter_wants(&subscriber->filter, event) || cuts_over(subscriber, event, k))
        return;
    if (subscriber->held != WORLD_NONE &&
        event->time_us - world_event(sim->world, subscriber->held)->time_us >= CUTOVER_US)
        release_held(subscriber);
    if (!subscriber_render(subscriber, k))
        return;
    if (sim->faults.armed_count == 0)
        subscriber_send(subscriber, false);
    else if (!frame_fault_send(subscriber, k))
        return;
    if (subscriber->held != WORLD_NONE && --subscriber->held_left == 0)
        release_held(subscriber);
}

void subscriber_wake(struct subscriber *subscriber)
{
    const struct world *world = subscriber->sim->world;
    if (subscriber->hello_due)
        return;
    while (!subscriber->ended && ws_has_room(subscriber->ws)) {
        if (subscriber->next == world_count(world)) {
            release_held(subscriber);
            subscriber->replaying = false;
            break;
        }
        deliver(subscriber, subscriber->next++);
    }
    if (!subscriber->ended)
        ws_flush(subscriber->ws);
}

void subscriber_end(struct subscriber *subscriber, unsigned code, const char *reason)
{
    subscriber->ended = true;
    ws_close(subscriber->ws, code, reason);
}

bool subscriber_refuse(struct sim *sim, struct http_exchange *exchange, enum event_wire wire)
{
    const struct fault *fault = fault_plan_fire(&sim->faults, FAULT_REFUSE, "");
    struct bytes query = http_exchange_request(exchange)->query;
    struct text headers = {0};
    text_clear(&sim->last_query);
    if (query.len > 0)
        text_append(&sim->last_query, query.data, query.len);
    if (fault == NULL)
        return false;
    if (fault->retry_after > 0)
        text_appendf(&headers, "Retry-After: %u\r\n", fault->retry_after);
    if (fault->status == 0)
        http_drop(exchange);
    else if (fault->status == 200)
        http_reply(exchange, 200, "text/html", text_string(&headers),
                   bytes_of("<!doctype html><title>maintenance</title>"));
    else if (wire == WIRE_V2)
        http_reply(
            exchange, (int)fault->status, "application/json", text_string(&headers),
            bytes_of("{\"error\":\"ServiceUnavailable\",\"message\":\"service not ready\"}"));
    else
        http_reply(exchange, (int)fault->status, "text/plain", text_string(&headers),
                   bytes_of("service not ready: refused by plan\n"));
    text_free(&headers);
    return true;
}
