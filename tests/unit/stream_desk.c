/* SPDX-License-Identifier: Apache-2.0 */
#include "stream_desk.h"

#include <stdio.h>
#include <string.h>

static struct http_call *http_send(struct runtime *runtime, const struct http_request *request,
                                   http_done_fn *done, void *arg)
{
    struct stream_desk *desk = (struct stream_desk *)runtime;
    snprintf(desk->http_url, sizeof desk->http_url, "%s", request->url);
    desk->http_done = done;
    desk->http_arg = arg;
    return (struct http_call *)(void *)desk;
}

static void http_cancel(struct runtime *runtime, struct http_call *call)
{
    assert_ptr_equal(call, runtime);
    ((struct stream_desk *)runtime)->http_cancelled = true;
}

static struct ws *ws_open(struct runtime *runtime, const struct ws_request *request,
                          const struct ws_events *events, void *arg)
{
    struct stream_desk *desk = (struct stream_desk *)runtime;
    snprintf(desk->ws_url, sizeof desk->ws_url, "%s", request->url);
    desk->events = events;
    desk->events_arg = arg;
    desk->dials++;
    desk->closed = desk->held = false;
    return (struct ws *)(void *)desk;
}

static enum rc ws_send_text(struct ws *ws, struct bytes payload)
{
    struct stream_desk *desk = (struct stream_desk *)(void *)ws;
    if (desk->full)
        return RC_AGAIN;
    text_clear(&desk->sent);
    text_append(&desk->sent, payload.data, payload.len);
    desk->messages++;
    return RC_OK;
}

static void ws_hold(struct ws *ws, bool on)
{
    ((struct stream_desk *)(void *)ws)->held = on;
}

static void ws_close(struct ws *ws, uint16_t code, const char *reason)
{
    (void)code;
    (void)reason;
    ((struct stream_desk *)(void *)ws)->closed = true;
}

static const struct runtime_ops ops = {.wall_us = desk_wall_us,
                                       .mono_us = desk_mono_us,
                                       .random = desk_chance,
                                       .timer_arm = desk_arm,
                                       .timer_disarm = desk_disarm,
                                       .http_send = http_send,
                                       .http_cancel = http_cancel,
                                       .ws_open = ws_open,
                                       .ws_send_text = ws_send_text,
                                       .ws_hold = ws_hold,
                                       .ws_close = ws_close};

static enum rc submit(void *arg, struct batch *batch)
{
    struct stream_desk *desk = arg;
    assert_true(desk->handed_count < 64);
    desk->handed[desk->handed_count++] = batch;
    return RC_OK;
}

void stream_desk_commit_all(struct stream_desk *desk)
{
    while (desk->handed_count > 0) {
        struct batch *batch = desk->handed[0];
        memmove(desk->handed, desk->handed + 1, --desk->handed_count * sizeof *desk->handed);
        desk->committed++;
        for (struct record *row = batch->first[RECORD_GAP]; row != NULL; row = row->next) {
            desk->gap_rows++;
            if (!row->fields[GAP_CLOSED_US].null)
                continue;
            desk->gap_from_us = row->fields[GAP_FROM_US].i;
            desk->gap_to_us = row->fields[GAP_TO_US].i;
        }
        if (batch->received_us != 0) {
            desk->timed++;
            desk->timed_from_us = batch->received_us;
        }
        batch->answered(batch->owner, batch, RC_OK);
    }
}

void stream_desk_pass(struct stream_desk *desk, int64_t us)
{
    struct timer *timer;
    desk->clock.mono_us += us;
    while ((timer = timer_heap_pop(&desk->clock.timers, desk->clock.mono_us)) != NULL)
        timer->fn(timer->arg);
    stream_desk_commit_all(desk);
}

void stream_desk_begin(struct stream_desk *desk, struct jetstream_options *options)
{
    struct err err;
    *desk = (struct stream_desk){.clock = {.runtime = {.ops = &ops}},
                                 .pool = batch_pool_new(STREAM_DESK_BATCHES, 512 << 10)};
    struct source_env env = {
        .runtime = &desk->clock.runtime, .pool = desk->pool, .submit = submit, .submit_arg = desk};
    if (options->reconnect_delay_seconds == 0)
        options->reconnect_delay_seconds = 1;
    assert_int_equal(jetstream_new(&env, options, &desk->source, &err), RC_OK);
}

void stream_desk_start(struct stream_desk *desk)
{
    desk->source->ops->start(desk->source);
    stream_desk_pass(desk, 0);
}

void stream_desk_opened(struct stream_desk *desk)
{
    desk->events->opened(desk->events_arg);
}

void stream_desk_message(struct stream_desk *desk, const char *json)
{
    char padded[2048] = {0};
    snprintf(padded, sizeof padded - ARENA_PAD, "%s", json);
    desk->events->message(desk->events_arg, false, bytes_make(padded, strlen(padded)));
    stream_desk_commit_all(desk);
}

void stream_desk_ended(struct stream_desk *desk, int status, const char *body)
{
    struct err why = {"it ended"};
    desk->events->closed(desk->events_arg, status, bytes_of(body), &why);
    stream_desk_pass(desk, 0);
}

void stream_desk_fetched(struct stream_desk *desk, enum rc rc, int status, const char *body)
{
    struct http_response answer = {
        .rc = rc, .status = status, .body = bytes_of(body), .retry_after_ms = -1};
    http_done_fn *done = desk->http_done;
    desk->http_done = NULL;
    done(desk->http_arg, &answer);
}

void stream_desk_finish(struct stream_desk *desk)
{
    struct err why = {"closed by us"};
    desk->source->ops->stop(desk->source);
    if (desk->closed)
        desk->events->closed(desk->events_arg, 0, BYTES_ABSENT, &why);
    stream_desk_commit_all(desk);
    assert_true(desk->source->ops->stopped(desk->source));
    desk->source->ops->free(desk->source);
    batch_pool_free(desk->pool);
    timer_heap_deinit(&desk->clock.timers);
    text_free(&desk->sent);
}

const char *stream_desk_event(int64_t time_us, int64_t seq)
{
    static char json[512];
    if (seq == 0)
        snprintf(json, sizeof json, "{\"did\":\"did:web:a\",\"time_us\":%lld,\"kind\":\"none\"}",
                 (long long)time_us);
    else
        snprintf(json, sizeof json,
                 "{\"$type\":\"message\",\"payload\":{\"$type\":\"x#sync\",\"did\":\"did:web:a\","
                 "\"seq\":%lld,\"time\":\"2026-09-21T14:13:20.000000Z\"}}",
                 (long long)seq);
    return json;
}
