/* SPDX-License-Identifier: Apache-2.0 */
#include "source/appview_parts.h"

#include "config.h"
#include "source/source_view.h"
#include "source/url_query.h"
#include "sys/log.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOGIN_PREFIX  "login:"
#define WAKE_US_MAX   INT64_C(3600000000)
#define OUTAGE_US_MAX INT64_C(60000000) /* what waits longer for any AppView to work is given up */

/* ---- the queue ---- */

void appview_call_unlink(struct call_list *list, struct appview_call *call)
{
    assert(list->count > 0 && (call->prev == NULL) == (list->first == call));
    *(call->prev == NULL ? &list->first : &call->prev->next) = call->next;
    *(call->next == NULL ? &list->last : &call->next->prev) = call->prev;
    call->next = call->prev = NULL;
    list->count--;
}

void appview_call_link(struct call_list *list, struct appview_call *call)
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

void appview_call_free(struct appview_call *call)
{
    text_free(&call->path);
    free(call);
}

/* ---- who is asked next ---- */

static void tell_switch(struct appview *appview)
{
    if (appview->group.switches == appview->switches_told)
        return;
    appview->switches_told = appview->group.switches;
    const struct failover_switch *move = failover_history(&appview->group, 0);
    log_event(LOG_INFO, APPVIEW_NAME, "failover",
              (struct log_field[]){log_string("from", appview->group.providers[move->from].name),
                                   log_string("to", appview->group.providers[move->to].name),
                                   log_string("reason", move->reason), LOG_END});
}

/* When the question is given up if nobody can be asked until then. */
static int64_t outage_end(const struct appview *appview, const struct appview_call *call)
{
    if (appview->out_us == APPVIEW_NEVER)
        return APPVIEW_NEVER;
    return (call->since_us > appview->out_us ? call->since_us : appview->out_us) + OUTAGE_US_MAX;
}

/* One that failed is tried again with a question that has time for it: only so one hears that it
 * works. */
static enum rc choose(struct appview *appview, int64_t now_us, struct failover_pick *pick,
                      struct err *err)
{
    static const struct failover_offer offer = {.owner = PROVIDER_NONE};
    struct provider_ticket ticket;
    int probed = failover_probe_next(&appview->group, now_us, &ticket);
    if (probed == PROVIDER_NONE)
        return failover_choose(&appview->stream, &offer, now_us, pick, err);
    *pick = (struct failover_pick){.provider = probed, .ticket = ticket, .at_us = now_us};
    return RC_OK;
}

/* What one said is compared with what another one says, where one works that did not fail here. */
static bool choose_other(struct appview *appview, int than, int64_t now_us,
                         struct failover_pick *pick)
{
    for (int i = 0; than != PROVIDER_NONE && i < appview->group.count; i++) {
        const struct provider *provider = &appview->group.providers[i];
        if (i == than || provider->disabled || appview->stream.seats[i].again_us > now_us ||
            provider_circuit(provider, now_us) != CIRCUIT_CLOSED ||
            bucket_closed_until(&provider->bucket, now_us) > now_us)
            continue;
        *pick = (struct failover_pick){
            .provider = i, .ticket = provider_ticket(provider), .at_us = now_us};
        return true;
    }
    return false;
}

bool appview_call_is_lost(const struct appview_call *call, int64_t now_us)
{
    const struct failover *group = &call->appview->group;
    if (!call->bound || call->only == PROVIDER_NONE)
        return call->bound;
    const struct provider *provider = &group->providers[call->only];
    return provider->disabled || provider_circuit(provider, now_us) != CIRCUIT_CLOSED ||
           bucket_closed_until(&provider->bucket, now_us) - now_us > group->settings.patience_us;
}

/* The one it is bound to, if that works; for a short pause of it the question steps back. */
static enum rc choose_only(struct appview_call *call, int64_t now_us, struct failover_pick *pick)
{
    *pick = (struct failover_pick){.provider = PROVIDER_NONE, .at_us = now_us};
    if (appview_call_is_lost(call, now_us))
        return RC_RETRY;
    const struct provider *provider = &call->appview->group.providers[call->only];
    pick->at_us = bucket_closed_until(&provider->bucket, now_us);
    if (pick->at_us > now_us) {
        call->not_before_us = pick->at_us;
        return RC_AGAIN;
    }
    pick->provider = call->only;
    pick->ticket = provider_ticket(provider);
    return RC_OK;
}

static enum rc choose_for(struct appview_call *call, int64_t now_us, struct failover_pick *pick)
{
    struct appview *appview = call->appview;
    if (call->bound)
        return choose_only(call, now_us, pick);
    if (choose_other(appview, call->other_than, now_us, pick))
        return RC_OK;
    return choose(appview, now_us, pick, NULL);
}

/* Sends one question; false when none can go now, `at_us` is when the next one may. */
static bool send_next(struct appview *appview, int64_t *at_us)
{
    int64_t now_us = appview_mono(appview), free_us;
    struct failover_pick pick;
    *at_us = APPVIEW_NEVER;
    if (appview->login.wanted && appview_session_busy(&appview->login.session))
        return false; /* its end wakes us */
    struct appview_call *call = find_ready(appview, now_us, at_us);
    if (call == NULL)
        return false;
    enum rc rc = choose_for(call, now_us, &pick);
    assert(rc != RC_REJECT); /* there is one that needs no login */
    tell_switch(appview);
    if (rc == RC_AGAIN)
        return true; /* the others need not wait for it */
    if (rc != RC_OK) {
        int64_t end_us = outage_end(appview, call);
        *at_us = pick.at_us < end_us ? pick.at_us : end_us;
        return false;
    }
    if (pick.at_us <= now_us && appview_login_first(appview, &pick))
        return false;
    struct bucket *bucket = &appview->group.providers[pick.provider].bucket;
    if (pick.at_us <= now_us && bucket_take(bucket, 1, now_us, &free_us) == RC_OK) {
        appview_exchange_send(call, &pick);
        return true;
    }
    failover_abandoned(&appview->stream, &pick);
    *at_us = pick.at_us > now_us ? pick.at_us : free_us;
    return false;
}

void appview_pump(struct appview *appview)
{
    int64_t at_us;
    while (send_next(appview, &at_us))
        ;
    appview->runtime->ops->timer_disarm(appview->runtime, &appview->wake);
    if (at_us == APPVIEW_NEVER)
        return; /* an exchange that ends, or a question, is what wakes us */
    int64_t wait_us = at_us - appview_mono(appview);
    appview->runtime->ops->timer_arm(appview->runtime, &appview->wake,
                                     wait_us < 0             ? 0
                                     : wait_us > WAKE_US_MAX ? WAKE_US_MAX
                                                             : wait_us);
}

/* One that waited for long enough, or waits for nothing. */
static struct appview_call *find_hopeless(const struct appview *appview, int64_t now_us)
{
    for (struct appview_call *call = appview->waiting.first; call != NULL; call = call->next)
        if (now_us >= outage_end(appview, call) || appview_call_is_lost(call, now_us))
            return call;
    return NULL;
}

/* Nobody could be asked for long: whoever asked has something better to do than to wait. */
static bool give_up_one(struct appview *appview)
{
    int64_t now_us = appview_mono(appview);
    struct appview_call *call = find_hopeless(appview, now_us);
    if (call == NULL)
        return false;
    struct appview_answer answer = {
        .rc = RC_RETRY, .provider = "", .asked_us = appview_wall(appview)};
    struct failover_pick pick;
    answer.answered_us = answer.asked_us;
    if (appview_call_is_lost(call, now_us)) {
        (void)err_set(&answer.err, RC_RETRY, "who gave the token of this page cannot be asked");
    } else if (choose(appview, now_us, &pick, &answer.err) == RC_OK) {
        failover_abandoned(&appview->stream, &pick); /* somebody can be asked after all */
        return false;
    }
    appview_call_unlink(&appview->waiting, call);
    appview->given_up++;
    call->fn(call->arg, &answer);
    appview_call_free(call);
    return true;
}

static void on_wake(void *arg)
{
    while (give_up_one(arg))
        ;
    appview_pump(arg);
}

/* ---- asking ---- */

/* Where there is nobody else, being bound to the one there is changes nothing. */
static void bind_to(struct appview_call *call, const char *provider)
{
    const struct failover *group = &call->appview->group;
    call->only = provider == NULL ? PROVIDER_NONE : failover_find(group, provider);
    call->bound = provider != NULL && (group->count > 1 || call->only == PROVIDER_NONE);
}

struct appview_call *appview_ask_only(struct appview *appview,
                                      const struct appview_request *request, const char *provider,
                                      appview_fn *fn, void *arg)
{
    assert(request->method != NULL && fn != NULL);
    if (appview->waiting.count + appview->under_way.count >= appview->asks_max)
        return NULL;
    struct appview_call *call = memory_new_zeroed(1, sizeof *call);
    call->appview = appview;
    call->priority = request->priority;
    call->other_than = request->other_than == NULL
                           ? PROVIDER_NONE
                           : failover_find(&appview->group, request->other_than);
    bind_to(call, provider);
    call->fn = fn;
    call->arg = arg;
    call->since_us = appview_mono(appview);
    text_append_string(&call->path, "/xrpc/");
    text_append_string(&call->path, request->method);
    for (size_t i = 0; i < request->param_count; i++) {
        text_appendf(&call->path, "%c%s=", i == 0 ? '?' : '&', request->params[i].name);
        url_query_append(&call->path, request->params[i].value);
    }
    call->method = call->path.data + strlen("/xrpc/");
    call->method_len = strlen(request->method);
    struct retry_schedule schedule =
        retry_schedule_poll(appview->pace.backoff_ms, appview->pace.retries_max);
    retry_init(&call->retry, &schedule);
    appview_call_link(&appview->waiting, call);
    appview_pump(appview);
    return call;
}

struct appview_call *appview_ask(struct appview *appview, const struct appview_request *request,
                                 appview_fn *fn, void *arg)
{
    return appview_ask_only(appview, request, NULL, fn, arg);
}

void appview_cancel(struct appview *appview, struct appview_call *call)
{
    assert(call->appview == appview);
    if (call->exchange != NULL)
        appview_exchange_cancel(call);
    else
        appview_call_unlink(&appview->waiting, call);
    appview_call_free(call);
    appview_pump(appview);
}

/* ---- life ---- */

static struct bucket_limits limits_of(const struct appview_pace *pace)
{
    return (struct bucket_limits){.tokens = pace->spacing_ms > 0 ? 1 : 0,
                                  .per_us = (int64_t)pace->spacing_ms * 1000,
                                  .burst = pace->spacing_ms > 0 ? 1 : 0,
                                  .flights_max = pace->flights_max};
}

_Static_assert(CONFIG_HOST_MAX + 1 == PROVIDER_NAME_MAX, "what is checked is what is kept");
_Static_assert(sizeof LOGIN_PREFIX - 1 + CONFIG_APPVIEW_HOST_MAX < PROVIDER_NAME_MAX, "it fits");

static enum rc add_endpoint(struct appview *appview, const char *prefix, const char *endpoint,
                            struct err *err)
{
    const char *rest = strstr(endpoint, "://");
    char name[PROVIDER_NAME_MAX];
    if (strncmp(endpoint, "http://", 7) != 0 && strncmp(endpoint, "https://", 8) != 0)
        return err_set(err, RC_REJECT, "an AppView's address begins with http:// or https://");
    size_t len = strcspn(rest + 3, "/?#");
    const char *at = memchr(rest + 3, '@', len);
    if (at != NULL || len == 0 || strlen(prefix) + len >= sizeof name)
        return err_set(err, RC_REJECT, "an AppView's address has no usable host");
    snprintf(name, sizeof name, "%s%.*s", prefix, (int)len, rest + 3);
    struct provider_spec spec = {.name = name,
                                 .priority = appview->group.count,
                                 .open_failures =
                                     appview->pace.retries_max + PROVIDER_OPEN_FAILURES,
                                 .open_us_max = OUTAGE_US_MAX,
                                 .limits = limits_of(&appview->pace)};
    int number;
    enum rc rc = failover_add(&appview->group, &spec, appview_mono(appview), &number, err);
    if (rc != RC_OK)
        return rc;
    char *root = memory_copy_string(endpoint);
    for (size_t end = strlen(root); end > 0 && root[end - 1] == '/'; end--)
        root[end - 1] = '\0';
    appview->roots[number] = root;
    return RC_OK;
}

static enum rc add_endpoints(struct appview *appview, const struct appview_options *options,
                             struct err *err)
{
    enum rc rc = RC_OK;
    if (options->account != NULL) {
        rc = add_endpoint(appview, LOGIN_PREFIX, options->account->pds, err);
        if (rc == RC_OK)
            appview_login_init(appview, options->account, 0);
    }
    for (size_t i = 0; i < options->endpoint_count && rc == RC_OK; i++)
        rc = add_endpoint(appview, "", options->endpoints[i], err);
    return rc;
}

enum rc appview_new(struct runtime *runtime, const struct appview_options *options,
                    struct appview **out, struct err *err)
{
    assert(options->asks_max > 0 && options->pace.backoff_ms > 0);
    assert(options->endpoint_count > 0 && options->endpoint_count < APPVIEW_ENDPOINTS_MAX);
    struct appview *appview = memory_new_zeroed(1, sizeof *appview);
    struct failover_settings settings;
    failover_settings_default(&settings);
    settings.schedule = retry_schedule_poll(options->pace.backoff_ms, 0);
    appview->runtime = runtime;
    appview->pace = options->pace;
    appview->asks_max = options->asks_max;
    appview->out_us = APPVIEW_NEVER;
    appview->doc = json_doc_new(APPVIEW_ANSWER, JSON_DEPTH_MAX);
    appview->wake = (struct timer){.fn = on_wake, .arg = appview};
    failover_init(&appview->group, &settings);
    failover_stream_init(&appview->stream, &appview->group, APPVIEW_NAME);
    enum rc rc = add_endpoints(appview, options, err);
    if (rc == RC_OK)
        *out = appview;
    else
        appview_free(appview);
    return rc;
}

static void free_calls(struct call_list *list)
{
    for (struct appview_call *call = list->first, *next; call != NULL; call = next) {
        next = call->next;
        appview_call_free(call);
    }
    *list = (struct call_list){0};
}

void appview_free(struct appview *appview)
{
    if (appview == NULL)
        return;
    appview->runtime->ops->timer_disarm(appview->runtime, &appview->wake);
    for (struct appview_call *call = appview->under_way.first; call != NULL; call = call->next)
        appview->runtime->ops->http_cancel(appview->runtime, call->exchange);
    free_calls(&appview->under_way);
    free_calls(&appview->waiting);
    appview_login_deinit(appview);
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
        bucket_tune(&appview->group.providers[i].bucket, &limits, appview_mono(appview));
    appview_pump(appview);
}

int appview_count(const struct appview *appview)
{
    return appview->group.count;
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
    source_show_providers(&appview->group, appview->stream.current, appview_mono(appview), view);
}
