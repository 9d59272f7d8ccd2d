/* SPDX-License-Identifier: Apache-2.0 */
#include "source/rpc.h"

#include "source/node_secret.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_MAX     ((size_t)16 << 20)
#define CONNECT_MS_MAX 5000
#define TOTAL_MS_MAX   30000
#define WAIT_US_MAX    INT64_C(60000000)

struct rpc {
    struct runtime *runtime;
    char *urls[FAILOVER_PROVIDERS_MAX]; /* by number of provider */
    struct failover group;
    struct failover_stream stream;
    struct failover_pick pick;
    int64_t asked_us;
    struct json_doc *doc;
    struct text body;
    uint64_t id;
    struct http_call *exchange;
    struct timer again;
    rpc_fn *fn; /* NULL: nothing is under way */
    void *arg;
    bool telling;
    bool aside; /* the question is for a second opinion */
    bool once;  /* whoever asks is told that there is no answer */
    int told_by;
    bool disbelieved, reproached;  /* while telling */
    char why[PROVIDER_REASON_MAX]; /* it is disbelieved */
    struct err trouble;
};

/* A status says nothing of what was asked: that is always the same address. So none is for good,
 * not even that of a node which refuses to know who asks: a proxy before it may have said so. */
static const struct retry_rule rules[] = {
    {401, 401, NULL, RETRY_AUTH},
    {407, 407, NULL, RETRY_AUTH},
    {429, 429, NULL, RETRY_RATE_LIMITED},
    {300, 599, NULL, RETRY_TRANSIENT},
};

static void send_question(struct rpc *rpc);

static int64_t mono(const struct rpc *rpc)
{
    return rpc->runtime->ops->mono_us(rpc->runtime);
}

static void take_turn(void *arg)
{
    send_question(arg);
}

static struct provider *asked_node(struct rpc *rpc)
{
    return &rpc->group.providers[rpc->pick.provider];
}

/* An answer that is not to be had is told, not waited for. */
static void tell_silence(struct rpc *rpc, const char *why)
{
    struct err err;
    rpc_fn *fn = rpc->fn;
    rpc->fn = NULL;
    rpc->telling = true;
    rpc->told_by = rpc->pick.provider;
    err_set(&err, RC_RETRY, "%s", why);
    fn(rpc->arg, RC_RETRY, (struct json){0}, &err);
    rpc->telling = false;
    if (rpc->fn != NULL)
        rpc->runtime->ops->timer_arm(rpc->runtime, &rpc->again, 0);
}

/* The stream of questions was failed by a node. */
static void note_failure(struct rpc *rpc, const struct failover_pick *pick,
                         const struct provider_failure *failure)
{
    failover_failed(&rpc->stream, pick, failure, mono(rpc),
                    rpc->runtime->ops->random(rpc->runtime));
    err_set(&rpc->trouble, RC_RETRY, "%s: %s", rpc->group.providers[pick->provider].name,
            failure->reason);
}

static void fail(struct rpc *rpc, enum retry_class class, int64_t retry_after_us, const char *why)
{
    struct provider_failure failure = {class, retry_after_us, why};
    if (rpc->aside)
        provider_failed(asked_node(rpc), rpc->pick.ticket, &failure, mono(rpc));
    else
        note_failure(rpc, &rpc->pick, &failure);
    if (rpc->aside || (rpc->once && class != RETRY_RATE_LIMITED))
        tell_silence(rpc, why);
    else
        rpc->runtime->ops->timer_arm(rpc->runtime, &rpc->again, 0);
}

/* Tells the answer; the function may disbelieve it. What is refused for a second opinion is neither
 * a success nor a failure until the function says so. */
static void tell(struct rpc *rpc, enum rc rc, struct json result, const struct err *err)
{
    rpc_fn *fn = rpc->fn;
    struct failover_pick pick = rpc->pick;
    int64_t latency_us = mono(rpc) - rpc->asked_us;
    bool aside = rpc->aside;
    if (aside && rc == RC_OK)
        failover_succeeded(&rpc->stream, &pick, latency_us, mono(rpc));
    else if (aside)
        failover_abandoned(&rpc->stream, &pick);
    rpc->fn = NULL;
    rpc->telling = true;
    rpc->told_by = pick.provider;
    rpc->disbelieved = rpc->reproached = false;
    fn(rpc->arg, rc, result, err);
    rpc->telling = false;
    if (rpc->disbelieved) {
        assert(rpc->fn == NULL);
        rpc->fn = fn;
        rpc->once = false; /* there was an answer */
        fail(rpc, RETRY_TRANSIENT, -1, rpc->why);
        return;
    }
    if (!aside && !rpc->reproached) {
        failover_succeeded(&rpc->stream, &pick, latency_us, mono(rpc));
        rpc->trouble.text[0] = '\0';
    }
    if (rpc->fn != NULL)
        rpc->runtime->ops->timer_arm(rpc->runtime, &rpc->again, 0);
}

static void note_refusal(const struct rpc *rpc, struct json error, struct err *err)
{
    struct bytes message = json_string_or_absent(json_get(error, "message"));
    if (message.len == 0)
        err_set(err, RC_REJECT, "the node refuses");
    else if (node_secret_said(rpc->urls[rpc->pick.provider], message))
        err_set(err, RC_REJECT, "the node refuses, in words that may hold a secret");
    else
        err_set(err, RC_REJECT, "the node refuses: %.*s", (int)message.len, message.data);
}

static void fail_by_status(struct rpc *rpc, const struct http_response *response)
{
    struct retry_failure seen = {.cause = RETRY_BY_STATUS, .status = response->status};
    int64_t after_us = response->retry_after_ms < 0 ? -1 : response->retry_after_ms * 1000;
    bool refused = seen.status == 401 || seen.status == 403 || seen.status == 407;
    char words[PROVIDER_REASON_MAX];
    snprintf(words, sizeof words, "the node answers %d%s", seen.status,
             refused ? ": are the credentials in its address (content.rpc) right?" : "");
    fail(rpc, retry_classify(&seen, rules, sizeof rules / sizeof rules[0]), after_us, words);
}

static void take_answer(void *arg, const struct http_response *response)
{
    struct rpc *rpc = arg;
    struct json root, error;
    struct err err;
    rpc->exchange = NULL;
    if (response->rc == RC_REJECT || (response->rc == RC_OK && response->status == 413)) {
        err_set(&err, RC_REJECT, "%s",
                response->rc == RC_REJECT ? response->err.text : "the node answers 413: too much");
        tell(rpc, RC_REJECT, (struct json){0}, &err);
        return;
    }
    if (response->rc != RC_OK) {
        fail(rpc, RETRY_TRANSIENT, -1, response->err.text);
        return;
    }
    bool parsed = json_parse(rpc->doc, response->body, &root, &err) == RC_OK;
    error = parsed ? json_get(root, "error") : (struct json){0};
    if (json_type(error) == JSON_OBJECT && response->status != 429) {
        note_refusal(rpc, error, &err);
        tell(rpc, RC_REJECT, (struct json){0}, &err);
    } else if (response->status != 200) {
        fail_by_status(rpc, response);
    } else if (!parsed || json_type(json_get(root, "result")) == JSON_ABSENT) {
        fail(rpc, RETRY_TRANSIENT, -1, "the answer is no JSON-RPC");
    } else {
        tell(rpc, RC_OK, json_get(root, "result"), NULL);
    }
}

/* False: nobody can be asked yet; the question has its turn later. */
static bool choose_node(struct rpc *rpc, int64_t now_us)
{
    static const struct failover_offer anywhere = {.owner = PROVIDER_NONE};
    int64_t at_us;
    enum rc rc = failover_choose(&rpc->stream, &anywhere, now_us, &rpc->pick, &rpc->trouble);
    at_us = rpc->pick.at_us;
    if (rc != RC_OK || at_us > now_us) {
        if (rc == RC_OK)
            failover_abandoned(&rpc->stream, &rpc->pick);
        int64_t wait_us = at_us > now_us + WAIT_US_MAX ? WAIT_US_MAX : at_us - now_us;
        rpc->runtime->ops->timer_arm(rpc->runtime, &rpc->again, wait_us > 0 ? wait_us : 1000);
    }
    return rc == RC_OK && at_us <= now_us;
}

static void send_question(struct rpc *rpc)
{
    static const struct http_header headers[] = {{"Content-Type", "application/json"}};
    int64_t now_us = mono(rpc);
    if (rpc->fn == NULL || (!rpc->aside && !choose_node(rpc, now_us)))
        return;
    struct http_request request = {.method = "POST",
                                   .url = rpc->urls[rpc->pick.provider],
                                   .headers = headers,
                                   .header_count = sizeof headers / sizeof headers[0],
                                   .body = text_bytes(&rpc->body),
                                   .connect_ms_max = CONNECT_MS_MAX,
                                   .total_ms_max = TOTAL_MS_MAX,
                                   .body_bytes_max = ANSWER_MAX};
    rpc->asked_us = now_us;
    rpc->exchange = rpc->runtime->ops->http_send(rpc->runtime, &request, take_answer, rpc);
}

static void put_question(struct rpc *rpc, const char *method, const char *params, rpc_fn *fn,
                         void *arg)
{
    assert(rpc->fn == NULL && rpc->exchange == NULL);
    text_clear(&rpc->body);
    text_appendf(&rpc->body, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"method\":\"%s\",\"params\":%s}",
                 (unsigned long long)++rpc->id, method, params);
    rpc->fn = fn;
    rpc->arg = arg;
    if (!rpc->telling)
        rpc->runtime->ops->timer_arm(rpc->runtime, &rpc->again, 0);
}

void rpc_ask(struct rpc *rpc, const char *method, const char *params, rpc_fn *fn, void *arg)
{
    rpc->aside = rpc->once = false;
    put_question(rpc, method, params, fn, arg);
}

void rpc_ask_once(struct rpc *rpc, const char *method, const char *params, rpc_fn *fn, void *arg)
{
    rpc_ask(rpc, method, params, fn, arg);
    rpc->once = true;
}

static bool is_closed(const struct rpc *rpc, int node)
{
    return provider_circuit(&rpc->group.providers[node], mono(rpc)) == CIRCUIT_CLOSED;
}

/* The best of those that can be asked now: one that is well, or one that was left alone for long
 * enough to be tried. */
static int find_other(const struct rpc *rpc, uint32_t without)
{
    int best = PROVIDER_NONE;
    int64_t now_us = mono(rpc);
    for (int i = 0; i < rpc->group.count; i++) {
        const struct provider *node = &rpc->group.providers[i];
        bool closed = is_closed(rpc, i);
        if ((without >> i & 1) != 0 || (!closed && !provider_probe_wanted(node, now_us)) ||
            bucket_closed_until(&node->bucket, now_us) > now_us)
            continue;
        bool better = best == PROVIDER_NONE || (closed && !is_closed(rpc, best));
        if (better || (closed == is_closed(rpc, best) &&
                       provider_compare(node, &rpc->group.providers[best]) < 0))
            best = i;
    }
    return best;
}

bool rpc_ask_other(struct rpc *rpc, uint32_t without, const char *method, const char *params,
                   rpc_fn *fn, void *arg)
{
    int node = find_other(rpc, without);
    if (node == PROVIDER_NONE)
        return false;
    rpc->aside = true;
    struct provider *provider = &rpc->group.providers[node];
    rpc->pick = (struct failover_pick){.provider = node,
                                       .ticket = is_closed(rpc, node)
                                                     ? provider_ticket(provider)
                                                     : provider_probe_begin(provider, mono(rpc))};
    put_question(rpc, method, params, fn, arg);
    return true;
}

int rpc_told_by(const struct rpc *rpc)
{
    return rpc->told_by;
}

void rpc_blame(struct rpc *rpc, int node, const char *why)
{
    struct provider_failure failure = {RETRY_TRANSIENT, -1, why};
    struct failover_pick pick = {.provider = node};
    const struct provider *provider = &rpc->group.providers[node];
    if (provider_circuit(provider, mono(rpc)) != CIRCUIT_CLOSED)
        return;
    pick.ticket = provider_ticket(provider);
    note_failure(rpc, &pick, &failure);
}

void rpc_disbelieve(struct rpc *rpc, const char *why)
{
    assert(rpc->telling && !rpc->aside);
    rpc->disbelieved = true;
    (void)provider_words_copy(rpc->why, sizeof rpc->why, why);
}

void rpc_reproach(struct rpc *rpc, const char *why)
{
    struct provider_failure failure = {RETRY_TRANSIENT, -1, why};
    assert(rpc->telling && !rpc->aside && rpc->fn == NULL);
    note_failure(rpc, &rpc->pick, &failure);
    rpc->reproached = true;
}

void rpc_stop(struct rpc *rpc)
{
    if (rpc->exchange != NULL) {
        rpc->runtime->ops->http_cancel(rpc->runtime, rpc->exchange);
        failover_abandoned(&rpc->stream, &rpc->pick);
    }
    rpc->exchange = NULL;
    rpc->fn = NULL;
    rpc->runtime->ops->timer_disarm(rpc->runtime, &rpc->again);
}

const char *rpc_trouble(const struct rpc *rpc)
{
    return rpc->trouble.text;
}

const struct failover *rpc_group(const struct rpc *rpc, int *current)
{
    *current = rpc->stream.current;
    return &rpc->group;
}

/* ---- its life ---- */

static enum rc add_node(struct rpc *rpc, const char *url, int priority, struct err *err)
{
    char name[PROVIDER_NAME_MAX];
    struct provider_spec spec = {.name = name, .priority = priority};
    int number;
    provider_name_of_url(url, name);
    enum rc rc = failover_add(&rpc->group, &spec, mono(rpc), &number, err);
    if (rc != RC_OK)
        return err_wrap(err, rc, "content.rpc");
    rpc->urls[number] = memory_copy_string(url);
    return RC_OK;
}

enum rc rpc_new(struct runtime *runtime, const char *const *urls, size_t url_count,
                struct rpc **out, struct err *err)
{
    struct rpc *rpc = memory_new_zeroed(1, sizeof *rpc);
    struct failover_settings defaults;
    enum rc rc = RC_OK;
    rpc->runtime = runtime;
    rpc->again = (struct timer){.fn = take_turn, .arg = rpc};
    rpc->doc = json_doc_new(ANSWER_MAX, JSON_DEPTH_MAX);
    failover_settings_default(&defaults);
    failover_init(&rpc->group, &defaults);
    for (size_t i = 0; i < url_count && rc == RC_OK; i++)
        rc = add_node(rpc, urls[i], (int)i, err);
    failover_stream_init(&rpc->stream, &rpc->group, "blocks");
    if (rc != RC_OK) {
        rpc_free(rpc);
        rpc = NULL;
    }
    *out = rpc;
    return rc;
}

void rpc_free(struct rpc *rpc)
{
    if (rpc == NULL)
        return;
    assert(rpc->exchange == NULL);
    for (size_t i = 0; i < FAILOVER_PROVIDERS_MAX; i++)
        free(rpc->urls[i]);
    json_doc_free(rpc->doc);
    text_free(&rpc->body);
    free(rpc);
}
