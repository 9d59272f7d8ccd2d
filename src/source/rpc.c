/* SPDX-License-Identifier: Apache-2.0 */
#include "source/rpc.h"

#include "base/secret.h"

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
    int told_by;
    bool disbelieved, reproached;  /* while telling */
    char why[PROVIDER_REASON_MAX]; /* it is disbelieved */
    struct err trouble;
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

/* An opinion that is not to be had is told, not waited for. */
static void tell_silence(struct rpc *rpc, const struct provider_failure *failure)
{
    struct err err;
    rpc_fn *fn = rpc->fn;
    provider_failed(asked_node(rpc), rpc->pick.ticket, failure, mono(rpc));
    rpc->fn = NULL;
    rpc->telling = true;
    rpc->told_by = rpc->pick.provider;
    err_set(&err, RC_RETRY, "%s: %s", asked_node(rpc)->name, failure->reason);
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
    struct provider_failure failure = {.class = class == RETRY_AUTH ? RETRY_PERMANENT : class,
                                       .retry_after_us = retry_after_us,
                                       .reason = why};
    if (rpc->aside) {
        tell_silence(rpc, &failure);
        return;
    }
    note_failure(rpc, &rpc->pick, &failure);
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
        provider_succeeded(asked_node(rpc), pick.ticket, latency_us, mono(rpc));
    rpc->fn = NULL;
    rpc->telling = true;
    rpc->told_by = pick.provider;
    rpc->disbelieved = rpc->reproached = false;
    fn(rpc->arg, rc, result, err);
    rpc->telling = false;
    if (rpc->disbelieved) {
        assert(rpc->fn == NULL);
        rpc->fn = fn;
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

/* Whether the words hold a part of the node's address that may be a secret: whatever stands before
 * or behind its host and is long enough to be one. */
static bool holds_secret(const char *url, struct bytes words)
{
    const char *at = strstr(url, "://");
    at = at == NULL ? url : at + 3;
    const char *host_end = at + strcspn(at, "/?#");
    const char *user_end = memchr(at, '@', (size_t)(host_end - at));
    for (at = user_end == NULL ? host_end : at; *at != '\0';) {
        size_t len = strcspn(at, ":@/?&=#");
        bool in_host = user_end != NULL && at > user_end && at < host_end;
        if (len >= SECRET_WORD_MIN && !in_host && words.len > 0 &&
            memmem(words.data, words.len, at, len) != NULL)
            return true;
        at += len + (at[len] != '\0');
    }
    return false;
}

static void note_refusal(const struct rpc *rpc, struct json error, struct err *err)
{
    struct bytes message = json_string_or_absent(json_get(error, "message"));
    if (message.len == 0 || holds_secret(rpc->urls[rpc->pick.provider], message))
        err_set(err, RC_REJECT, "the node refuses");
    else
        err_set(err, RC_REJECT, "the node refuses: %.*s", (int)message.len, message.data);
}

static void take_answer(void *arg, const struct http_response *response)
{
    struct rpc *rpc = arg;
    struct retry_failure seen = {.cause = RETRY_BY_STATUS, .status = response->status};
    int64_t after_us = response->retry_after_ms < 0 ? -1 : response->retry_after_ms * 1000;
    struct json root, error;
    struct err err;
    char words[64];
    rpc->exchange = NULL;
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
        snprintf(words, sizeof words, "the node answers %d", response->status);
        fail(rpc, retry_classify(&seen, NULL, 0), after_us, words);
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
    rpc->aside = false;
    put_question(rpc, method, params, fn, arg);
}

/* The best of those that can be asked now. */
static int find_other(const struct rpc *rpc, uint32_t without)
{
    int best = PROVIDER_NONE;
    int64_t now_us = mono(rpc);
    for (int i = 0; i < rpc->group.count; i++) {
        const struct provider *node = &rpc->group.providers[i];
        if ((without >> i & 1) != 0 || provider_circuit(node, now_us) != CIRCUIT_CLOSED ||
            bucket_closed_until(&node->bucket, now_us) > now_us)
            continue;
        if (best == PROVIDER_NONE || provider_compare(node, &rpc->group.providers[best]) < 0)
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
    rpc->pick = (struct failover_pick){.provider = node,
                                       .ticket = provider_ticket(&rpc->group.providers[node])};
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
