/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/event_json.h"
#include "sim/query_string.h"
#include "sim/sim.h"
#include "sim/stream_filter.h"
#include "sim/subscriber.h"
#include "sim/xrpc.h"

#include <stdlib.h>
#include <string.h>

#define MESSAGE_BYTES_MAX 65536u
#define KINDS_MAX         4u

/* What a request asked for, and the first thing that is wrong with it. */
struct reading {
    struct subscriber *subscriber;
    struct err err;
    const char *error; /* NULL: nothing is wrong */
    bool kinds[KINDS_MAX];
    unsigned kind_count, did_count;
    bool outdated; /* a time before the floor: clamped, and said so */
};

static void reply_error(struct http_exchange *exchange, int status, const char *error,
                        const char *message)
{
    struct text body = {0};
    text_appendf(&body, "{\"error\":\"%s\",\"message\":", error);
    event_json_string(&body, bytes_of(message));
    text_append_char(&body, '}');
    http_reply(exchange, status, "application/json", NULL, text_bytes(&body));
    text_free(&body);
}

static void complain(struct reading *reading, const char *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void complain(struct reading *reading, const char *error, const char *format, ...)
{
    va_list args;
    if (reading->error != NULL)
        return;
    struct text sentence = {0};
    va_start(args, format);
    text_vappendf(&sentence, format, args);
    va_end(args);
    reading->error = error;
    (void)err_set(&reading->err, RC_REJECT, "%s", text_string(&sentence));
    text_free(&sentence);
}

static void read_cursor(struct reading *reading, struct bytes value)
{
    struct subscriber *subscriber = reading->subscriber;
    const struct sim *sim = subscriber->sim;
    uint32_t floor = sim_replay_floor(sim);
    int64_t cursor;
    if (!bytes_to_i64(value, &cursor) || cursor < 0) {
        complain(reading, "InvalidRequest", "cursor must be a non-negative integer");
        return;
    }
    bool is_time = cursor >= SEQ_CURSOR_END;
    subscriber->next = is_time ? world_find_shown(sim->world, cursor) : sim_find_seq(sim, cursor);
    if (is_time && floor > 0 && cursor < world_shown_us(sim->world, floor)) {
        reading->outdated = true;
        subscriber->next = floor;
    } else if (subscriber->next < floor) {
        complain(reading, "CursorTooOld", "cursor %lld is older than the lookback floor seq %lld",
                 (long long)cursor, (long long)sim_seq(sim, floor));
    }
    subscriber->replaying = subscriber->next < world_count(sim->world);
}

static void read_kind(struct reading *reading, struct bytes value)
{
    static const char *const names[KINDS_MAX] = {"commit", "identity", "account", "sync"};
    unsigned kind = 0;
    while (kind < KINDS_MAX && !bytes_equal_string(value, names[kind]))
        kind++;
    if (kind == KINDS_MAX || ++reading->kind_count > KINDS_MAX)
        complain(reading, "InvalidRequest", "unknown kind: %.*s", (int)value.len, value.data);
    else
        reading->kinds[kind] = true;
}

static void read_dictionary(struct reading *reading, struct bytes value)
{
    struct subscriber *subscriber = reading->subscriber;
    unsigned id = dictionary_id(sim_dictionary(subscriber->sim, WIRE_V2, false));
    uint64_t wanted;
    if (!bytes_to_u64(value, &wanted) || wanted == 0)
        complain(reading, "InvalidRequest", "zstdDictionary must be a positive integer");
    else if (wanted != id)
        complain(reading, "UnknownZstdDictionary", "unknown dictionary; the current one is %u", id);
    subscriber->compress = true;
}

static void read_parameter(struct reading *reading, struct bytes name, struct bytes value)
{
    struct subscriber *subscriber = reading->subscriber;
    struct err err;
    if (bytes_equal_string(name, "cursor")) {
        read_cursor(reading, value);
    } else if (bytes_equal_string(name, "kinds")) {
        read_kind(reading, value);
    } else if (bytes_equal_string(name, "dids")) {
        if (++reading->did_count > FILTER_DIDS_MAX ||
            stream_filter_add_did(&subscriber->filter, subscriber->sim->world, value, &err) !=
                RC_OK)
            complain(reading, "InvalidRequest", "dids: invalid or more than %d", FILTER_DIDS_MAX);
    } else if (bytes_equal_string(name, "collections")) {
        if (stream_filter_add_collection(&subscriber->filter, value, &err) != RC_OK)
            complain(reading, "InvalidRequest", "%s", err.text);
    } else if (bytes_equal_string(name, "maxMessageSizeBytes")) {
        uint64_t *bytes_max = &subscriber->filter.bytes_max;
        if (!bytes_to_u64(value, bytes_max) || *bytes_max > UINT32_MAX)
            complain(reading, "InvalidRequest", "maxMessageSizeBytes must be from 0 to 2^32-1");
    } else if (bytes_equal_string(name, "zstdDictionary")) {
        read_dictionary(reading, value);
    } else if (bytes_equal_string(name, "wantedDids")) {
        complain(reading, "InvalidRequest", "wantedDids is called dids here");
    } else if (bytes_equal_string(name, "wantedCollections")) {
        complain(reading, "InvalidRequest", "wantedCollections is called collections here");
    } else if (bytes_equal_string(name, "requireHello")) {
        complain(reading, "InvalidRequest",
                 "requireHello is not supported: filters are parameters");
    } else if (bytes_equal_string(name, "compress")) {
        complain(reading, "InvalidRequest", "compress is not supported: use zstdDictionary");
    }
}

static void read_request(struct reading *reading, const struct http_request *request)
{
    struct stream_filter *filter = &reading->subscriber->filter;
    struct query_walk walk = query_walk(request->query);
    while (query_walk_next(&walk))
        read_parameter(reading, walk.name, walk.value);
    query_walk_deinit(&walk);
    if (http_request_header(request, "Socket-Encoding").data != NULL)
        complain(reading, "InvalidRequest", "Socket-Encoding is not supported: use zstdDictionary");
    if (reading->kind_count == 0)
        return;
    if (!reading->kinds[0] && filter->collection_count > 0)
        complain(reading, "InvalidRequest", "collections need the kind commit");
    if (!reading->kinds[0])
        filter->hidden_kinds |= 1u << EVENT_CREATE | 1u << EVENT_UPDATE | 1u << EVENT_DELETE;
    if (!reading->kinds[1])
        filter->hidden_kinds |= 1u << EVENT_IDENTITY;
    if (!reading->kinds[2])
        filter->hidden_kinds |= 1u << EVENT_ACCOUNT;
}

static void on_message(void *arg, enum ws_opcode opcode, struct bytes message)
{
    (void)opcode;
    (void)message;
    subscriber_end(arg, 1008, "this stream takes no messages");
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

void jetstream_v2_subscribe(struct http_exchange *exchange, void *arg)
{
    struct sim *sim = arg;
    struct ws_options options = {.ping_ms = sim->options.ping_ms,
                                 .pong_wait_ms = sim->options.pong_wait_ms,
                                 .message_bytes_max = MESSAGE_BYTES_MAX,
                                 .subprotocol = "xrpc.v1.json"};
    if (subscriber_refuse(sim, exchange, WIRE_V2))
        return;
    if (sim->options.v1_only) {
        http_reply_text(exchange, 404, "404 page not found\n");
        return;
    }
    struct subscriber *subscriber = subscriber_new(sim, WIRE_V2);
    struct reading reading = {.subscriber = subscriber};
    read_request(&reading, http_exchange_request(exchange));
    if (reading.error != NULL)
        reply_error(exchange, 400, reading.error, reading.err.text);
    else
        subscriber->ws = ws_accept(exchange, &options, &stream_handler, subscriber);
    if (subscriber->ws == NULL) {
        subscriber_free(subscriber);
        return;
    }
    if (reading.outdated)
        subscriber_send_json(subscriber,
                             "{\"$type\":\"message\",\"payload\":{\"$type\":"
                             "\"network.bsky.jetstream.subscribeEvents#info\",\"message\":"
                             "\"cursor is older than the lookback\",\"name\":\"OutdatedCursor\"}}");
    subscriber_join(subscriber);
}

void jetstream_v2_dictionary(struct http_exchange *exchange, void *arg)
{
    struct sim *sim = arg;
    if (sim->options.v1_only) {
        http_reply_text(exchange, 404, "404 page not found\n");
        return;
    }
    struct xrpc call;
    if (!xrpc_begin(&call, exchange, arg))
        return;
    struct dictionary *dictionary = sim_dictionary(sim, WIRE_V2, false);
    struct bytes body = dictionary_bytes(dictionary);
    unsigned id = dictionary_id(dictionary);
    struct text headers = {0};
    if (fault_plan_fire(&sim->faults, FAULT_HTTP_TRUNCATE, call.method) != NULL)
        body.len /= 2;
    if (query_get_u64(http_exchange_request(exchange)->query, "id", id) != id) {
        text_appendf(&headers, "unknown dictionary; the current one is %u", id);
        reply_error(exchange, 404, "DictionaryNotFound", text_string(&headers));
    } else {
        text_appendf(&headers,
                     "ETag: \"zstd-dict-%u\"\r\nX-Zstd-Dictionary-Id: %u\r\n"
                     "Cache-Control: public, max-age=31536000, immutable\r\n",
                     id, id);
        http_reply(exchange, 200, "application/octet-stream", text_string(&headers), body);
    }
    text_free(&headers);
}
