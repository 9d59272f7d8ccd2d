/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/listener.h"

#include "base/uuid.h"
#include "serve/routes.h"
#include "serve/visitor.h"
#include "sys/fd_watch.h"

#include <microhttpd.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct listener {
    struct listener_options options;
    struct MHD_Daemon *daemon;
    struct fd_watch *watch;
    struct timer timer;
    bool running; /* inside the library */
    unsigned connections;
};

/* ---- headers ---- */

struct framing {
    unsigned lengths, codings, hosts;
    bool unknown_coding, huge, bad_name;
};

/* The library keeps a blank before the colon as part of the name: another reader would not. */
static bool is_token(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789!#$%&'*+-.^_`|~";
    return name[0] != '\0' && name[strspn(name, letters)] == '\0';
}

static enum MHD_Result look_at_header(void *arg, enum MHD_ValueKind kind, const char *name,
                                      const char *value)
{
    struct framing *framing = arg;
    uint64_t length;
    (void)kind;
    framing->bad_name |= !is_token(name);
    framing->hosts += strcasecmp(name, "host") == 0;
    if (strcasecmp(name, "content-length") == 0) {
        framing->lengths++;
        if (value == NULL || !bytes_to_u64(bytes_of(value), &length))
            framing->lengths++; /* no number: as bad as two */
        else
            framing->huge = length > LISTENER_BODY_MAX;
    } else if (strcasecmp(name, "transfer-encoding") == 0) {
        framing->codings++;
        framing->unknown_coding |= value == NULL || strcasecmp(value, "chunked") != 0;
    }
    return MHD_YES;
}

static void check_framing(struct request *request)
{
    struct framing framing = {0};
    MHD_get_connection_values(request->connection, MHD_HEADER_KIND, look_at_header, &framing);
    if (framing.bad_name)
        request_refuse(request, REFUSAL_BAD_REQUEST, "a header's name has letters it may not have");
    else if (framing.hosts > 1)
        request_refuse(request, REFUSAL_BAD_REQUEST, "more than one Host");
    else if (framing.lengths > 1)
        request_refuse(request, REFUSAL_BAD_REQUEST, "more than one Content-Length, or no number");
    else if (framing.codings > 1 || framing.unknown_coding)
        request_refuse(request, REFUSAL_BAD_REQUEST,
                       "Transfer-Encoding may only be chunked, and only once");
    else if (framing.lengths > 0 && framing.codings > 0)
        request_refuse(request, REFUSAL_BAD_REQUEST,
                       "Content-Length and Transfer-Encoding exclude each other");
    else if (framing.huge)
        request_refuse(request, REFUSAL_TOO_LARGE, "a body may have %d bytes", LISTENER_BODY_MAX);
}

static const char *header(struct request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

/* A client that sends no Host is no browser. */
static void check_visitor(struct request *request, const char *method)
{
    const char *host = header(request, "Host");
    bool reads = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
    if (host != NULL && !visitor_means_loopback(host))
        request_refuse(request, REFUSAL_FORBIDDEN,
                       "the Host header names %.80s, and this address is loopback: use localhost "
                       "or 127.0.0.1; a proxy has to send one of these",
                       host);
    else if (!reads &&
             !visitor_may_write(host, header(request, "Origin"), header(request, "Sec-Fetch-Site")))
        request_refuse(request, REFUSAL_FORBIDDEN, "a page of another origin may not do this");
}

static void read_session(struct request *request)
{
    const char *value = header(request, "Tidemark-Session");
    if (value != NULL && !uuid_parse(bytes_of(value), request->session))
        request_refuse(request, REFUSAL_BAD_REQUEST, "Tidemark-Session has 32 hexadecimal digits");
}

/* ---- answers ---- */

static enum MHD_Result send_answer(struct request *request)
{
    struct text *reply = &request->reply;
    assert(request->answered && request->status != 0);
    struct MHD_Response *response =
        MHD_create_response_from_buffer(reply->len, reply->data, MHD_RESPMEM_MUST_FREE);
    if (response == NULL)
        return MHD_NO;
    *reply = (struct text){0};
    MHD_add_response_header(response, "Content-Type", request->content_type);
    MHD_add_response_header(response, "Cache-Control", "no-store");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    if (request->allow != NULL)
        MHD_add_response_header(response, "Allow", request->allow);
    if (request->policy != NULL)
        MHD_add_response_header(response, "Content-Security-Policy", request->policy);
    if (request->status == 503)
        MHD_add_response_header(response, "Retry-After", "1");
    if (request->close || request->service->draining)
        MHD_add_response_header(response, "Connection", "close");
    enum MHD_Result result =
        MHD_queue_response(request->connection, (unsigned)request->status, response);
    MHD_destroy_response(response);
    return result;
}

/* ---- requests ---- */

static struct request *begin_request(struct listener *listener, struct MHD_Connection *connection,
                                     const char *method, const char *path)
{
    struct request *request = memory_new_zeroed(1, sizeof *request);
    request->service = listener->options.service;
    request->listener = listener;
    request->connection = connection;
    request->from = listener->options.kind;
    request->resume = listener_resume;
    check_framing(request);
    request->close = request->answered;
    if (!request->answered && listener->options.local)
        check_visitor(request, method);
    if (!request->answered)
        read_session(request);
    if (!request->answered)
        route_choose(request, method, path);
    return request;
}

/* Over a limit the rest is read and dropped, so that the client can hear why; but not for ever. */
static enum MHD_Result take_body(struct request *request, const char *data, size_t *size)
{
    struct service *service = request->service;
    request->body_seen += *size;
    if (request->body_seen > 2 * LISTENER_BODY_MAX)
        return MHD_NO;
    if (service->body_bytes + *size > LISTENER_BODIES_MAX)
        request->body_unkept = true;
    if (request->body_seen <= LISTENER_BODY_MAX && !request->body_unkept) {
        text_append(&request->body, data, *size);
        service->body_bytes += *size;
    }
    *size = 0;
    return MHD_YES;
}

static void finish_reading(struct listener *listener, struct request *request)
{
    request->begun = true;
    if (request->answered)
        return;
    if (request->body_seen > LISTENER_BODY_MAX) {
        request->close = true;
        request_refuse(request, REFUSAL_TOO_LARGE, "a body may have %d bytes", LISTENER_BODY_MAX);
    } else if (request->body_unkept) {
        request->close = true;
        request_refuse(request, REFUSAL_BUSY, "too many bodies are being sent: try again");
    } else {
        listener->options.dispatch(listener->options.arg, request);
    }
}

static enum MHD_Result handle_request(void *arg, struct MHD_Connection *connection,
                                      const char *path, const char *method, const char *version,
                                      const char *data, size_t *size, void **state)
{
    struct listener *listener = arg;
    struct request *request = *state;
    (void)version;
    if (request == NULL) {
        *state = request = begin_request(listener, connection, method, path);
        /* A request of doubtful length is answered before its body, which ends the connection.
         * Every other one waits for the second call: answered now it would end it, too. */
        return request->close ? send_answer(request) : MHD_YES;
    }
    if (*size > 0)
        return take_body(request, data, size);
    if (!request->begun)
        finish_reading(listener, request);
    if (request->answered)
        return send_answer(request);
    request->waiting = true;
    MHD_suspend_connection(connection);
    return MHD_YES;
}

static void complete_request(void *arg, struct MHD_Connection *connection, void **state,
                             enum MHD_RequestTerminationCode why)
{
    struct listener *listener = arg;
    struct request *request = *state;
    (void)connection, (void)why;
    *state = NULL;
    if (request == NULL)
        return;
    assert(!request->waiting);
    listener->options.completed(listener->options.arg, request);
    if (request->free_data != NULL)
        request->free_data(request->data);
    request->service->body_bytes -= request->body.len;
    text_free(&request->body);
    text_free(&request->reply);
    free(request);
}

/* ---- the loop ---- */

/* At its limit the library stops listening, and looks again only when it is run. So whenever a
 * connection went, it is run once more: nothing else might wake it. */
static void run_library(struct listener *listener)
{
    unsigned before;
    listener->running = true;
    do {
        before = listener->connections;
        MHD_run(listener->daemon);
        listener->connections =
            MHD_get_daemon_info(listener->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS)
                ->num_connections;
    } while (listener->connections < before);
    listener->running = false;
}

void listener_run(struct listener *listener)
{
    struct runtime *runtime = loop_runtime(listener->options.loop);
    MHD_UNSIGNED_LONG_LONG timeout_ms;
    if (listener->running)
        return;
    run_library(listener);
    if (MHD_get_timeout(listener->daemon, &timeout_ms) == MHD_YES)
        runtime->ops->timer_arm(runtime, &listener->timer, (int64_t)timeout_ms * 1000);
    else
        runtime->ops->timer_disarm(runtime, &listener->timer);
}

static void on_ready(void *arg, bool readable, bool writable)
{
    (void)readable, (void)writable;
    listener_run(arg);
}

static void on_timer(void *arg)
{
    listener_run(arg);
}

void listener_resume(struct request *request)
{
    struct listener *listener = request->listener;
    assert(request->waiting && request->answered);
    request->waiting = false;
    MHD_resume_connection(request->connection);
    listener_run(listener);
}

struct listener *listener_new(const struct listener_options *options)
{
    struct listener *listener = memory_new_zeroed(1, sizeof *listener);
    listener->options = *options;
    listener->timer = (struct timer){.fn = on_timer, .arg = listener};
    listener->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, handle_request, listener,
        MHD_OPTION_LISTEN_SOCKET, options->fd, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_CONNECTION_LIMIT, options->connections_max,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)LISTENER_MEMORY_MAX,
        MHD_OPTION_CONNECTION_TIMEOUT, options->idle_s_max, MHD_OPTION_NOTIFY_COMPLETED,
        complete_request, listener, MHD_OPTION_END);
    if (listener->daemon == NULL) {
        free(listener);
        return NULL;
    }
    int epoll_fd = MHD_get_daemon_info(listener->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    listener->watch = fd_watch_new(options->loop, epoll_fd, on_ready, listener);
    fd_watch_set(listener->watch, true, false);
    return listener;
}

void listener_free(struct listener *listener)
{
    struct runtime *runtime = loop_runtime(listener->options.loop);
    runtime->ops->timer_disarm(runtime, &listener->timer);
    fd_watch_free(listener->watch);
    MHD_stop_daemon(listener->daemon);
    free(listener);
}
