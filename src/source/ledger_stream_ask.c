/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/connector_secrets.h"
#include "source/ledger_stream_steps.h"

#include <assert.h>
#include <string.h>

#define RESTARTS_MAX 3
#define NOT_FOUND    404
#define PLACE_US     INT64_C(5000) /* look again for a free place at the provider */

static void release(struct ledger_stream *stream)
{
    assert(stream->picked);
    ledger_pace_release(&stream->run->platform->members[stream->pick.provider]->pace);
    stream->picked = false;
}

static void take_page(struct ledger_stream *stream, bool empty)
{
    struct err err;
    enum rc rc = ledger_stream_open_page(stream, empty, &err);
    if (rc != RC_OK)
        ledger_stream_failed(stream, RETRY_PERMANENT, -1, err.text);
    else if (stream->detail_count > 0)
        ledger_stream_next_detail(stream);
    else
        ledger_stream_store(stream);
}

static void ask_bound(struct ledger_stream *stream)
{
    stream->purpose = ASK_BOUND;
    ledger_stream_choose(stream);
}

/* The page that came before it is still there. */
static void take_bound(struct ledger_stream *stream)
{
    stream->purpose = ASK_PAGE;
    ledger_stream_take_bound(stream);
    take_page(stream, false);
}

static void take_answer(struct ledger_stream *stream, bool empty)
{
    int64_t now_us = ledger_stream_mono(stream);
    if (stream->purpose == ASK_DETAIL && !ledger_stream_detail_came(stream)) {
        ledger_stream_failed(stream, RETRY_TRANSIENT, -1, "does not know a record it listed");
        return;
    }
    failover_succeeded(&stream->failover, &stream->pick, now_us - stream->asked_us, now_us);
    stream->failures = stream->restarts = 0;
    stream->refused &= ~(1U << stream->pick.provider);
    stream->locked &= ~(1U << stream->pick.provider);
    if (stream->purpose == ASK_LIST)
        ledger_stream_take_list(stream);
    else if (stream->purpose == ASK_HEAD)
        ledger_stream_take_head(stream);
    else if (stream->purpose == ASK_BOUND)
        take_bound(stream);
    else if (stream->purpose == ASK_DETAIL)
        ledger_stream_take_detail(stream);
    else if (stream->purpose == ASK_COUNT)
        ledger_stream_take_count(stream);
    else if (stream->purpose == ASK_REACH)
        ledger_stream_take_reach(stream);
    else if (stream->purpose == ASK_SINCE)
        ledger_stream_take_since(stream);
    else if (!empty && ledger_stream_leads_beyond(stream))
        ask_bound(stream);
    else
        take_page(stream, empty);
}

static void restart(struct ledger_stream *stream, const char *why)
{
    if (stream->purpose == ASK_PAGE && ledger_walk_is_new(&stream->walk)) {
        ledger_stream_failed(stream, RETRY_PERMANENT, -1, why); /* it would be the same again */
        return;
    }
    if (stream->purpose != ASK_PAGE || ++stream->restarts > RESTARTS_MAX) {
        ledger_stream_failed(stream, RETRY_TRANSIENT, -1, why);
        return;
    }
    failover_abandoned(&stream->failover, &stream->pick);
    stream->waiting = 0;
    window_clear(&stream->unreadable);
    ledger_walk_restart(&stream->walk);
    ledger_stream_choose(stream);
}

static void ask_for_less(struct ledger_stream *stream, const char *why)
{
    if (stream->purpose != ASK_PAGE || !ledger_walk_shrink(&stream->walk)) {
        ledger_stream_failed(stream, RETRY_PERMANENT, -1, why);
        return;
    }
    failover_abandoned(&stream->failover, &stream->pick);
    ledger_stream_choose(stream);
}

static void judge(struct ledger_stream *stream, const struct connector_answer *answer,
                  int64_t retry_after_ms)
{
    static const enum retry_class classes[] = {[VERDICT_RETRY] = RETRY_TRANSIENT,
                                               [VERDICT_RATE_LIMITED] = RETRY_RATE_LIMITED,
                                               [VERDICT_AUTH] = RETRY_AUTH,
                                               [VERDICT_NEXT_PROVIDER] = RETRY_PERMANENT};
    struct err why = {""};
    if (stream->purpose == ASK_DETAIL && answer->status == NOT_FOUND) {
        stream->side.root = (struct json){0};
        take_answer(stream, false);
        return;
    }
    struct connector_judgement judgement =
        connector_judge(stream->provider->connector, stream->shape, &stream->vars, answer, &why);
    int64_t wait_ms = judgement.wait_ms > 0 ? judgement.wait_ms : retry_after_ms;
    bool refused = judgement.verdict == VERDICT_NEXT_PROVIDER ||
                   judgement.verdict == VERDICT_FATAL || judgement.verdict == VERDICT_RESTART;
    refused |= stream->purpose == ASK_BOUND &&
               (judgement.verdict == VERDICT_AUTH || judgement.verdict == VERDICT_SMALLER);
    if ((stream->purpose == ASK_SINCE || stream->purpose == ASK_REACH ||
         stream->purpose == ASK_BOUND) &&
        refused) {
        stream->side.root = (struct json){0}; /* it has no such block */
        judgement.verdict = VERDICT_OK;
    }
    if (stream->purpose == ASK_DETAIL && judgement.verdict == VERDICT_EMPTY)
        stream->side.root = (struct json){0}; /* not all of it: as good as none */
    switch (judgement.verdict) {
    case VERDICT_OK:
    case VERDICT_EMPTY:
        take_answer(stream, judgement.verdict == VERDICT_EMPTY);
        break;
    case VERDICT_RESTART:
        restart(stream, why.text);
        break;
    case VERDICT_SMALLER:
        ask_for_less(stream, why.text);
        break;
    case VERDICT_FATAL:
        stream->hopeless |= 1U << stream->pick.provider;
        ledger_stream_failed(stream, RETRY_PERMANENT, -1, why.text);
        break;
    case VERDICT_RETRY:
    case VERDICT_RATE_LIMITED:
    case VERDICT_AUTH:
    case VERDICT_NEXT_PROVIDER:
        ledger_stream_failed(stream, classes[judgement.verdict], wait_ms > 0 ? wait_ms * 1000 : -1,
                             why.text);
        break;
    }
}

static void on_answer(void *arg, const struct http_response *response)
{
    struct ledger_stream *stream = arg;
    struct err err;
    stream->call = NULL;
    release(stream);
    if (stream->stopping) {
        failover_abandoned(&stream->failover, &stream->pick);
        ledger_stream_end(stream, LEDGER_STOPPED, "");
        return;
    }
    if (response->rc != RC_OK) {
        ledger_stream_failed(stream, response->rc == RC_RETRY ? RETRY_TRANSIENT : RETRY_PERMANENT,
                             -1, response->err.text);
        return;
    }
    bool page = stream->purpose == ASK_PAGE;
    struct connector_answer *answer = page ? &stream->answer : &stream->side;
    struct text *headers = page ? &stream->headers : &stream->side_headers;
    text_clear(headers);
    text_append(headers, response->headers.data, response->headers.len);
    *answer = (struct connector_answer){.status = response->status, .headers = text_bytes(headers)};
    struct bytes body = connector_without_secrets(stream->provider->connector, &stream->vars,
                                                  &stream->http, response->body, &stream->cleaned);
    if (connector_parse(page ? stream->doc : stream->side_doc, body,
                        page ? &stream->digits : &stream->side_digits, &answer->root,
                        &err) != RC_OK)
        answer->root = (struct json){0};
    judge(stream, answer, response->retry_after_ms);
}

static void send(struct ledger_stream *stream)
{
    struct runtime *runtime = stream->run->env->runtime;
    struct http_header headers[CONNECTOR_HEADERS_MAX];
    const struct connector_http *http = &stream->http;
    for (size_t i = 0; i < http->header_count; i++)
        headers[i] = (struct http_header){http->header_text.data + http->headers[i].name,
                                          http->header_text.data + http->headers[i].value};
    const struct http_request request = {.method = http->method,
                                         .url = text_string(&http->url),
                                         .headers = headers,
                                         .header_count = http->header_count,
                                         .body = text_bytes(&http->body),
                                         .total_ms_max =
                                             (uint32_t)stream->provider->connector->timeout_ms,
                                         .body_bytes_max = LEDGER_ANSWER_MAX};
    stream->view.state = LEDGER_ASKING;
    stream->view.until_us = 0;
    stream->view.requests++;
    stream->asked_us = ledger_stream_mono(stream);
    stream->call = runtime->ops->http_send(runtime, &request, on_answer, stream);
}

static struct bytes part_of(const struct ledger_stream *stream, unsigned number)
{
    const char *at = text_string(&stream->parts);
    for (; number > 0; number--)
        at += strlen(at) + 1;
    return bytes_of(at);
}

/* Sets the variables of what is asked for. */
static const struct connector_request *prepare(struct ledger_stream *stream)
{
    const struct connector_stream *shape = stream->shape;
    stream->vars.key = BYTES_ABSENT;
    switch (stream->purpose) {
    case ASK_LIST:
        stream->vars.token = text_bytes(&stream->list_token);
        if (stream->list_token.len == 0)
            stream->vars.token = BYTES_ABSENT;
        return shape->listed.request;
    case ASK_HEAD:
    case ASK_REACH:
        stream->vars.token = BYTES_ABSENT;
        return shape->head.request;
    case ASK_BOUND: /* what was asked for with the page stays: the page is read with it */
        return shape->head.request;
    case ASK_DETAIL:
        stream->vars.key = connector_detail_key(shape, stream->details[stream->detail_at].record);
        return shape->detail.request;
    case ASK_COUNT:
        stream->vars.token = BYTES_ABSENT;
        return shape->count.request;
    case ASK_SINCE:
        return ledger_stream_ask_since(stream);
    case ASK_PAGE:
        break;
    }
    bool more = ledger_walk_next(&stream->walk, &stream->vars);
    assert(more);
    if (shape->listed.request != NULL)
        stream->vars.part = part_of(stream, stream->vars.partition);
    return shape->request;
}

/* RC_AGAIN: when more is stored. */
static enum rc build(struct ledger_stream *stream, const struct ledger_provider *provider,
                     struct err *err)
{
    struct runtime *runtime = stream->run->env->runtime;
    const struct connector_request *request = prepare(stream);
    stream->vars.now_ms = ledger_stream_wall(stream) / 1000;
    stream->vars.chance = runtime->ops->random(runtime);
    if (provider->connector->uses_nonce &&
        !ledger_nonces_take(stream->run->nonces, stream->vars.now_ms, &stream->vars.nonce))
        return err_set(err, RC_AGAIN, "no nonce for %s is reserved in the store yet",
                       provider->connector->provider);
    return connector_build(provider->connector, stream->shape, request, &stream->vars,
                           provider->base_url, &stream->http, err);
}

/* Builds the request and sends it, if the provider's limits let it go now. */
void ledger_stream_ask(struct ledger_stream *stream)
{
    struct ledger_provider *provider = stream->run->platform->members[stream->pick.provider];
    int64_t now_us = ledger_stream_mono(stream), at_us = stream->pick.at_us;
    struct err err;
    if (at_us <= now_us && ledger_pace_take(&provider->pace, now_us, &at_us) == RC_OK) {
        enum rc rc = build(stream, provider, &err);
        if (rc == RC_OK) {
            send(stream);
            return;
        }
        release(stream);
        bool signs = provider->connector->sign != SIGN_NONE; /* its secret cannot be used */
        ledger_stream_failed(stream,
                             rc == RC_AGAIN ? RETRY_TRANSIENT
                             : signs        ? RETRY_AUTH
                                            : RETRY_PERMANENT,
                             -1, err.text);
        return;
    }
    failover_abandoned(&stream->failover, &stream->pick);
    stream->picked = false;
    ledger_stream_wait(stream, at_us == BUCKET_NEVER ? now_us + PLACE_US : at_us, true);
}

void ledger_stream_break_off(struct ledger_stream *stream)
{
    struct runtime *runtime = stream->run->env->runtime;
    runtime->ops->timer_disarm(runtime, &stream->wake);
    if (stream->call == NULL)
        return;
    runtime->ops->http_cancel(runtime, stream->call);
    stream->call = NULL;
    release(stream);
    failover_abandoned(&stream->failover, &stream->pick);
}
