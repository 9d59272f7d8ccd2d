/* SPDX-License-Identifier: Apache-2.0 */
#include "source/chain_heads.h"

#include "decode/evm_block.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define MESSAGE_MAX  ((size_t)1 << 20)
#define AGAIN_US     INT64_C(1000000)
#define AGAIN_US_MAX INT64_C(60000000)

static const char question[] =
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"eth_subscribe\",\"params\":[\"newHeads\"]}";

struct chain_heads {
    struct runtime *runtime;
    struct chain_heads_settings settings;
    struct ws *ws; /* NULL: none is open or being dialled */
    struct timer again;
    struct json_doc *doc;
    size_t next; /* the address that is dialled next */
    unsigned failures;
    bool live, closing, stopping;
    uint64_t told;
    struct err trouble;
};

static void close_for(struct chain_heads *heads, const char *why)
{
    err_set(&heads->trouble, RC_RETRY, "%s", why);
    heads->live = false;
    heads->closing = true;
    heads->runtime->ops->ws_close(heads->ws, 1000, why);
}

static void on_opened(void *arg)
{
    struct chain_heads *heads = arg;
    if (!heads->closing &&
        heads->runtime->ops->ws_send_text(heads->ws, bytes_of(question)) != RC_OK)
        close_for(heads, "the question for heads cannot be sent");
}

static void take_head(struct chain_heads *heads, struct json head)
{
    uint64_t number;
    if (!evm_quantity(json_string_or_absent(json_get(head, "number")), &number)) {
        close_for(heads, "what should be a head has no number");
        return;
    }
    heads->told++;
    heads->failures = 0;
    heads->trouble.text[0] = '\0';
    heads->settings.told(heads->settings.arg, number);
}

/* The answer to the question, or what was asked for. */
static void on_message(void *arg, bool binary, struct bytes payload)
{
    struct chain_heads *heads = arg;
    struct json root;
    (void)binary;
    if (heads->closing)
        return; /* a little may come after the last word */
    if (json_parse(heads->doc, payload, &root, NULL) != RC_OK)
        close_for(heads, "the node sends what is no JSON");
    else if (json_type(json_get(root, "error")) == JSON_OBJECT)
        close_for(heads, "the node refuses to tell of heads");
    else if (json_type(json_get(root, "method")) == JSON_STRING)
        take_head(heads, json_pointer(root, "/params/result"));
    else
        heads->live = true;
}

static void dial_later(struct chain_heads *heads)
{
    int64_t wait_us = AGAIN_US << (heads->failures < 6 ? heads->failures : 6);
    heads->failures++;
    heads->next = (heads->next + 1) % heads->settings.url_count;
    heads->runtime->ops->timer_arm(heads->runtime, &heads->again,
                                   wait_us < AGAIN_US_MAX ? wait_us : AGAIN_US_MAX);
}

static void on_closed(void *arg, int status, struct bytes body, const struct err *why)
{
    struct chain_heads *heads = arg;
    (void)status;
    (void)body;
    heads->ws = NULL;
    heads->live = false;
    if (heads->stopping)
        return;
    if (heads->trouble.text[0] == '\0')
        heads->trouble = *why;
    dial_later(heads);
}

static const struct ws_events events = {
    .opened = on_opened, .message = on_message, .closed = on_closed};

static void dial(void *arg)
{
    struct chain_heads *heads = arg;
    assert(heads->ws == NULL && !heads->stopping);
    struct ws_request request = {.url = heads->settings.urls[heads->next],
                                 .message_bytes_max = MESSAGE_MAX};
    heads->trouble.text[0] = '\0';
    heads->closing = false;
    heads->ws = heads->runtime->ops->ws_open(heads->runtime, &request, &events, heads);
}

struct chain_heads *chain_heads_new(struct runtime *runtime,
                                    const struct chain_heads_settings *settings)
{
    struct chain_heads *heads = memory_new_zeroed(1, sizeof *heads);
    assert(settings->url_count > 0);
    heads->runtime = runtime;
    heads->settings = *settings;
    heads->again = (struct timer){.fn = dial, .arg = heads};
    heads->doc = json_doc_new(MESSAGE_MAX, JSON_DEPTH_MAX);
    return heads;
}

void chain_heads_start(struct chain_heads *heads)
{
    heads->runtime->ops->timer_arm(heads->runtime, &heads->again, 0);
}

void chain_heads_stop(struct chain_heads *heads)
{
    bool open = heads->ws != NULL && !heads->closing;
    heads->stopping = heads->closing = true;
    heads->live = false;
    heads->runtime->ops->timer_disarm(heads->runtime, &heads->again);
    if (open)
        heads->runtime->ops->ws_close(heads->ws, 1000, "the daemon stops");
}

bool chain_heads_stopped(const struct chain_heads *heads)
{
    return heads->stopping && heads->ws == NULL;
}

void chain_heads_free(struct chain_heads *heads)
{
    if (heads == NULL)
        return;
    json_doc_free(heads->doc);
    free(heads);
}

void chain_heads_look(const struct chain_heads *heads, struct chain_heads_view *view)
{
    *view = (struct chain_heads_view){.live = heads->live, .heads = heads->told};
    snprintf(view->trouble, sizeof view->trouble, "%s", heads->trouble.text);
}
