/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/content_world.h"
#include "sim/ws_server.h"

#include <stdlib.h>

#define QUESTION_BYTES_MAX 4096
#define SUBSCRIPTION       "\"0x9\""

/* One websocket at a node. */
struct listener {
    struct listener *next;
    struct host *host;
    struct ws *ws;
    bool subscribed;
};

static void say(struct listener *listener, struct text *words)
{
    ws_send(listener->ws, WS_TEXT, text_bytes(words));
    ws_flush(listener->ws);
    text_free(words);
}

static void subscribe(struct listener *listener, bool on)
{
    if (listener->subscribed != on)
        listener->host->counts.listening = listener->host->counts.listening + on - !on;
    listener->subscribed = on;
}

static void on_message(void *arg, enum ws_opcode opcode, struct bytes message)
{
    struct listener *listener = arg;
    struct json question;
    struct text answer = {0};
    if (opcode != WS_TEXT)
        return;
    if (json_parse_copy(listener->host->world->doc, message, &question, NULL) != RC_OK) {
        ws_close(listener->ws, 1007, "the question is no JSON");
        return;
    }
    struct bytes method = json_string_or_absent(json_get(question, "method"));
    struct bytes what = json_string_or_absent(json_at(json_get(question, "params"), 0));
    bool heads =
        bytes_equal_string(method, "eth_subscribe") && bytes_equal_string(what, "newHeads");
    if (heads)
        subscribe(listener, true);
    text_append_string(&answer, "{\"jsonrpc\":\"2.0\",\"id\":");
    json_print(json_get(question, "id"), &answer);
    text_append_string(&answer, heads ? ",\"result\":" SUBSCRIPTION "}"
                                      : ",\"error\":{\"code\":-32000,\"message\":"
                                        "\"the method does not exist\"}}");
    say(listener, &answer);
}

static void on_ready(void *arg)
{
    (void)arg;
}

static void on_closed(void *arg)
{
    struct listener *listener = arg, **at = &listener->host->world->listeners;
    while (*at != listener)
        at = &(*at)->next;
    *at = listener->next;
    subscribe(listener, false);
    free(listener);
}

void evm_heads_open(struct http_exchange *exchange, void *arg)
{
    static const struct ws_handler handler = {on_message, on_ready, on_closed};
    struct ws_options options = {.message_bytes_max = QUESTION_BYTES_MAX};
    struct host *host = arg;
    struct draw draw = host_draw(host);
    if (host_admit(host, exchange, &draw))
        return;
    struct listener *listener = memory_new_zeroed(1, sizeof *listener);
    listener->host = host;
    listener->ws = ws_accept(exchange, &options, &handler, listener);
    if (listener->ws == NULL) {
        free(listener);
        return;
    }
    listener->next = host->world->listeners;
    host->world->listeners = listener;
}

/* A node that is dead is silent, and who does not read hears nothing. */
static void tell(struct listener *listener)
{
    struct host *host = listener->host;
    struct draw draw = host_draw(host);
    struct text words = {0};
    if (host->manner.dies_after == 0 || !ws_has_room(listener->ws))
        return;
    if (draw_below(&draw, 100) < host->manner.hang_up) {
        host->counts.dropped++;
        subscribe(listener, false);
        ws_close(listener->ws, 1011, "planned");
        return;
    }
    host->counts.heads++;
    text_append_string(&words, "{\"jsonrpc\":\"2.0\",\"method\":\"eth_subscription\",\"params\":"
                               "{\"subscription\":" SUBSCRIPTION ",\"result\":");
    evm_node_print_head(host, &words);
    text_append_string(&words, "}}");
    say(listener, &words);
}

void evm_heads_tell(struct content_world *world)
{
    for (struct listener *listener = world->listeners, *next; listener != NULL; listener = next) {
        next = listener->next;
        if (listener->subscribed)
            tell(listener);
    }
}
