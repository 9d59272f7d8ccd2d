/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_write.h"
#include "sim/event_json.h"
#include "sim/query_string.h"
#include "sim/sim.h"

#include <stdlib.h>
#include <string.h>

#define STEP_EVENTS_MAX 100000000u

static void reply_json(struct http_exchange *exchange, int status, struct text *body)
{
    text_append_char(body, '\n');
    http_reply(exchange, status, "application/json", NULL, text_bytes(body));
    text_free(body);
}

static void reply_lines(struct http_exchange *exchange, struct text *body)
{
    http_reply(exchange, 200, "application/x-ndjson", NULL,
               bytes_make(text_string(body), body->len));
    text_free(body);
}

static void put_counter(struct json_writer *writer, const char *key, uint64_t value)
{
    json_key(writer, key);
    json_put_u64(writer, value);
}

static void put_requests(struct json_writer *writer, const struct sim *sim)
{
    struct text name = {0};
    json_key(writer, "requests");
    json_begin_object(writer);
    const struct http_route *route = sim->routes;
    for (; route->path != NULL; route++) {
        text_clear(&name);
        text_appendf(&name, "%s %s", route->method, route->path);
        put_counter(writer, text_string(&name), route->requests);
    }
    put_counter(writer, "other", route->requests);
    json_end_object(writer);
    text_free(&name);
}

void control_stats(struct http_exchange *exchange, void *arg)
{
    struct sim *sim = arg;
    struct text body = {0};
    struct json_writer writer;
    uint32_t count = world_count(sim->world);
    json_writer_init(&writer, &body);
    json_begin_object(&writer);
    put_counter(&writer, "events", count);
    json_key(&writer, "first_time_us");
    json_put_i64(&writer, count == 0 ? 0 : world_shown_us(sim->world, 0));
    json_key(&writer, "last_time_us");
    json_put_i64(&writer, count == 0 ? 0 : world_shown_us(sim->world, count - 1));
    put_counter(&writer, "replay_floor", sim_replay_floor(sim));
    put_counter(&writer, "connections", sim->connections);
    put_counter(&writer, "connections_total", sim->connections_total);
    put_counter(&writer, "frames", sim->frames);
    put_counter(&writer, "frame_bytes", sim->frame_bytes);
    put_counter(&writer, "options_updates", sim->options_updates);
    put_counter(&writer, "lost", sim->loss_count);
    put_counter(&writer, "sessions_created", sim->sessions.created);
    put_counter(&writer, "sessions_refreshed", sim->sessions.refreshed);
    put_counter(&writer, "tokens_expired", sim->sessions.expired);
    json_key(&writer, "last_query");
    json_put_cstring(&writer, text_string(&sim->last_query));
    json_key(&writer, "faults");
    json_begin_object(&writer);
    for (enum fault_kind kind = 0; kind < FAULT_COUNT; kind++)
        put_counter(&writer, fault_name(kind), sim->faults.fired[kind]);
    json_end_object(&writer);
    json_key(&writer, "armed");
    json_begin_array(&writer);
    for (enum fault_kind kind = 0; kind < FAULT_COUNT; kind++)
        if (sim->faults.faults[kind].armed)
            json_put_cstring(&writer, fault_name(kind));
    json_end_array(&writer);
    put_requests(&writer, sim);
    json_end_object(&writer);
    reply_json(exchange, 200, &body);
}

void control_step(struct http_exchange *exchange, void *arg)
{
    struct sim *sim = arg;
    struct text body = {0};
    uint64_t events = query_get_u64(http_exchange_request(exchange)->query, "events", 1);
    if (events > STEP_EVENTS_MAX) {
        http_reply_text(exchange, 400, "too many events\n");
        return;
    }
    sim_step(sim, (uint32_t)events);
    text_appendf(&body, "{\"events\":%u}", world_count(sim->world));
    reply_json(exchange, 200, &body);
}

void control_arm(struct http_exchange *exchange, void *arg)
{
    struct sim *sim = arg;
    struct err err;
    struct text body = {0};
    struct bytes query = http_exchange_request(exchange)->query;
    if (fault_plan_arm(&sim->faults, query, &err) != RC_OK) {
        http_reply_text(exchange, 400, err.text);
        return;
    }
    sim_faults_changed(sim);
    text_append_string(&body, "{\"armed\":true}");
    reply_json(exchange, 200, &body);
}

void control_disarm(struct http_exchange *exchange, void *arg)
{
    struct sim *sim = arg;
    char name[64];
    struct text body = {0};
    bool named = query_get(http_exchange_request(exchange)->query, "name", name, sizeof name);
    if (!fault_plan_disarm(&sim->faults, named ? bytes_of(name) : BYTES_ABSENT)) {
        http_reply_text(exchange, 400, "no such fault\n");
        return;
    }
    sim_faults_changed(sim);
    text_append_string(&body, "{\"armed\":false}");
    reply_json(exchange, 200, &body);
}

void control_events(struct http_exchange *exchange, void *arg)
{
    struct sim *sim = arg;
    struct bytes query = http_exchange_request(exchange)->query;
    struct text body = {0};
    bool v2 = query_get_u64(query, "wire", 1) == 2;
    uint64_t from = query_get_u64(query, "from", 0), count = query_get_u64(query, "count", 100);
    for (uint64_t k = from; k < world_count(sim->world) && k - from < count; k++) {
        int64_t seq = sim_seq(sim, (uint32_t)k);
        if (v2)
            event_json_v2(sim->world, (uint32_t)k, seq, &body);
        else
            event_json_v1(sim->world, (uint32_t)k, sim->options.v2_software ? seq : 0, &body);
        text_append_char(&body, '\n');
    }
    reply_lines(exchange, &body);
}

void control_lost(struct http_exchange *exchange, void *arg)
{
    struct sim *sim = arg;
    struct text body = {0};
    for (size_t i = 0; i < sim->loss_count; i++) {
        const struct world_event *event = world_event(sim->world, sim->losses[i].k);
        bool commit = event->kind != EVENT_IDENTITY && event->kind != EVENT_ACCOUNT;
        text_appendf(&body, "{\"k\":%u,\"fault\":\"%s\",\"did\":\"%s\",\"time_us\":%lld",
                     sim->losses[i].k, fault_name(sim->losses[i].kind),
                     world_account(sim->world, event->account)->did, (long long)event->time_us);
        if (commit) {
            text_append_string(&body, ",\"uri\":\"");
            event_uri(sim->world, sim->losses[i].k, &body);
            text_append_char(&body, '"');
        }
        text_append_string(&body, "}\n");
    }
    reply_lines(exchange, &body);
}

static void set_followed(struct http_exchange *exchange, struct sim *sim, bool followed)
{
    char did[64];
    struct text body = {0};
    uint32_t account = WORLD_NONE;
    if (query_get(http_exchange_request(exchange)->query, "did", did, sizeof did))
        account = world_find_did(sim->world, bytes_of(did));
    if (account == WORLD_NONE || account == 0) {
        http_reply_text(exchange, 400, "no such account to follow\n");
        return;
    }
    world_set_followed(sim->world, account, followed);
    text_appendf(&body, "{\"followed\":%s}", followed ? "true" : "false");
    reply_json(exchange, 200, &body);
}

void control_follow(struct http_exchange *exchange, void *arg)
{
    set_followed(exchange, arg, true);
}

void control_unfollow(struct http_exchange *exchange, void *arg)
{
    set_followed(exchange, arg, false);
}

void control_accounts(struct http_exchange *exchange, void *arg)
{
    struct sim *sim = arg;
    struct text body = {0};
    char handle[NAME_SIZE], name[NAME_SIZE];
    for (uint32_t i = 0; i < world_settings(sim->world)->accounts; i++) {
        const struct world_account *account = world_account(sim->world, i);
        world_handle(sim->world, i, account->renamed, handle);
        world_display_name(sim->world, i, account->profiled, name);
        text_appendf(&body, "{\"did\":\"%s\",\"handle\":\"%s\",\"displayName\":", account->did,
                     handle);
        event_json_string(&body, bytes_of(name));
        text_appendf(&body, ",\"status\":\"%s\",\"followed\":%s}\n",
                     world_status_name(account->status), account->followed ? "true" : "false");
    }
    reply_lines(exchange, &body);
}

void control_dictionary(struct http_exchange *exchange, void *arg)
{
    http_reply(exchange, 200, "application/octet-stream", NULL,
               dictionary_bytes(sim_dictionary(arg, WIRE_V1, false)));
}

void control_update(struct http_exchange *exchange, void *arg)
{
    struct sim *sim = arg;
    http_reply(exchange, 200, "application/json", NULL,
               bytes_make(text_string(&sim->last_update), sim->last_update.len));
}

void control_requests(struct http_exchange *exchange, void *arg)
{
    struct sim *sim = arg;
    char prefix[160] = "";
    struct text body = {0};
    query_get(http_exchange_request(exchange)->query, "path", prefix, sizeof prefix);
    request_log_write(&sim->requests, prefix, &body);
    reply_lines(exchange, &body);
}

void control_certificate(struct http_exchange *exchange, void *arg)
{
    struct sim *sim = arg;
    if (sim->keys == NULL)
        http_reply_text(exchange, 404, "this server speaks no TLS\n");
    else
        http_reply(exchange, 200, "application/x-pem-file", NULL, tls_keys_certificate(sim->keys));
}
