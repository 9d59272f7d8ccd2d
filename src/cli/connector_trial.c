/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/connector_trial.h"

#include "decode/connector_secrets.h"
#include "sys/network.h"

#include <string.h>

#define BODY_BYTES_MAX ((size_t)16 * 1024 * 1024)

void connector_trial_init(struct connector_trial *trial, const struct config *config,
                          const struct connector *connector, const struct connector_stream *stream,
                          struct bytes platform, struct bytes account)
{
    const struct config_provider *provider = config_provider_find(config, connector->provider);
    *trial = (struct connector_trial){
        .connector = connector,
        .stream = stream,
        .config = config,
        .vars = connector_vars_first(stream, platform, account),
    };
    if (provider != NULL) {
        trial->base_url = provider->base_url;
        trial->vars.api_key = secret_reveal(&provider->api_key);
        trial->vars.api_secret = secret_reveal(&provider->api_secret);
    }
    trial->doc = json_doc_new(BODY_BYTES_MAX, JSON_DEPTH_MAX);
}

void connector_trial_deinit(struct connector_trial *trial)
{
    text_free(&trial->request);
    text_free(&trial->part);
    text_free(&trial->body);
    text_free(&trial->headers);
    text_free(&trial->exact);
    json_doc_free(trial->doc);
}

/* ---- one exchange ---- */

struct exchange {
    struct connector_trial *trial;
    struct loop *loop;
    enum rc rc;
    struct err *err;
};

static void on_answer(void *arg, const struct http_response *response)
{
    struct exchange *exchange = arg;
    struct connector_trial *trial = exchange->trial;
    exchange->rc = response->rc;
    if (response->rc == RC_OK) {
        text_append(&trial->body, response->body.data, response->body.len);
        text_append(&trial->headers, response->headers.data, response->headers.len);
        trial->answer.status = response->status;
    } else {
        err_set(exchange->err, response->rc, "%s", response->err.text);
    }
    loop_stop(exchange->loop);
}

static void judge(struct connector_trial *trial)
{
    struct err wrong;
    trial->answer.headers = text_bytes(&trial->headers);
    text_reserve(&trial->body, ARENA_PAD);
    if (connector_parse(trial->doc, text_bytes(&trial->body), &trial->exact, &trial->answer.root,
                        &wrong) != RC_OK)
        trial->answer.root = (struct json){0};
    trial->judgement =
        connector_judge(trial->connector, trial->stream, &trial->vars, &trial->answer, &trial->why);
}

/* What is shown of the answer shows none of the keys. */
static void cut_secrets(struct connector_trial *trial, const struct connector_http *http)
{
    struct text scratch = {0};
    struct bytes body = text_bytes(&trial->body);
    struct bytes clean =
        connector_without_secrets(trial->connector, &trial->vars, http, body, &scratch);
    if (clean.data != body.data) {
        text_clear(&trial->body);
        text_append(&trial->body, clean.data, clean.len);
    }
    text_free(&scratch);
}

static enum rc send(struct connector_trial *trial, const struct connector_http *http,
                    struct loop *loop, struct err *err)
{
    struct exchange exchange = {.trial = trial, .loop = loop, .rc = RC_RETRY, .err = err};
    struct http_header headers[CONNECTOR_HEADERS_MAX];
    struct runtime *runtime = loop_runtime(loop);
    for (size_t i = 0; i < http->header_count; i++)
        headers[i] = (struct http_header){http->header_text.data + http->headers[i].name,
                                          http->header_text.data + http->headers[i].value};
    struct http_request request = {.method = http->method,
                                   .url = http->url.data,
                                   .headers = headers,
                                   .header_count = http->header_count,
                                   .body = text_bytes(&http->body),
                                   .total_ms_max = (uint32_t)trial->connector->timeout_ms,
                                   .body_bytes_max = BODY_BYTES_MAX};
    text_clear(&trial->body);
    text_clear(&trial->headers);
    if (runtime->ops->http_send(runtime, &request, on_answer, &exchange) == NULL)
        return err_set(err, RC_RETRY, "the request was not taken");
    loop_run(loop);
    cut_secrets(trial, http);
    return exchange.rc;
}

static enum rc ask(struct connector_trial *trial, const struct connector_request *request,
                   struct err *err)
{
    struct loop *loop = loop_new();
    const char *ca_file = trial->config->fetch.ca_file;
    struct network *network =
        network_new(loop, &(struct network_options){.ca_file = *ca_file == '\0' ? NULL : ca_file});
    struct runtime *runtime = loop_runtime(loop);
    struct connector_http http = {0};
    trial->vars.now_ms = runtime->ops->wall_us(runtime) / 1000;
    trial->vars.nonce = trial->vars.now_ms;
    trial->vars.chance = runtime->ops->random(runtime);
    enum rc rc = connector_build(trial->connector, trial->stream, request, &trial->vars,
                                 trial->base_url, &http, err);
    if (rc == RC_OK) {
        connector_http_show(trial->connector, &http, &trial->vars, &trial->request);
        rc = send(trial, &http, loop, err);
    }
    if (rc == RC_OK)
        judge(trial);
    connector_http_free(&http);
    network_free(network);
    loop_free(loop);
    return rc;
}

/* ---- a page ---- */

/* The first of the partitions that the source lists; RC_AGAIN: it has none, or says no. */
static enum rc choose_part(struct connector_trial *trial, struct err *err)
{
    const struct connector_stream *stream = trial->stream;
    enum rc rc = ask(trial, stream->listed.request, err);
    if (rc != RC_OK)
        return rc;
    struct json first = json_at(json_pointer(trial->answer.root, stream->listed.records), 0);
    struct bytes value = json_string_or_absent(json_pointer(first, stream->listed.value));
    if (trial->judgement.verdict != VERDICT_OK || value.len == 0)
        return RC_AGAIN;
    text_append(&trial->part, value.data, value.len);
    trial->vars.part = text_bytes(&trial->part);
    return RC_OK;
}

enum rc connector_trial_ask(struct connector_trial *trial, struct err *err)
{
    if (trial->stream->listed.request != NULL) {
        enum rc rc = choose_part(trial, err);
        if (rc == RC_AGAIN && trial->judgement.verdict == VERDICT_OK) {
            trial->judgement.verdict = VERDICT_EMPTY;
            err_set(&trial->why, RC_REJECT, "the source lists nothing to walk over");
        }
        if (rc != RC_OK)
            return rc == RC_AGAIN ? RC_OK : rc;
    }
    return ask(trial, trial->stream->request, err);
}
