/* SPDX-License-Identifier: Apache-2.0 */
#include "source/gateways.h"

#include "base/address_words.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONNECT_MS_MAX 5000
#define TOTAL_MS_MAX   30000
#define HEDGE_US       INT64_C(1000000) /* for a gateway whose speed is not known */
#define HEDGE_US_MIN   INT64_C(250000)
#define HEDGE_US_MAX   INT64_C(5000000)
#define WAIT_US_MAX    INT64_C(1000000) /* until a place is looked for again */
/* A gateway that is left alone for longer is not waited for when another one has refused. */
#define RECOVERY_US_MAX INT64_C(5000000)

struct gateways {
    struct runtime *runtime;
    char *roots[GATEWAYS_MAX]; /* by number of provider, without a slash at the end */
    struct failover group;
    struct gateway_call *calls;
};

/* A gateway that cannot find a block in time is as well as one that does not have it. */
static const struct retry_rule rules[] = {
    {400, 400, NULL, RETRY_PERMANENT}, {410, 410, NULL, RETRY_PERMANENT},
    {451, 451, NULL, RETRY_PERMANENT}, {429, 429, NULL, RETRY_RATE_LIMITED},
    {300, 599, NULL, RETRY_TRANSIENT},
};

static void advance(struct gateway_call *call);

static int64_t mono(const struct gateways *gateways)
{
    return gateways->runtime->ops->mono_us(gateways->runtime);
}

static struct provider *provider_of(struct gateway_call *call, int number)
{
    return &call->gateways->group.providers[number];
}

/* How long it has the call for itself. */
static int64_t hedge_after(const struct provider *provider)
{
    int64_t twice_us = provider->latency_us < 0 ? HEDGE_US : 2 * provider->latency_us;
    return twice_us < HEDGE_US_MIN   ? HEDGE_US_MIN
           : twice_us > HEDGE_US_MAX ? HEDGE_US_MAX
                                     : twice_us;
}

/* ---- the end of a try ---- */

static void release(struct gateway_try *try)
{
    bucket_release(&provider_of(try->call, try->provider)->bucket, 1);
    try->exchange = NULL;
    try->call->running--;
}

/* Whoever is still at it has lost, or nobody has won. One that had not been given its time has
 * shown nothing. */
static void score_loser(const struct gateway_try *try, bool lost)
{
    struct provider *provider = provider_of(try->call, try->provider);
    int64_t took_us = mono(try->call->gateways) - try->asked_us;
    char reason[PROVIDER_REASON_MAX];
    if (!lost || took_us < hedge_after(provider)) {
        provider_abandoned(provider, try->ticket);
        return;
    }
    snprintf(reason, sizeof reason, "no answer within %" PRId64 " ms; another gateway gave it",
             took_us / 1000);
    provider_outrun(provider, try->ticket, reason);
}

static void cancel_tries(struct gateway_call *call, bool lost)
{
    struct runtime *runtime = call->gateways->runtime;
    for (size_t i = 0; i < GATEWAYS_MAX; i++) {
        struct gateway_try *try = &call->tries[i];
        if (try->exchange == NULL)
            continue;
        runtime->ops->http_cancel(runtime, try->exchange);
        score_loser(try, lost);
        release(try);
    }
}

/* Places came free: those who found none look again, in a turn of their own. */
static void wake_waiting(struct gateways *gateways)
{
    for (struct gateway_call *call = gateways->calls; call != NULL; call = call->next)
        if (call->running == 0)
            gateways->runtime->ops->timer_arm(gateways->runtime, &call->turn, 0);
}

static void unlink_call(struct gateway_call *call)
{
    struct gateways *gateways = call->gateways;
    gateways->runtime->ops->timer_disarm(gateways->runtime, &call->turn);
    if (call->previous != NULL)
        call->previous->next = call->next;
    else
        gateways->calls = call->next;
    if (call->next != NULL)
        call->next->previous = call->previous;
    call->next = call->previous = NULL;
}

/* Too large, says a gateway; nobody can tell whether that is the block's fault or its own until
 * another one has it: then it was a lie. */
static void settle_doubts(struct gateway_call *call, bool disproved)
{
    static const struct provider_failure lie = {RETRY_TRANSIENT, -1,
                                                "more bytes than the block has"};
    for (int i = 0; i < call->gateways->group.count; i++) {
        struct provider_ticket ticket = call->tries[i].ticket;
        if ((call->doubted >> i & 1) == 0)
            continue;
        if (disproved)
            provider_failed(provider_of(call, i), ticket, &lie, mono(call->gateways));
        else
            provider_abandoned(provider_of(call, i), ticket);
    }
    call->doubted = 0;
}

/* The shortest rest of those that may be asked, if all of them want one. */
static int64_t rest_of(const struct gateway_call *call)
{
    const struct failover *group = &call->gateways->group;
    int64_t now_us = mono(call->gateways), least_us = INT64_MAX;
    for (int i = 0; i < group->count; i++) {
        int64_t rest_us = bucket_closed_until(&group->providers[i].bucket, now_us) - now_us;
        if ((call->spared >> i & 1) == 0 && rest_us < least_us)
            least_us = rest_us;
    }
    return least_us > 0 ? least_us : -1;
}

static void finish(struct gateway_call *call, enum rc rc, struct bytes block)
{
    struct gateways *gateways = call->gateways;
    struct gateway_outcome outcome = {
        rc, block, call->failures, call->failure_count, call->doubted != 0, rest_of(call)};
    settle_doubts(call, rc == RC_OK);
    cancel_tries(call, rc == RC_OK);
    unlink_call(call);
    wake_waiting(gateways);
    call->fn(call->arg, &outcome);
}

void gateways_cancel(struct gateway_call *call)
{
    struct gateways *gateways = call->gateways;
    settle_doubts(call, false);
    cancel_tries(call, false);
    unlink_call(call);
    wake_waiting(gateways);
}

/* ---- answers ---- */

/* Whether the answer is one that a gateway in good health gives. */
static bool is_healthy(const struct http_response *response)
{
    int status = response->status;
    return response->rc == RC_OK &&
           (status == 400 || status == 404 || status == 408 || status == 410 || status == 451 ||
            status == 504 || status == 522 || status == 524);
}

static void describe_status(const struct http_response *response, struct gateway_failure *failure)
{
    char to[ADDRESS_REDIRECT_MAX] = "";
    if (response->status >= 300 && response->status < 400)
        address_redirect_words(http_header_value(response, "location"), to);
    snprintf(failure->reason, sizeof failure->reason, "the gateway answers %d%s%s",
             response->status, to, to[0] == '\0' ? "" : ": not followed");
}

static void describe(const struct http_response *response, struct gateway_failure *failure)
{
    struct retry_failure seen = {.cause = RETRY_BY_STATUS, .status = response->status};
    if (response->rc != RC_OK) {
        failure->class = response->rc == RC_REJECT ? RETRY_PERMANENT : RETRY_TRANSIENT;
        provider_words_copy(failure->reason, sizeof failure->reason, response->err.text);
    } else if (response->status == 200) {
        failure->class = RETRY_TRANSIENT;
        snprintf(failure->reason, sizeof failure->reason, "the bytes do not fit the address");
    } else {
        failure->class = retry_classify(&seen, rules, sizeof rules / sizeof rules[0]);
        describe_status(response, failure);
    }
}

static void take_failure(struct gateway_try *try, const struct http_response *response)
{
    struct gateway_call *call = try->call;
    struct provider *provider = provider_of(call, try->provider);
    struct gateway_failure *failure = &call->failures[call->failure_count++];
    int64_t wait_us = response->retry_after_ms < 0 ? -1 : response->retry_after_ms * 1000;
    failure->provider = provider->name;
    describe(response, failure);
    if (response->rc == RC_REJECT)
        call->doubted |= 1U << try->provider;
    else if (is_healthy(response))
        provider_abandoned(provider, try->ticket);
    else
        provider_failed(provider, try->ticket,
                        &(struct provider_failure){failure->class, wait_us, failure->reason},
                        mono(call->gateways));
}

static void take_answer(void *arg, const struct http_response *response)
{
    struct gateway_try *try = arg;
    struct gateway_call *call = try->call;
    struct gateways *gateways = call->gateways;
    int64_t now_us = mono(gateways);
    release(try);
    if (response->rc == RC_OK && response->status == 200 &&
        cid_verifies(&call->cid, response->body)) {
        provider_succeeded(provider_of(call, try->provider), try->ticket, now_us - try->asked_us,
                           now_us);
        finish(call, RC_OK, response->body);
        return;
    }
    take_failure(try, response);
    wake_waiting(gateways);
    advance(call);
}

/* ---- questions ---- */

static void ask(struct gateway_call *call, int number)
{
    static const struct http_header headers[] = {{"Accept", "application/vnd.ipld.raw"}};
    struct gateways *gateways = call->gateways;
    struct gateway_try *try = &call->tries[number];
    char cid[CID_TEXT_SIZE];
    struct text url = {0};
    cid_format(&call->cid, cid);
    text_appendf(&url, "%s/ipfs/%s?format=raw", gateways->roots[number], cid);
    struct http_request request = {.url = text_string(&url),
                                   .headers = headers,
                                   .header_count = sizeof headers / sizeof headers[0],
                                   .connect_ms_max = CONNECT_MS_MAX,
                                   .total_ms_max = TOTAL_MS_MAX,
                                   .body_bytes_max = call->bytes_max};
    try->call = call;
    try->provider = number;
    try->asked_us = mono(gateways);
    call->tried |= 1U << number;
    call->running++;
    try->exchange =
        gateways->runtime->ops->http_send(gateways->runtime, &request, take_answer, try);
    text_free(&url);
}

static struct provider_ticket begin(struct provider *provider, int64_t now_us)
{
    return provider_circuit(provider, now_us) == CIRCUIT_CLOSED
               ? provider_ticket(provider)
               : provider_probe_begin(provider, now_us);
}

/* When the gateway may be asked: now, at that time, or BUCKET_NEVER when a place must come free. */
static int64_t ready_at(const struct provider *provider, int64_t now_us)
{
    int64_t circuit_us = provider_ready_us(provider, now_us);
    int64_t budget_us = bucket_closed_until(&provider->bucket, now_us);
    bool full = provider->bucket.limits.flights_max > 0 &&
                provider->bucket.flights >= provider->bucket.limits.flights_max;
    if (full && circuit_us <= now_us && budget_us <= now_us)
        return BUCKET_NEVER;
    return circuit_us > budget_us ? circuit_us : budget_us;
}

/* Whether each gateway that was not asked yet will be left alone for longer than is waited for. */
static bool others_recover(const struct gateway_call *call, int64_t now_us)
{
    const struct failover *group = &call->gateways->group;
    for (int i = 0; i < group->count; i++) {
        int64_t at_us = ready_at(&group->providers[i], now_us);
        bool soon = at_us == BUCKET_NEVER || at_us - now_us <= RECOVERY_US_MAX;
        if ((call->tried >> i & 1) == 0 && soon)
            return false;
    }
    return true;
}

/* The best gateway that was not asked and can be now; else when one may be, or WAIT_US_MAX on. */
static int choose(struct gateway_call *call, int64_t now_us, int64_t *wake_us)
{
    struct failover *group = &call->gateways->group;
    int best = PROVIDER_NONE;
    *wake_us = now_us + WAIT_US_MAX;
    for (int i = 0; i < group->count; i++) {
        struct provider *provider = &group->providers[i];
        int64_t at_us = (call->tried >> i & 1) != 0 ? BUCKET_NEVER : ready_at(provider, now_us);
        if (at_us > now_us) {
            *wake_us = at_us < *wake_us ? at_us : *wake_us;
            continue;
        }
        if (best == PROVIDER_NONE || provider_compare(provider, &group->providers[best]) < 0)
            best = i;
    }
    return best;
}

static bool all_tried(const struct gateway_call *call)
{
    return call->tried == (1U << call->gateways->group.count) - 1;
}

/* Asks one more gateway, waits for one, or ends the call. */
static void advance(struct gateway_call *call)
{
    struct gateways *gateways = call->gateways;
    struct runtime *runtime = gateways->runtime;
    int64_t now_us = mono(gateways), wake_us, never_us;
    int number = choose(call, now_us, &wake_us);
    if (number != PROVIDER_NONE &&
        bucket_take(&provider_of(call, number)->bucket, 1, now_us, &never_us) == RC_OK) {
        call->tries[number].ticket = begin(provider_of(call, number), now_us);
        ask(call, number);
        if (!all_tried(call))
            runtime->ops->timer_arm(runtime, &call->turn, hedge_after(provider_of(call, number)));
        return;
    }
    if (call->running > 0) {
        if (!all_tried(call))
            runtime->ops->timer_arm(runtime, &call->turn, wake_us - now_us);
        return;
    }
    if (all_tried(call) || (call->failure_count > 0 && others_recover(call, now_us)) ||
        now_us - call->began_us >= GATEWAYS_CALL_US_MAX)
        finish(call, RC_RETRY, BYTES_ABSENT);
    else
        runtime->ops->timer_arm(runtime, &call->turn, wake_us - now_us);
}

static void take_turn(void *arg)
{
    advance(arg);
}

void gateways_get(struct gateways *gateways, struct gateway_call *call, const struct cid *cid,
                  size_t bytes_max, uint32_t without, gateway_fn *fn, void *arg)
{
    uint32_t all = (1U << gateways->group.count) - 1;
    uint32_t spared = (without & all) == all ? 0 : without & all;
    *call = (struct gateway_call){.gateways = gateways,
                                  .next = gateways->calls,
                                  .cid = *cid,
                                  .bytes_max = bytes_max,
                                  .spared = spared,
                                  .tried = spared,
                                  .began_us = mono(gateways),
                                  .turn = {.fn = take_turn, .arg = call},
                                  .fn = fn,
                                  .arg = arg};
    if (gateways->calls != NULL)
        gateways->calls->previous = call;
    gateways->calls = call;
    gateways->runtime->ops->timer_arm(gateways->runtime, &call->turn, 0);
}

/* ---- their life ---- */

static enum rc add_gateway(struct gateways *gateways, const char *root, uint32_t flights_max,
                           struct err *err)
{
    char name[PROVIDER_NAME_MAX];
    struct provider_spec spec = {
        .name = name, .priority = 0, .limits = {.flights_max = flights_max}};
    int number;
    provider_name_of_url(root, name);
    enum rc rc = failover_add(&gateways->group, &spec, mono(gateways), &number, err);
    if (rc != RC_OK)
        return err_wrap(err, rc, "content.gateways");
    gateways->roots[number] = memory_copy_string(root);
    size_t len = strlen(root);
    while (len > 0 && root[len - 1] == '/')
        len--;
    gateways->roots[number][len] = '\0';
    return RC_OK;
}

enum rc gateways_new(struct runtime *runtime, const struct gateways_settings *settings,
                     struct gateways **out, struct err *err)
{
    struct gateways *gateways = memory_new_zeroed(1, sizeof *gateways);
    struct failover_settings defaults;
    enum rc rc = RC_OK;
    assert(settings->root_count > 0);
    gateways->runtime = runtime;
    failover_settings_default(&defaults);
    failover_init(&gateways->group, &defaults);
    for (size_t i = 0; i < settings->root_count && rc == RC_OK; i++)
        rc = add_gateway(gateways, settings->roots[i], settings->flights_max, err);
    if (rc != RC_OK) {
        gateways_free(gateways);
        gateways = NULL;
    }
    *out = gateways;
    return rc;
}

void gateways_free(struct gateways *gateways)
{
    if (gateways == NULL)
        return;
    assert(gateways->calls == NULL);
    for (size_t i = 0; i < GATEWAYS_MAX; i++)
        free(gateways->roots[i]);
    free(gateways);
}

void gateways_tune(struct gateways *gateways, uint32_t flights_max)
{
    struct bucket_limits limits = {.flights_max = flights_max};
    for (int i = 0; i < gateways->group.count; i++)
        bucket_tune(&gateways->group.providers[i].bucket, &limits, mono(gateways));
    wake_waiting(gateways);
}

const struct failover *gateways_group(const struct gateways *gateways)
{
    return &gateways->group;
}
