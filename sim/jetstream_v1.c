/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "sim/query_string.h"
#include "sim/sim.h"
#include "sim/stream_filter.h"
#include "sim/subscriber.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGE_BYTES_MAX 10000000u

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
    subscriber_end(subscriber, subscriber->sim->options.v2_software ? code : 1000, reason);
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
            subscriber->sim->options_updates++;
            text_clear(&subscriber->sim->last_update);
            text_append(&subscriber->sim->last_update, message.data, message.len);
            subscriber_wake(subscriber);
        }
    }
    json_doc_free(doc);
}

static void on_ready(void *arg)
{
    subscriber_wake(arg);
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
    if (sim->options.v2_software && cursor < SEQ_CURSOR_END) {
        subscriber->next = sim_find_seq(sim, cursor);
    } else {
        /* The older server compares decimal text: fewer digits mean a prefix. */
        while (cursor > 0 && cursor < SEQ_CURSOR_END)
            cursor *= 10;
        subscriber->next = world_find_shown(sim->world, cursor);
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

void jetstream_v1_subscribe(struct http_exchange *exchange, void *arg)
{
    struct sim *sim = arg;
    struct err err;
    struct ws_options options = {.ping_ms = sim->options.ping_ms,
                                 .pong_wait_ms = sim->options.pong_wait_ms,
                                 .message_bytes_max = MESSAGE_BYTES_MAX};
    if (subscriber_refuse(sim, exchange, WIRE_V1))
        return;
    struct subscriber *subscriber = subscriber_new(sim, WIRE_V1);
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
