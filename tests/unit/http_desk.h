/* SPDX-License-Identifier: Apache-2.0
 *
 * http_desk.h - a machine on which a test answers every request itself, and lets time pass. */
#ifndef TESTS_UNIT_HTTP_DESK_H
#define TESTS_UNIT_HTTP_DESK_H

#include "desk_clock.h"
#include "source/appview.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define DESK_SENT_MAX 512
#define DESK_MS       INT64_C(1000)

struct desk_request {
    char method[8], url[2048], bearer[256], body[512];
    uint32_t connect_ms_max, total_ms_max;
    size_t body_bytes_max;
    http_done_fn *done; /* NULL: over */
    void *arg;
    bool cancelled;
};

struct http_desk {
    struct desk_clock clock; /* first: the runtime is the desk */
    struct desk_request sent[DESK_SENT_MAX];
    size_t sent_count;
};

void http_desk_init(struct http_desk *desk);
/* Every request was answered or cancelled, every timer disarmed. */
void http_desk_deinit(struct http_desk *desk);
/* Lets time pass, firing timers on the way. */
void http_desk_pass(struct http_desk *desk, int64_t us);
void http_desk_answer(struct http_desk *desk, size_t number, int status, const char *body);
void http_desk_answer_with(struct http_desk *desk, size_t number, struct http_response response,
                           const char *body);
/* A body of any bytes. */
void http_desk_answer_bytes(struct http_desk *desk, size_t number, struct http_response response,
                            struct bytes body);
/* An AppView, http://a, that is asked through the desk. */
struct appview *http_desk_appview(struct http_desk *desk, size_t asks_max,
                                  struct appview_pace pace);

#endif
