/* SPDX-License-Identifier: Apache-2.0 */
#include "source/appview.h"

#include "ingest/failover.h"
#include "source/appview_verdict.h"
#include "source/source_view.h"
#include "sys/log.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define NAME           "appview"
#define ANSWER_MAX     ((size_t)8 << 20)
#define ANSWER_MS_MAX  20000
#define CONNECT_MS_MAX 5000
#define WAKE_US_MAX    INT64_C(3600000000)
#define NEVER          INT64_MAX
#define OUTAGE_US_MAX  INT64_C(60000000) /* what waits longer for any AppView to work is given up */

struct appview_call {
    struct appview_call *next, *prev;
    const char *method; /* in `path` */
    size_t method_len;
    struct text path; /* "/xrpc/METHOD?..." */
    int priority;
    appview_fn *fn;
    void *arg;
    struct retry retry;
    int64_t since_us, not_before_us; /* monotonic */
    struct http_call *exchange;      /* NULL: waiting */
    struct failover_pick pick;
    int64_t asked_mono_us, asked_us;
    struct appview *appview;
};

struct call_list {
    struct appview_call *first, *last;
    size_t count;
};

struct appview {
    struct runtime *runtime;
    struct appview_pace pace;
    size_t asks_max;
    char *roots[APPVIEW_ENDPOINTS_MAX]; /* by number of provider, without a slash at the end */
    struct failover group;
    struct failover_stream stream;
    uint64_t switches_told;
    struct call_list waiting, under_way;
    struct json_doc *doc;
    struct timer wake;
    int64_t out_us; /* monotonic: the first failure since the last answer, or NEVER */
    uint64_t requests, answers, refusals, failures, given_up;
};

static int64_t mono(const struct appview *appview)
{
    return appview->runtime->ops->mono_us(appview->runtime);
}

static int64_t wall(const struct appview *appview)
{
    return appview->runtime->ops->wall_us(appview->runtime);
}

/* ---- the queue ---- */

static void unlink_call(struct call_list *list, struct appview_call *call)
{
    assert(list->count > 0);
    *(call->prev == NULL ? &list->first : &call->prev->next) = call->next;
    *(call->next == NULL ? &list->last : &call->next->prev) = call->prev;
    call->next = call->prev = NULL;
    list->count--;
}

/* Behind the last one that is as urgent. */
static void link_call(struct call_list *list, struct appview_call *call)
{
    struct appview_call *before = list->last;
    while (before != NULL && before->priority > call->priority)
        before = before->prev;
    call->prev = before;
    call->next = before == NULL ? list->first : before->next;
    *(call->prev == NULL ? &list->first : &call->prev->next) = call;
    *(call->next == NULL ? &list->last : &call->next->prev) = call;
    list->count++;
}

/* The most urgent one whose time has come; `at_us` falls to the earliest time of the others. */
static struct appview_call *find_ready(const struct appview *appview, int64_t now_us,
                                       int64_t *at_us)
{
    for (struct appview_call *call = appview->waiting.first; call != NULL; call = call->next) {
        if (call->not_before_us <= now_us)
            return call;
        if (call->not_before_us < *at_us)
            *at_us = call->not_before_us;
    }
    return NULL;
}

static void free_call(struct appview_call *call)
{
    text_free(&call->path);
    free(call);
}

/* ---- one exchange ---- */

static void pump(struct appview *appview);

static void release(struct appview_call *call)
{
    struct appview *appview = call->appview;
    bucket_release(&appview->group.providers[call->pick.provider].bucket, 1);
    unlink_call(&appview->under_way, call);
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
    int64_t now_us = mono(appview);
    int64_t ahead_us = (int64_t)reset_s * 1000000 - wall(appview);
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
    free_call(call);
    pump(appview);
}

/* The exchange came to nothing: another one, or the end. */
static void fail(struct appview_call *call, enum retry_class class, int64_t retry_after_us,
                 const struct appview_answer *answer)
{
    struct appview *appview = call->appview;
    int64_t now_us = mono(appview);
    uint64_t random = appview->runtime->ops->random(appview->runtime);
    if (class == RETRY_AUTH)
        class = RETRY_TRANSIENT; /* we hold no credentials that could be renewed */
    struct provider_failure failure = {
        .class = class, .retry_after_us = retry_after_us, .reason = answer->err.text};
    failover_failed(&appview->stream, &call->pick, &failure, now_us, random);
    appview->failures++;
    if (class != RETRY_RATE_LIMITED && appview->out_us == NEVER)
        appview->out_us = now_us;
    log_event_limited(
        LOG_WARN, NAME, "request_failed",
        (struct log_field[]){log_string("provider", answer->provider),
                             log_text("method", bytes_make(call->method, call->method_len)),
                             log_int("status", answer->status),
                             log_string("class", retry_class_name(class)),
                             log_string("reason", answer->err.text), LOG_END});
    struct retry_decision next =
        retry_failed(&call->retry, class, retry_after_us, now_us, random, NULL);
    if (next.action == RETRY_STOP) {
        finish(call, answer);
        return;
    }
    /* Each provider gets its turn before the question has to wait. */
    bool others = call->retry.failures < (uint32_t)appview->group.count;
    call->not_before_us = others ? now_us : next.at_us;
    link_call(&appview->waiting, call);
    pump(appview);
}

static void on_done(void *arg, const struct http_response *response)
{
    struct appview_call *call = arg;
    struct appview *appview = call->appview;
    struct appview_answer answer = {
        .provider = appview->group.providers[call->pick.provider].name,
        .asked_us = call->asked_us,
        .answered_us = wall(appview),
    };
    release(call);
    learn_budget(call, response);
    enum retry_class class = appview_verdict(appview->doc, response, &answer);
    if (answer.rc == RC_RETRY) {
        int64_t after_ms = response->retry_after_ms;
        fail(call, class, after_ms < 0 ? -1 : after_ms * 1000, &answer);
        return;
    }
    appview->out_us = NEVER;
    failover_succeeded(&appview->stream, &call->pick, mono(appview) - call->asked_mono_us,
                       mono(appview));
    finish(call, &answer);
}

static void send_call(struct appview *appview, struct appview_call *call,
                      const struct failover_pick *pick)
{
    static const struct http_header accept = {"Accept", "application/json"};
    struct text url = {0};
    text_append_string(&url, appview->roots[pick->provider]);
    text_append(&url, call->path.data, call->path.len);
    struct http_request request = {.url = text_string(&url),
                                   .headers = &accept,
                                   .header_count = 1,
                                   .connect_ms_max = CONNECT_MS_MAX,
                                   .total_ms_max = ANSWER_MS_MAX,
                                   .body_bytes_max = ANSWER_MAX};
    unlink_call(&appview->waiting, call);
    link_call(&appview->under_way, call);
    call->pick = *pick;
    call->asked_us = wall(appview);
    call->asked_mono_us = mono(appview);
    appview->requests++;
    call->exchange = appview->runtime->ops->http_send(appview->runtime, &request, on_done, call);
    text_free(&url);
}

/* ---- who is asked next ---- */

static void tell_switch(struct appview *appview)
{
    if (appview->group.switches == appview->switches_told)
        return;
    appview->switches_told = appview->group.switches;
    const struct failover_switch *move = failover_history(&appview->group, 0);
    log_event(LOG_INFO, NAME, "failover",
              (struct log_field[]){log_string("from", appview->group.providers[move->from].name),
                                   log_string("to", appview->group.providers[move->to].name),
                                   log_string("reason", move->reason), LOG_END});
}

/* When the question is given up if nobody can be asked until then. */
static int64_t outage_end(const struct appview *appview, const struct appview_call *call)
{
    if (appview->out_us == NEVER)
        return NEVER;
    return (call->since_us > appview->out_us ? call->since_us : appview->out_us) + OUTAGE_US_MAX;
}

/* Sends one question; false when none can go now, `at_us` is when the next one may. */
static bool send_next(struct appview *appview, int64_t *at_us)
{
    static const struct failover_offer offer = {.owner = PROVIDER_NONE};
    int64_t now_us = mono(appview), free_us;
    struct failover_pick pick;
    *at_us = NEVER;
    struct appview_call *call = find_ready(appview, now_us, at_us);
    if (call == NULL)
        return false;
    enum rc rc = failover_choose(&appview->stream, &offer, now_us, &pick, NULL);
    assert(rc != RC_REJECT); /* no provider is ever disabled */
    tell_switch(appview);
    if (rc != RC_OK) {
        int64_t end_us = outage_end(appview, call);
        *at_us = pick.at_us < end_us ? pick.at_us : end_us;
        return false;
    }
    struct bucket *bucket = &appview->group.providers[pick.provider].bucket;
    if (pick.at_us <= now_us && bucket_take(bucket, 1, now_us, &free_us) == RC_OK) {
        send_call(appview, call, &pick);
        return true;
    }
    failover_abandoned(&appview->stream, &pick);
    *at_us = pick.at_us > now_us ? pick.at_us : free_us;
    return false;
}

static void pump(struct appview *appview)
{
    int64_t at_us;
    while (send_next(appview, &at_us))
        ;
    appview->runtime->ops->timer_disarm(appview->runtime, &appview->wake);
    if (at_us == NEVER)
        return; /* an exchange that ends, or a question, is what wakes us */
    int64_t wait_us = at_us - mono(appview);
    appview->runtime->ops->timer_arm(appview->runtime, &appview->wake,
                                     wait_us < 0             ? 0
                                     : wait_us > WAKE_US_MAX ? WAKE_US_MAX
                                                             : wait_us);
}

/* Nobody could be asked for long: whoever asked has something better to do than to wait. */
static bool give_up_one(struct appview *appview)
{
    struct appview_call *call = appview->waiting.first;
    while (call != NULL && mono(appview) < outage_end(appview, call))
        call = call->next;
    if (call == NULL)
        return false;
    struct appview_answer answer = {.rc = RC_RETRY, .provider = "", .asked_us = wall(appview)};
    struct failover_pick pick;
    static const struct failover_offer offer = {.owner = PROVIDER_NONE};
    answer.answered_us = answer.asked_us;
    if (failover_choose(&appview->stream, &offer, mono(appview), &pick, &answer.err) == RC_OK) {
        failover_abandoned(&appview->stream, &pick); /* somebody can be asked after all */
        return false;
    }
    unlink_call(&appview->waiting, call);
    appview->given_up++;
    call->fn(call->arg, &answer);
    free_call(call);
    return true;
}

static void on_wake(void *arg)
{
    while (give_up_one(arg))
        ;
    pump(arg);
}

/* ---- asking ---- */

static void append_escaped(struct text *out, struct bytes value)
{
    static const char plain[] = "-._~:"; /* beside letters and digits; DIDs stay readable */
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.data[i];
        bool alnum = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (alnum || (c != '\0' && strchr(plain, c) != NULL))
            text_append_char(out, (char)c);
        else
            text_appendf(out, "%%%02X", c);
    }
}

struct appview_call *appview_ask(struct appview *appview, const struct appview_request *request,
                                 appview_fn *fn, void *arg)
{
    assert(request->method != NULL && fn != NULL);
    if (appview->waiting.count + appview->under_way.count >= appview->asks_max)
        return NULL;
    struct appview_call *call = memory_new_zeroed(1, sizeof *call);
    call->appview = appview;
    call->priority = request->priority;
    call->fn = fn;
    call->arg = arg;
    call->since_us = mono(appview);
    text_append_string(&call->path, "/xrpc/");
    text_append_string(&call->path, request->method);
    for (size_t i = 0; i < request->param_count; i++) {
        text_appendf(&call->path, "%c%s=", i == 0 ? '?' : '&', request->params[i].name);
        append_escaped(&call->path, request->params[i].value);
    }
    call->method = call->path.data + strlen("/xrpc/");
    call->method_len = strlen(request->method);
    struct retry_schedule schedule =
        retry_schedule_poll(appview->pace.backoff_ms, appview->pace.retries_max);
    retry_init(&call->retry, &schedule);
    link_call(&appview->waiting, call);
    pump(appview);
    return call;
}

void appview_cancel(struct appview *appview, struct appview_call *call)
{
    assert(call->appview == appview);
    if (call->exchange != NULL) {
        appview->runtime->ops->http_cancel(appview->runtime, call->exchange);
        failover_abandoned(&appview->stream, &call->pick);
        release(call);
    } else {
        unlink_call(&appview->waiting, call);
    }
    free_call(call);
    pump(appview);
}

/* ---- life ---- */

static struct bucket_limits limits_of(const struct appview_pace *pace)
{
    return (struct bucket_limits){.tokens = pace->spacing_ms > 0 ? 1 : 0,
                                  .per_us = (int64_t)pace->spacing_ms * 1000,
                                  .burst = pace->spacing_ms > 0 ? 1 : 0,
                                  .flights_max = pace->flights_max};
}

static enum rc add_endpoint(struct appview *appview, const char *endpoint, struct err *err)
{
    const char *rest = strstr(endpoint, "://");
    char name[PROVIDER_NAME_MAX];
    if (strncmp(endpoint, "http://", 7) != 0 && strncmp(endpoint, "https://", 8) != 0)
        return err_set(err, RC_REJECT, "an AppView's address begins with http:// or https://");
    size_t len = strcspn(rest + 3, "/?#");
    const char *at = memchr(rest + 3, '@', len);
    if (at != NULL || len == 0 || len >= sizeof name)
        return err_set(err, RC_REJECT, "an AppView's address has no usable host");
    memcpy(name, rest + 3, len);
    name[len] = '\0';
    struct provider_spec spec = {.name = name,
                                 .priority = appview->group.count,
                                 .open_failures =
                                     appview->pace.retries_max + PROVIDER_OPEN_FAILURES,
                                 .open_us_max = OUTAGE_US_MAX,
                                 .limits = limits_of(&appview->pace)};
    int number;
    enum rc rc = failover_add(&appview->group, &spec, mono(appview), &number, err);
    if (rc != RC_OK)
        return rc;
    char *root = memory_copy_string(endpoint);
    for (size_t end = strlen(root); end > 0 && root[end - 1] == '/'; end--)
        root[end - 1] = '\0';
    appview->roots[number] = root;
    return RC_OK;
}

enum rc appview_new(struct runtime *runtime, const struct appview_options *options,
                    struct appview **out, struct err *err)
{
    assert(options->asks_max > 0 && options->pace.backoff_ms > 0);
    assert(options->endpoint_count > 0 && options->endpoint_count <= APPVIEW_ENDPOINTS_MAX);
    struct appview *appview = memory_new_zeroed(1, sizeof *appview);
    struct failover_settings settings;
    failover_settings_default(&settings);
    settings.schedule = retry_schedule_poll(options->pace.backoff_ms, 0);
    appview->runtime = runtime;
    appview->pace = options->pace;
    appview->asks_max = options->asks_max;
    appview->out_us = NEVER;
    appview->doc = json_doc_new(ANSWER_MAX, JSON_DEPTH_MAX);
    appview->wake = (struct timer){.fn = on_wake, .arg = appview};
    failover_init(&appview->group, &settings);
    failover_stream_init(&appview->stream, &appview->group, NAME);
    for (size_t i = 0; i < options->endpoint_count; i++) {
        enum rc rc = add_endpoint(appview, options->endpoints[i], err);
        if (rc != RC_OK) {
            appview_free(appview);
            return rc;
        }
    }
    *out = appview;
    return RC_OK;
}

void appview_free(struct appview *appview)
{
    if (appview == NULL)
        return;
    struct appview_call *call;
    appview->runtime->ops->timer_disarm(appview->runtime, &appview->wake);
    while ((call = appview->under_way.first) != NULL) {
        appview->runtime->ops->http_cancel(appview->runtime, call->exchange);
        unlink_call(&appview->under_way, call);
        free_call(call);
    }
    while ((call = appview->waiting.first) != NULL) {
        unlink_call(&appview->waiting, call);
        free_call(call);
    }
    json_doc_free(appview->doc);
    for (int i = 0; i < appview->group.count; i++)
        free(appview->roots[i]);
    free(appview);
}

void appview_tune(struct appview *appview, const struct appview_pace *pace)
{
    assert(pace->backoff_ms > 0);
    struct bucket_limits limits = limits_of(pace);
    appview->pace = *pace;
    for (int i = 0; i < appview->group.count; i++)
        bucket_tune(&appview->group.providers[i].bucket, &limits, mono(appview));
    pump(appview);
}

void appview_look(const struct appview *appview, struct appview_view *view)
{
    *view = (struct appview_view){.waiting = appview->waiting.count,
                                  .under_way = appview->under_way.count,
                                  .requests = appview->requests,
                                  .answers = appview->answers,
                                  .refusals = appview->refusals,
                                  .failures = appview->failures,
                                  .given_up = appview->given_up};
}

void appview_show(const struct appview *appview, struct source_view *view)
{
    source_show_providers(&appview->group, appview->stream.current, mono(appview), view);
}
