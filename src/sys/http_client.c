/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/http_client.h"

#include "base/arena.h"
#include "sys/address.h"
#include "sys/curl_driver.h"
#include "sys/http_gate.h"
#include "sys/http_headers.h"
#include "sys/http_url.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#define CONNECT_MS_DEFAULT 10000
#define TOTAL_MS_DEFAULT   30000
#define BODY_BYTES_DEFAULT (16 * 1024 * 1024)
#define HOST_CALLS_DEFAULT 8
#define CALLS_DEFAULT      64
#define QUEUE_DEFAULT      4096

struct http_client {
    struct loop *loop;
    struct runtime *runtime;
    struct curl_driver *trusted, *strange;
    char *ca_file;
    bool allow_private, any_port;
    struct http_gate gate;
    struct http_call *first;
};

struct http_call {
    struct http_client *client;
    struct http_call *previous, *next;
    struct http_gate_pass pass;
    http_done_fn *done;
    void *arg;

    struct http_url url;
    char *method;
    struct text request_body;
    struct curl_slist *headers, *safe_headers; /* safe: may go to another origin; NULL once it
                                                * went there */
    uint32_t connect_ms, total_ms, redirects_left, redirects_max;
    size_t body_bytes_max;
    bool body_cut, was_cut;
    bool stranger;
    int64_t began_us; /* 0: not yet */

    struct curl_task task; /* no easy handle: not with curl */
    char curl_error[CURL_ERROR_SIZE];
    bool dialed, private_refused;
    struct text answer_headers, body;
    enum rc rc; /* our own verdict, RC_OK while there is none */
    struct err err;
    struct timer later;
};

/* ---- what curl calls ---- */

static size_t take_body(char *data, size_t size, size_t count, void *arg)
{
    struct http_call *call = arg;
    size_t len = size * count, left = call->body_bytes_max - call->body.len;
    if (len > left && call->body_cut) {
        text_append(&call->body, data, left);
        call->was_cut = true;
        return 0;
    }
    if (len > left) {
        call->rc = err_set(&call->err, RC_REJECT, "%s: the answer is over %zu bytes",
                           call->url.host, call->body_bytes_max);
        return 0;
    }
    if (len > 0)
        text_append(&call->body, data, len);
    return len;
}

static size_t take_header(char *data, size_t size, size_t count, void *arg)
{
    struct http_call *call = arg;
    size_t len = size * count;
    if (http_headers_add(&call->answer_headers, bytes_make(data, len)))
        return len;
    call->rc = err_set(&call->err, RC_REJECT, "%s: the answer's headers are over %d bytes",
                       call->url.host, HTTP_HEADERS_BYTES_MAX);
    return 0;
}

static curl_socket_t open_checked(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct http_call *call = arg;
    if (purpose != CURLSOCKTYPE_IPCXN || !address_is_public(&address->addr)) {
        call->private_refused = true;
        return CURL_SOCKET_BAD;
    }
    call->dialed = true;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* Sees connections that are used again, too. */
static int check_peer(void *arg, char *peer, char *local, int peer_port, int local_port)
{
    (void)local;
    (void)peer_port;
    (void)local_port;
    struct http_call *call = arg;
    if (address_text_is_public(peer))
        return CURL_PREREQFUNC_OK;
    call->dialed = false;
    call->private_refused = true;
    return CURL_PREREQFUNC_ABORT;
}

/* ---- the end of an exchange ---- */

static struct curl_driver *driver_of(const struct http_call *call)
{
    return call->stranger ? call->client->strange : call->client->trusted;
}

static void leave_curl(struct http_call *call)
{
    if (call->task.easy == NULL)
        return;
    curl_driver_remove(driver_of(call), &call->task);
    curl_easy_cleanup(call->task.easy);
    call->task.easy = NULL;
}

/* Out of curl, the gate and the list: nothing will find it any more. */
static void detach(struct http_call *call)
{
    struct http_client *client = call->client;
    client->runtime->ops->timer_disarm(client->runtime, &call->later);
    leave_curl(call);
    http_gate_leave(&client->gate, &call->pass);
    *(call->previous == NULL ? &client->first : &call->previous->next) = call->next;
    if (call->next != NULL)
        call->next->previous = call->previous;
}

static void release(struct http_call *call)
{
    http_url_deinit(&call->url);
    free(call->method);
    text_free(&call->request_body);
    curl_slist_free_all(call->headers);
    curl_slist_free_all(call->safe_headers);
    text_free(&call->answer_headers);
    text_free(&call->body);
    free(call);
}

static void start(struct http_call *call);

static void start_waiting(struct http_client *client)
{
    struct http_gate_pass *pass;
    while ((pass = http_gate_next(&client->gate)) != NULL)
        start((struct http_call *)((char *)pass - offsetof(struct http_call, pass)));
}

static void tell(struct http_call *call, struct http_response *response)
{
    struct http_client *client = call->client;
    response->rc = call->rc;
    response->err = call->err;
    response->effective_url = call->url.text == NULL ? "" : call->url.text;
    detach(call);
    start_waiting(client);
    call->done(call->arg, response);
    release(call);
}

static void on_later(void *arg)
{
    tell(arg, &(struct http_response){.retry_after_ms = -1});
}

/* Our own verdict, before there is an answer. */
static void fail_later(struct http_call *call)
{
    struct runtime *runtime = call->client->runtime;
    assert(call->rc != RC_OK);
    runtime->ops->timer_arm(runtime, &call->later, 0);
}

/* ---- the answer ---- */

static void judge(struct http_call *call, CURLcode result)
{
    if (call->rc != RC_OK || result == CURLE_OK || call->was_cut)
        return;
    if (call->private_refused && !call->dialed)
        call->rc = err_set(&call->err, RC_REJECT, "%s: the address is not public", call->url.host);
    else
        call->rc =
            err_set(&call->err, RC_RETRY, "%s: %s", call->url.host,
                    call->curl_error[0] != '\0' ? call->curl_error : curl_easy_strerror(result));
}

static bool is_redirect(const struct http_call *call, int status)
{
    return call->rc == RC_OK && call->stranger && call->redirects_max > 0 &&
           (status == 301 || status == 302 || status == 303 || status == 307 || status == 308);
}

static void admit(struct http_call *call);

static void use_get(struct http_call *call)
{
    free(call->method);
    call->method = memory_copy_string("GET");
    text_free(&call->request_body);
}

/* False: there is nowhere to go, the redirect itself is the answer. */
static bool follow(struct http_call *call, int status)
{
    struct http_url target = {0};
    struct http_url_rules rules = {true, call->client->any_port};
    struct bytes location = http_headers_find(text_bytes(&call->answer_headers), "location");
    if (location.len == 0)
        return false;
    char *text = memory_new_zeroed(1, location.len + 1);
    memcpy(text, location.data, location.len);
    leave_curl(call);
    http_gate_leave(&call->client->gate, &call->pass);
    if (call->redirects_left-- == 0)
        call->rc = err_set(&call->err, RC_REJECT, "%s: over %u redirects", call->url.host,
                           call->redirects_max);
    else
        call->rc = http_url_parse(text, call->url.text, &rules, &target, &call->err);
    free(text);
    if (call->rc != RC_OK) {
        fail_later(call);
        return true;
    }
    assert(target.origin != NULL);
    if (call->safe_headers != NULL && strcmp(target.origin, call->url.origin) != 0) {
        curl_slist_free_all(call->headers);
        call->headers = call->safe_headers;
        call->safe_headers = NULL;
    }
    bool keeps_method = status == 307 || status == 308 || strcmp(call->method, "HEAD") == 0;
    if (!keeps_method)
        use_get(call);
    http_url_deinit(&call->url);
    call->url = target;
    admit(call);
    start_waiting(call->client);
    return true;
}

static void on_done(void *arg, CURLcode result)
{
    struct http_call *call = arg;
    struct runtime *runtime = call->client->runtime;
    struct http_response response = {.retry_after_ms = -1};
    long status = 0;
    curl_easy_getinfo(call->task.easy, CURLINFO_RESPONSE_CODE, &status);
    judge(call, result);
    if (is_redirect(call, (int)status) && follow(call, (int)status))
        return;
    if (call->rc == RC_OK) {
        memset(text_reserve(&call->body, ARENA_PAD), 0, ARENA_PAD);
        response.status = (int)status;
        response.body = text_bytes(&call->body);
        response.headers = text_bytes(&call->answer_headers);
        response.retry_after_ms =
            http_headers_retry_after(response.headers, runtime->ops->wall_us(runtime));
    }
    tell(call, &response);
}

/* ---- the beginning ---- */

static void set_method(struct http_call *call, CURL *easy)
{
    if (strcmp(call->method, "HEAD") == 0) {
        curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
        return;
    }
    if (call->request_body.len > 0 || strcmp(call->method, "POST") == 0) {
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, text_string(&call->request_body));
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->request_body.len);
    }
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, call->method);
}

static void set_stranger(struct http_call *call, CURL *easy)
{
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
    if (call->client->allow_private)
        return;
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_checked);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, call);
    curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, check_peer);
    curl_easy_setopt(easy, CURLOPT_PREREQDATA, call);
}

/* What is left of the exchange's time; its clock starts with the first question. */
static uint32_t time_left_ms(struct http_call *call)
{
    struct runtime *runtime = call->client->runtime;
    int64_t now = runtime->ops->mono_us(runtime);
    if (call->began_us == 0)
        call->began_us = now;
    int64_t used_ms = (now - call->began_us) / 1000;
    return used_ms >= call->total_ms ? 0 : call->total_ms - (uint32_t)used_ms;
}

static void start(struct http_call *call)
{
    uint32_t left_ms = time_left_ms(call);
    if (left_ms == 0) {
        call->rc = err_set(&call->err, RC_RETRY, "%s: no answer within %u ms", call->url.host,
                           call->total_ms);
        fail_later(call);
        return;
    }
    CURL *easy = curl_driver_easy(call->client->ca_file);
    text_clear(&call->body);
    text_clear(&call->answer_headers);
    call->dialed = call->private_refused = call->was_cut = false;
    curl_easy_setopt(easy, CURLOPT_URL, call->url.text);
    curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "");
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "tidemark/" TIDEMARK_VERSION);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, call->headers);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)call->connect_ms);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)left_ms);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->curl_error);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, call);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, call);
    set_method(call, easy);
    if (call->stranger)
        set_stranger(call, easy);
    call->task = (struct curl_task){easy, on_done, call};
    curl_driver_add(driver_of(call), &call->task);
}

/* Starts now, or when the gate says so, or fails when too many wait. */
static void admit(struct http_call *call)
{
    switch (http_gate_enter(&call->client->gate, &call->pass, call->url.origin)) {
    case RC_OK:
        start(call);
        break;
    case RC_AGAIN:
        break;
    default:
        call->rc = err_set(&call->err, RC_RETRY, "%s: queue full: too many exchanges wait already",
                           call->url.host);
        fail_later(call);
    }
}

static struct curl_slist *append(struct curl_slist *list, const char *line)
{
    struct curl_slist *longer = curl_slist_append(list, line);
    if (longer == NULL)
        abort();
    return longer;
}

static enum rc copy_headers(struct http_call *call, const struct http_request *request)
{
    struct text line = {0};
    enum rc rc = RC_OK;
    /* Without this, curl waits a second for a "100 Continue" before it sends a body. */
    call->headers = append(NULL, "Expect:");
    call->safe_headers = append(NULL, "Expect:");
    for (size_t i = 0; i < request->header_count && rc == RC_OK; i++) {
        const struct http_header *header = &request->headers[i];
        text_clear(&line);
        /* A semicolon is curl's way to say "empty value". */
        text_appendf(&line, "%s%s%s", header->name, header->value[0] == '\0' ? ";" : ": ",
                     header->value);
        if (strpbrk(line.data, "\r\n") != NULL)
            rc = err_set(&call->err, RC_REJECT, "a request header contains a line break");
        else
            call->headers = append(call->headers, line.data);
        if (rc == RC_OK && strncasecmp(header->name, "accept", 6) == 0)
            call->safe_headers = append(call->safe_headers, line.data);
    }
    text_free(&line);
    return rc;
}

struct http_call *http_client_send(struct http_client *client, const struct http_request *request,
                                   http_done_fn *done, void *arg)
{
    assert(done != NULL && request->url != NULL);
    struct http_call *call = memory_new_zeroed(1, sizeof *call);
    call->client = client;
    call->done = done;
    call->arg = arg;
    call->next = client->first;
    if (client->first != NULL)
        client->first->previous = call;
    client->first = call;
    call->later = (struct timer){.fn = on_later, .arg = call};
    call->method = memory_copy_string(request->method == NULL ? "GET" : request->method);
    if (request->body.len > 0)
        text_append(&call->request_body, request->body.data, request->body.len);
    call->connect_ms = request->connect_ms_max == 0 ? CONNECT_MS_DEFAULT : request->connect_ms_max;
    call->total_ms = request->total_ms_max == 0 ? TOTAL_MS_DEFAULT : request->total_ms_max;
    call->body_bytes_max =
        request->body_bytes_max == 0 ? BODY_BYTES_DEFAULT : request->body_bytes_max;
    call->body_cut = request->body_cut;
    call->redirects_left = call->redirects_max = request->redirects_max;
    call->stranger = request->stranger;
    struct http_url_rules rules = {request->stranger, client->any_port};
    call->rc = copy_headers(call, request);
    if (call->rc == RC_OK)
        call->rc = http_url_parse(request->url, NULL, &rules, &call->url, &call->err);
    if (call->rc != RC_OK)
        fail_later(call);
    else
        admit(call);
    return call;
}

void http_client_cancel(struct http_client *client, struct http_call *call)
{
    assert(call->client == client);
    detach(call);
    release(call);
    start_waiting(client);
}

static size_t or_default(size_t value, size_t otherwise)
{
    return value == 0 ? otherwise : value;
}

struct http_client *http_client_new(struct loop *loop, const struct http_client_options *options)
{
    struct http_client *client = memory_new_zeroed(1, sizeof *client);
    client->loop = loop;
    client->runtime = loop_runtime(loop);
    client->trusted = curl_driver_new(loop);
    client->strange = curl_driver_new(loop);
    client->ca_file = options->ca_file == NULL ? NULL : memory_copy_string(options->ca_file);
    client->allow_private = options->allow_private;
    client->any_port = options->any_port;
    http_gate_init(&client->gate, or_default(options->host_calls_max, HOST_CALLS_DEFAULT),
                   or_default(options->calls_max, CALLS_DEFAULT),
                   or_default(options->queue_max, QUEUE_DEFAULT));
    return client;
}

void http_client_free(struct http_client *client)
{
    for (struct http_call *call = client->first, *next; call != NULL; call = next) {
        next = call->next;
        detach(call);
        release(call);
    }
    http_gate_deinit(&client->gate);
    curl_driver_free(client->trusted);
    curl_driver_free(client->strange);
    free(client->ca_file);
    free(client);
}
