/* SPDX-License-Identifier: Apache-2.0 */
#include "source/appview_parts.h"

#include "source/appview_verdict.h"
#include "sys/log.h"

#include <assert.h>
#include <string.h>

#define ANSWER_MS_MAX  20000
#define CONNECT_MS_MAX 5000

static void release(struct appview_call *call)
{
    struct appview *appview = call->appview;
    bucket_release(&appview->group.providers[call->pick.provider].bucket, 1);
    appview_call_unlink(&appview->under_way, call);
    call->exchange = NULL;
}

/* The budget that a server tells, if it does. */
static void learn_budget(struct appview_call *call, const struct http_response *response)
{
    struct appview *appview = call->appview;
    uint64_t left, reset_s;
    if (response->rc != RC_OK ||
        !bytes_to_u64(http_header_value(response, "ratelimit-remaining"), &left) ||
        !bytes_to_u64(http_header_value(response, "ratelimit-reset"), &reset_s) ||
        left > UINT32_MAX || reset_s > UINT32_MAX)
        return;
    int64_t now_us = appview_mono(appview);
    int64_t ahead_us = (int64_t)reset_s * 1000000 - appview_wall(appview);
    if (ahead_us > 0)
        bucket_told(&appview->group.providers[call->pick.provider].bucket, (uint32_t)left,
                    now_us + ahead_us, now_us);
}

static void finish(struct appview_call *call, const struct appview_answer *answer)
{
    struct appview *appview = call->appview;
    *(answer->rc == RC_OK       ? &appview->answers
      : answer->rc == RC_REJECT ? &appview->refusals
                                : &appview->given_up) += 1;
    call->fn(call->arg, answer);
    appview_call_free(call);
    appview_pump(appview);
}

/* The exchange came to nothing: another one, or the end. */
static void fail(struct appview_call *call, enum retry_class class, int64_t retry_after_us,
                 const struct appview_answer *answer)
{
    struct appview *appview = call->appview;
    int64_t now_us = appview_mono(appview);
    uint64_t random = appview->runtime->ops->random(appview->runtime);
    if (class == RETRY_AUTH)
        class = RETRY_TRANSIENT; /* nothing is left that could be renewed */
    struct provider_failure failure = {
        .class = class, .retry_after_us = retry_after_us, .reason = answer->err.text};
    failover_failed(&appview->stream, &call->pick, &failure, now_us, random);
    appview->failures++;
    if (class != RETRY_RATE_LIMITED && appview->out_us == APPVIEW_NEVER)
        appview->out_us = now_us;
    log_event_limited(
        LOG_WARN, APPVIEW_NAME, "request_failed",
        (struct log_field[]){log_string("provider", answer->provider),
                             log_text("method", bytes_make(call->method, call->method_len)),
                             log_int("status", answer->status),
                             log_string("class", retry_class_name(class)),
                             log_string("reason", answer->err.text), LOG_END});
    struct retry_decision next =
        retry_failed(&call->retry, class, retry_after_us, now_us, random, NULL);
    int64_t patience_us = appview->group.settings.patience_us;
    bool lost =
        appview_call_is_lost(call, now_us) || (call->bound && next.at_us - now_us > patience_us);
    if (next.action == RETRY_STOP || lost) {
        finish(call, answer);
        return;
    }
    /* Each provider gets its turn before the question has to wait. */
    bool others = !call->bound && call->retry.failures < (uint32_t)appview->group.count;
    call->not_before_us = others ? now_us : next.at_us;
    appview_call_link(&appview->waiting, call);
    appview_pump(appview);
}

static void on_done(void *arg, const struct http_response *response)
{
    struct appview_call *call = arg;
    struct appview *appview = call->appview;
    struct appview_answer answer = {
        .provider = appview->group.providers[call->pick.provider].name,
        .asked_us = call->asked_us,
        .answered_us = appview_wall(appview),
    };
    release(call);
    learn_budget(call, response);
    enum retry_class class = appview_verdict(appview->doc, response, &answer);
    if (answer.rc == RC_RETRY && class == RETRY_AUTH && appview_login_refused(call)) {
        failover_abandoned(&appview->stream, &call->pick);
        appview_call_link(&appview->waiting, call);
        appview_pump(appview);
        return;
    }
    if (answer.rc == RC_RETRY) {
        int64_t after_ms = response->retry_after_ms;
        fail(call, class, after_ms < 0 ? -1 : after_ms * 1000, &answer);
        return;
    }
    appview->out_us = APPVIEW_NEVER;
    failover_succeeded(&appview->stream, &call->pick, appview_mono(appview) - call->asked_mono_us,
                       appview_mono(appview));
    finish(call, &answer);
}

void appview_exchange_send(struct appview_call *call, const struct failover_pick *pick)
{
    struct appview *appview = call->appview;
    struct text url = {0}, bearer = {0};
    struct http_header headers[2] = {{"Accept", "application/json"}};
    size_t header_count = 1;
    call->token = 0;
    if (appview->login.wanted && pick->provider == appview->login.provider) {
        appview_session_bearer(&appview->login.session, &bearer);
        headers[header_count++] = (struct http_header){"Authorization", text_string(&bearer)};
        call->token = appview->login.session.number;
    }
    text_append_string(&url, appview->roots[pick->provider]);
    text_append(&url, call->path.data, call->path.len);
    struct http_request request = {.url = text_string(&url),
                                   .headers = headers,
                                   .header_count = header_count,
                                   .connect_ms_max = CONNECT_MS_MAX,
                                   .total_ms_max = ANSWER_MS_MAX,
                                   .body_bytes_max = APPVIEW_ANSWER};
    appview_call_unlink(&appview->waiting, call);
    appview_call_link(&appview->under_way, call);
    call->pick = *pick;
    call->asked_us = appview_wall(appview);
    call->asked_mono_us = appview_mono(appview);
    appview->requests++;
    call->exchange = appview->runtime->ops->http_send(appview->runtime, &request, on_done, call);
    if (bearer.data != NULL)
        explicit_bzero(bearer.data, bearer.cap);
    text_free(&bearer);
    text_free(&url);
}

void appview_exchange_cancel(struct appview_call *call)
{
    struct appview *appview = call->appview;
    appview->runtime->ops->http_cancel(appview->runtime, call->exchange);
    failover_abandoned(&appview->stream, &call->pick);
    release(call);
}
