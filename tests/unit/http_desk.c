/* SPDX-License-Identifier: Apache-2.0 */
#include "http_desk.h"

#include "base/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct http_call *http_send(struct runtime *runtime, const struct http_request *request,
                                   http_done_fn *done, void *arg)
{
    struct http_desk *desk = (struct http_desk *)runtime;
    assert_true(desk->sent_count < DESK_SENT_MAX);
    struct desk_request *sent = &desk->sent[desk->sent_count++];
    *sent = (struct desk_request){.connect_ms_max = request->connect_ms_max,
                                  .total_ms_max = request->total_ms_max,
                                  .body_bytes_max = request->body_bytes_max,
                                  .done = done,
                                  .arg = arg};
    snprintf(sent->method, sizeof sent->method, "%s",
             request->method == NULL ? "GET" : request->method);
    snprintf(sent->url, sizeof sent->url, "%s", request->url);
    snprintf(sent->body, sizeof sent->body, "%.*s", (int)request->body.len,
             request->body.len > 0 ? request->body.data : "");
    for (size_t i = 0; i < request->header_count; i++)
        if (strcmp(request->headers[i].name, "Authorization") == 0)
            snprintf(sent->bearer, sizeof sent->bearer, "%s", request->headers[i].value);
    return (struct http_call *)(void *)sent;
}

static void http_cancel(struct runtime *runtime, struct http_call *call)
{
    struct desk_request *sent = (struct desk_request *)(void *)call;
    (void)runtime;
    assert_non_null(sent->done);
    sent->done = NULL;
    sent->cancelled = true;
}

static const struct runtime_ops ops = {.wall_us = desk_wall_us,
                                       .mono_us = desk_mono_us,
                                       .random = desk_chance,
                                       .timer_arm = desk_arm,
                                       .timer_disarm = desk_disarm,
                                       .http_send = http_send,
                                       .http_cancel = http_cancel};

void http_desk_init(struct http_desk *desk)
{
    *desk = (struct http_desk){.clock = {.runtime = {.ops = &ops}}};
}

void http_desk_deinit(struct http_desk *desk)
{
    for (size_t i = 0; i < desk->sent_count; i++)
        assert_null(desk->sent[i].done);
    assert_int_equal(desk->clock.timers.count, 0);
    timer_heap_deinit(&desk->clock.timers);
}

void http_desk_pass(struct http_desk *desk, int64_t us)
{
    int64_t until_us = desk->clock.mono_us + us, due_us;
    while (timer_heap_next(&desk->clock.timers, &due_us) && due_us <= until_us) {
        desk->clock.mono_us = due_us > desk->clock.mono_us ? due_us : desk->clock.mono_us;
        struct timer *timer = timer_heap_pop(&desk->clock.timers, desk->clock.mono_us);
        timer->fn(timer->arg);
    }
    desk->clock.mono_us = until_us;
}

void http_desk_answer(struct http_desk *desk, size_t number, int status, const char *body)
{
    http_desk_answer_with(desk, number,
                          (struct http_response){.status = status, .retry_after_ms = -1}, body);
}

void http_desk_answer_with(struct http_desk *desk, size_t number, struct http_response response,
                           const char *body)
{
    http_desk_answer_bytes(desk, number, response, bytes_of(body));
}

void http_desk_answer_bytes(struct http_desk *desk, size_t number, struct http_response response,
                            struct bytes body)
{
    assert_true(number < desk->sent_count);
    struct desk_request *sent = &desk->sent[number];
    http_done_fn *done = sent->done;
    char *padded = calloc(1, body.len + ARENA_PAD);
    if (body.len > 0)
        memcpy(padded, body.data, body.len);
    response.body = bytes_make(padded, body.len);
    assert_non_null(done);
    sent->done = NULL;
    done(sent->arg, &response);
    free(padded);
}

struct appview *http_desk_appview(struct http_desk *desk, size_t asks_max, struct appview_pace pace)
{
    const struct appview_options options = {.endpoints = (const char *const[]){"http://a"},
                                            .endpoint_count = 1,
                                            .asks_max = asks_max,
                                            .pace = pace};
    struct appview *appview;
    struct err err;
    assert_int_equal(appview_new(&desk->clock.runtime, &options, &appview, &err), RC_OK);
    return appview;
}
