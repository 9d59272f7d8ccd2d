/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "sim/event_json.h"
#include "sim/frame_fault.h"
#include "sim/query_string.h"
#include "sim/sim.h"
#include "sim/stream_filter.h"
#include "sim/subscriber.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGE_BYTES_MAX 10000000u
#define SEQ_CURSOR_MAX    1000000000000000
#define CUTOVER_US        1000000

static void wake(struct subscriber *subscriber);

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

static void wake(struct subscriber *subscriber)
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

void jetstream_v1_wake(struct sim *sim)
{
    for (struct subscriber *at = sim->subscribers; at != NULL; at = at->list_next)
        wake(at);
}

void jetstream_v1_stop(struct sim *sim)
{
    for (struct subscriber *at = sim->subscribers; at != NULL; at = at->list_next) {
        at->ended = true;
        peer_reset(ws_peer(at->ws));
    }
}

static enum rc read_payload(struct sim *sim, struct json payload, struct stream_filter *filter,
                            struct err *err)
{
    struct json value;
    struct bytes key;
    int64_t bytes_max;
    struct json_walk walk = json_walk(json_get(payload, "wantedCollections"));
    while (json_walk_next(&walk, &key, &value)) {
        enum rc rc = stream_filter_add_collection(filter, json_string_or_absent(value), err);
        if (rc != RC_OK)
            return rc;
    }
    walk = json_walk(json_get(payload, "wantedDids"));
    while (json_walk_next(&walk, &key, &value)) {
        enum rc rc = stream_filter_add_did(filter, sim->world, json_string_or_absent(value), err);
        if (rc != RC_OK)
            return rc;
    }
    if (json_i64(json_get(payload, "maxMessageSizeBytes"), &bytes_max) && bytes_max > 0)
        filter->bytes_max = (uint64_t)bytes_max;
    return RC_OK;
}

static void refuse_message(struct subscriber *subscriber, unsigned code, const char *reason)
{
    subscriber->ended = true;
    ws_close(subscriber->ws, subscriber->sim->options.v2_software ? code : 1000, reason);
}

static void on_message(void *arg, enum ws_opcode opcode, struct bytes message)
{
    struct subscriber *subscriber = arg;
    struct json_doc *doc;
    struct json root;
    struct err err;
    if (opcode != WS_TEXT)
        return;
    doc = json_doc_new(MESSAGE_BYTES_MAX, JSON_DEPTH_MAX);
    if (json_parse_copy(doc, message, &root, &err) != RC_OK) {
        refuse_message(subscriber, 1007, "failed to unmarshal message");
    } else if (bytes_equal_string(json_string_or_absent(json_get(root, "type")),
                                  "options_update")) {
        struct stream_filter filter = {0};
        if (read_payload(subscriber->sim, json_get(root, "payload"), &filter, &err) != RC_OK) {
            stream_filter_deinit(&filter);
            refuse_message(subscriber, 1008, err.text);
        } else {
            stream_filter_deinit(&subscriber->filter);
            subscriber->filter = filter;
            subscriber->hello_due = false;
            wake(subscriber);
        }
    }
    json_doc_free(doc);
}

static void on_ready(void *arg)
{
    wake(arg);
}

static void on_closed(void *arg)
{
    subscriber_free(arg);
}

static const struct ws_handler stream_handler = {
    .on_message = on_message, .on_ready = on_ready, .on_closed = on_closed};

static enum rc read_cursor(struct subscriber *subscriber, struct bytes value, struct err *err)
{
    const struct sim *sim = subscriber->sim;
    uint32_t count = world_count(sim->world), floor = sim_replay_floor(sim);
    int64_t cursor;
    if (value.len == 0)
        return RC_OK;
    if (!bytes_to_i64(value, &cursor) || (cursor < 0 && sim->options.v2_software))
        return err_set(err, RC_REJECT, "invalid cursor: %.*s", (int)value.len, value.data);
    if (sim->options.v2_software && cursor < SEQ_CURSOR_MAX) {
        uint64_t k = cursor == 0 ? 0 : (uint64_t)cursor - 1;
        subscriber->next = k > count ? count : (uint32_t)k;
    } else {
        /* The older server compares decimal text: fewer digits mean a prefix. */
        while (cursor > 0 && cursor < SEQ_CURSOR_MAX)
            cursor *= 10;
        subscriber->next = world_find_time(sim->world, cursor);
    }
    if (subscriber->next < floor)
        subscriber->next = floor;
    subscriber->replaying = subscriber->next < count;
    return RC_OK;
}

static enum rc read_parameter(struct subscriber *subscriber, const struct query_walk *walk,
                              struct err *err)
{
    if (bytes_equal_string(walk->name, "wantedCollections"))
        return stream_filter_add_collection(&subscriber->filter, walk->value, err);
    if (bytes_equal_string(walk->name, "wantedDids"))
        return stream_filter_add_did(&subscriber->filter, subscriber->sim->world, walk->value, err);
    if (bytes_equal_string(walk->name, "cursor"))
        return read_cursor(subscriber, walk->value, err);
    if (bytes_equal_string(walk->name, "compress"))
        subscriber->compress |= bytes_equal_string(walk->value, "true");
    else if (bytes_equal_string(walk->name, "requireHello"))
        subscriber->hello_due |= bytes_equal_string(walk->value, "true");
    else if (bytes_equal_string(walk->name, "maxMessageSizeBytes") &&
             !bytes_to_u64(walk->value, &subscriber->filter.bytes_max))
        subscriber->filter.bytes_max = 0;
    return RC_OK;
}

static enum rc read_options(struct subscriber *subscriber, const struct http_request *request,
                            struct err *err)
{
    enum rc rc = RC_OK;
    struct bytes encoding = http_request_header(request, "Socket-Encoding");
    struct query_walk walk = query_walk(request->query);
    while (rc == RC_OK && query_walk_next(&walk))
        rc = read_parameter(subscriber, &walk, err);
    query_walk_deinit(&walk);
    if (encoding.len >= 4 && memmem(encoding.data, encoding.len, "zstd", 4) != NULL)
        subscriber->compress = true;
    return rc;
}

/* Answers in place of the handshake when a fault says so. */
static bool refuse_connect(struct sim *sim, struct http_exchange *exchange)
{
    const struct fault *fault = fault_plan_fire(&sim->faults, FAULT_REFUSE, "");
    struct text headers = {0};
    if (fault == NULL)
        return false;
    if (fault->retry_after > 0)
        text_appendf(&headers, "Retry-After: %u\r\n", fault->retry_after);
    if (fault->status == 0)
        http_drop(exchange);
    else if (fault->status == 200)
        http_reply(exchange, 200, "text/html", text_string(&headers),
                   bytes_of("<!doctype html><title>maintenance</title>"));
    else
        http_reply(exchange, (int)fault->status, "text/plain", text_string(&headers),
                   bytes_of("service not ready: refused by plan\n"));
    text_free(&headers);
    return true;
}

void jetstream_v1_subscribe(struct http_exchange *exchange, void *arg)
{
    struct sim *sim = arg;
    struct err err;
    struct ws_options options = {.ping_ms = sim->options.ping_ms,
                                 .pong_wait_ms = sim->options.pong_wait_ms,
                                 .message_bytes_max = MESSAGE_BYTES_MAX};
    if (refuse_connect(sim, exchange))
        return;
    struct subscriber *subscriber = subscriber_new(sim);
    if (read_options(subscriber, http_exchange_request(exchange), &err) != RC_OK) {
        http_reply_text(exchange, 400, err.text);
        subscriber_free(subscriber);
        return;
    }
    subscriber->ws = ws_accept(exchange, &options, &stream_handler, subscriber);
    if (subscriber->ws == NULL)
        subscriber_free(subscriber);
    else
        subscriber_join(subscriber);
}
