/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor_probe.h"

#include "base/address_words.h"
#include "ingest/provider.h"
#include "sys/clock.h"
#include "sys/http_headers.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define WAIT_MS   (DOCTOR_SECONDS * 1000)
#define BODY_MAX  65536
#define SECOND_US INT64_C(1000000)
#define WS_NORMAL 1000

/* Any AppView knows this account, any gateway this document, which is empty. */
#define APPVIEW_PATH "/xrpc/app.bsky.actor.getProfiles?actors=did:plc:z72i7hdynmk6r22z27h6tvur"
#define PDS_PATH     "/xrpc/com.atproto.server.describeServer"
#define GATEWAY_PATH "/ipfs/bafkqaaa?format=raw"
#define RPC_BODY     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"eth_chainId\",\"params\":[]}"

#define GATEWAY_REDIRECTS                                                                          \
    "Put an address into content.gateways that answers by itself: of a Kubo here "                 \
    "http://127.0.0.1:8080, since its localhost:8080 gives each document a host of its own"

static const struct {
    const char *noun, *path;
    bool answers_200; /* else any answer shows that it is there */
} kinds[] = {
    [DOCTOR_FIREHOSE] = {"firehose", "", false},
    [DOCTOR_APPVIEW] = {"appview", APPVIEW_PATH, true},
    [DOCTOR_PDS] = {"pds", PDS_PATH, true},
    [DOCTOR_RPC] = {"rpc node", "", true},
    [DOCTOR_GATEWAY] = {"gateway", GATEWAY_PATH, false},
    [DOCTOR_LEDGER] = {"ledger provider", "/", false},
};

void doctor_probe_init(struct doctor_probe *probe, enum doctor_asks asks, const char *root,
                       const char *advice)
{
    char host[PROVIDER_NAME_MAX];
    size_t len = strlen(root);
    *probe = (struct doctor_probe){.asks = asks, .advice = advice};
    provider_name_of_url(root, host);
    snprintf(probe->name, sizeof probe->name, "%s %.60s", kinds[asks].noun, host);
    while (*kinds[asks].path != '\0' && len > 0 && root[len - 1] == '/')
        len--;
    text_append(&probe->url, root, len);
    text_append_string(&probe->url, kinds[asks].path);
}

void doctor_probe_deinit(struct doctor_probe *probe)
{
    text_free(&probe->url);
    jetstream_host_deinit(&probe->host);
}

static void finish(struct doctor_probe *probe, bool good)
{
    assert(!probe->over);
    probe->over = true;
    probe->good = good;
    if (--*probe->left == 0)
        loop_stop(probe->loop);
}

static void say_answered(struct doctor_probe *probe)
{
    snprintf(probe->words.text, sizeof probe->words.text, "answers, after %" PRId64 " ms",
             (clock_mono_us() - probe->began_us) / 1000);
}

/* ---- HTTP ---- */

/* The server's second began before it wrote it down; half of one is the best guess. */
static void note_date(struct doctor_probe *probe, struct bytes headers)
{
    int64_t date_s = http_headers_date(headers);
    probe->date_known = date_s >= 0;
    probe->skew_us = date_s * SECOND_US + SECOND_US / 2 - clock_wall_us();
}

static bool is_rpc_result(struct bytes body)
{
    struct json_doc *doc = json_doc_new(BODY_MAX, JSON_DEPTH_MAX);
    struct json root;
    struct err err;
    bool good = json_parse_copy(doc, body, &root, &err) == RC_OK &&
                json_type(json_get(root, "result")) == JSON_STRING;
    json_doc_free(doc);
    return good;
}

static bool is_redirect(int status)
{
    return status >= 300 && status < 400;
}

static void say_redirect(struct doctor_probe *probe, const struct http_response *response)
{
    char to[ADDRESS_REDIRECT_MAX];
    address_redirect_words(http_header_value(response, "location"), to);
    err_set(&probe->words, RC_REJECT, "answers with status %d%s: redirects are not followed",
            response->status, to);
    if (probe->asks == DOCTOR_GATEWAY)
        probe->advice = GATEWAY_REDIRECTS;
}

static void on_answer(void *arg, const struct http_response *response)
{
    struct doctor_probe *probe = arg;
    bool strict = kinds[probe->asks].answers_200;
    bool good = false;
    if (response->rc != RC_OK) {
        err_set(&probe->words, RC_RETRY, "cannot be reached: %s", response->err.text);
    } else if (is_redirect(response->status) && (strict || probe->asks == DOCTOR_GATEWAY)) {
        say_redirect(probe, response);
    } else if ((strict && response->status != 200) || response->status >= 500) {
        err_set(&probe->words, RC_REJECT, "answers with status %d", response->status);
    } else if (probe->asks == DOCTOR_RPC && !is_rpc_result(response->body)) {
        err_set(&probe->words, RC_REJECT, "does not answer as a node of a chain");
    } else {
        good = true;
        say_answered(probe);
        if (response->status != 200)
            snprintf(probe->words.text, sizeof probe->words.text, "answers, with status %d",
                     response->status);
    }
    if (response->rc == RC_OK)
        note_date(probe, response->headers);
    finish(probe, good);
}

static void ask(struct doctor_probe *probe)
{
    static const struct http_header json = {"Content-Type", "application/json"};
    struct runtime *runtime = loop_runtime(probe->loop);
    bool rpc = probe->asks == DOCTOR_RPC;
    const struct http_request request = {.method = rpc ? "POST" : NULL,
                                         .url = text_string(&probe->url),
                                         .headers = &json,
                                         .header_count = rpc ? 1 : 0,
                                         .body = rpc ? bytes_of(RPC_BODY) : BYTES_ABSENT,
                                         .connect_ms_max = WAIT_MS,
                                         .total_ms_max = WAIT_MS,
                                         .body_bytes_max = BODY_MAX,
                                         .body_cut = true};
    runtime->ops->http_send(runtime, &request, on_answer, probe);
}

/* ---- websocket ---- */

static void dial(struct doctor_probe *probe);

static void on_opened(void *arg)
{
    struct doctor_probe *probe = arg;
    struct runtime *runtime = loop_runtime(probe->loop);
    say_answered(probe);
    probe->good = true;
    runtime->ops->ws_close(probe->ws, WS_NORMAL, "");
}

static void on_message(void *arg, bool binary, struct bytes payload)
{
    (void)arg;
    (void)binary;
    (void)payload;
}

static void on_closed(void *arg, int status, struct bytes body, const struct err *why)
{
    struct doctor_probe *probe = arg;
    (void)body;
    if (!probe->good && status > 0 && jetstream_host_refused(&probe->host, status, false)) {
        dial(probe);
        return;
    }
    if (!probe->good && status > 0)
        err_set(&probe->words, RC_REJECT, "refuses the connection with status %d", status);
    else if (!probe->good)
        err_set(&probe->words, RC_RETRY, "cannot be reached: %s", why->text);
    finish(probe, probe->good);
}

static void dial(struct doctor_probe *probe)
{
    static const struct ws_events events = {
        .opened = on_opened, .message = on_message, .closed = on_closed};
    static const struct jetstream_ask nothing = {.hello = true};
    struct runtime *runtime = loop_runtime(probe->loop);
    struct text address = {0};
    jetstream_host_stream(&probe->host, &nothing, &address);
    const struct ws_request request = {.url = text_string(&address), .connect_ms_max = WAIT_MS};
    probe->ws = runtime->ops->ws_open(runtime, &request, &events, probe);
    text_free(&address);
}

void doctor_probe_start(struct doctor_probe *probe, struct loop *loop, size_t *left)
{
    probe->loop = loop;
    probe->left = left;
    probe->began_us = clock_mono_us();
    if (probe->asks != DOCTOR_FIREHOSE)
        ask(probe);
    else if (jetstream_host_init(&probe->host, text_string(&probe->url), &probe->words) == RC_OK)
        dial(probe);
    else
        finish(probe, false);
}
