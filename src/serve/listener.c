/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/listener.h"

#include "serve/answer.h"
#include "serve/gate.h"
#include "serve/routes.h"
#include "serve/visit.h"
#include "sys/fd_watch.h"

#include <microhttpd.h>

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define BODY_TIMES   6  /* as long as the headers may take */
#define TURNS_MAX    64 /* of the library in one turn of the loop */
#define BODY_DROPPED 2  /* times what is allowed is read, so that the client hears why not */

struct listener {
    struct listener_options options;
    struct MHD_Daemon *daemon;
    struct fd_watch *watch;
    struct timer timer;
    struct loop_waker *again;
    bool running; /* inside the library */
    unsigned connections;
    struct visit_limits limits;
};

/* ---- headers ---- */

struct framing {
    unsigned headers, lengths, codings, hosts;
    bool unknown_coding, bad_name, folded, hides;
    const char *end; /* of what was looked at last */
    uint64_t length;
};

/* The library keeps a blank before the colon as part of the name: another reader would not. */
static bool is_token(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789!#$%&'*+-.^_`|~";
    return name[0] != '\0' && name[strspn(name, letters)] == '\0';
}

/* A line that goes on in the next one. The library adds that one to the name, for which it moves
 * the name behind all that was read: `Content-Length` is lost, `Content-: 2` and ` Length` become
 * one. A name that was not moved stands before its value. */
static bool is_folded(const char *name, const char *value)
{
    return value != NULL && (uintptr_t)name > (uintptr_t)value;
}

/* Whether one thing of the head ends where the next begins. The library reads words up to a NUL and
 * writes NULs over the ends of lines: a NUL that came from the client hides what stands behind it,
 * and others would read that. Later versions of the library refuse it. */
static bool is_next(const char *end, const char *next, size_t line_ends)
{
    static const char ends[] = {0, 0, 0, 0};
    size_t between = (uintptr_t)next - (uintptr_t)end;
    if (MHD_VERSION >= 0x00097700)
        return true;
    return between >= line_ends && between <= 2 * line_ends && memcmp(end, ends, between) == 0;
}

static enum MHD_Result look_at_header(void *arg, enum MHD_ValueKind kind, const char *name,
                                      const char *value)
{
    struct framing *framing = arg;
    (void)kind;
    framing->headers++;
    framing->bad_name |= !is_token(name);
    framing->folded |= is_folded(name, value);
    framing->hides |= !is_next(framing->end, name, 1) || (value != NULL && strchr(value, '\r'));
    framing->end = value == NULL ? name + strlen(name) : value + strlen(value);
    framing->hosts += strcasecmp(name, "host") == 0;
    if (strcasecmp(name, "content-length") == 0) {
        framing->lengths++;
        if (value == NULL || !bytes_to_u64(bytes_of(value), &framing->length))
            framing->lengths++; /* no number: as bad as two */
    } else if (strcasecmp(name, "transfer-encoding") == 0) {
        framing->codings++;
        framing->unknown_coding |= value == NULL || strcasecmp(value, "chunked") != 0;
    }
    return MHD_YES;
}

static size_t head_size(const struct request *request)
{
    return MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE)
        ->header_size;
}

/* The head begins with the method, and the version ends its first line. */
static void check_framing(struct request *request, const char *method, const char *version)
{
    struct framing framing = {.end = version + strlen(version)};
    MHD_get_connection_values(request->connection, MHD_HEADER_KIND, look_at_header, &framing);
    request->body_announced = framing.length;
    request->chunked = framing.codings > 0;
    framing.hides |= !is_next(framing.end, method + head_size(request), 2);
    if (framing.headers <= LISTENER_HEADERS_MAX &&
        head_size(request) + framing.headers * LISTENER_HEADER_COST > LISTENER_HEAD_MAX)
        request_refuse(request, REFUSAL_HEADERS_TOO_LARGE,
                       "the head of a request may have %d bytes, each header counting %d more",
                       LISTENER_HEAD_MAX, LISTENER_HEADER_COST);
    else if (framing.headers > LISTENER_HEADERS_MAX)
        request_refuse(request, REFUSAL_HEADERS_TOO_LARGE, "a request may have %d headers",
                       LISTENER_HEADERS_MAX);
    else if (framing.bad_name)
        request_refuse(request, REFUSAL_BAD_REQUEST, "a header's name has letters it may not have");
    else if (framing.folded)
        request_refuse(request, REFUSAL_BAD_REQUEST, "a header goes on in the next line");
    else if (framing.hides)
        request_refuse(request, REFUSAL_BAD_REQUEST,
                       "a line of the head has a NUL or a carriage return in it");
    else if (framing.hosts > 1)
        request_refuse(request, REFUSAL_BAD_REQUEST, "more than one Host");
    else if (framing.lengths > 1)
        request_refuse(request, REFUSAL_BAD_REQUEST, "more than one Content-Length, or no number");
    else if (framing.codings > 1 || framing.unknown_coding)
        request_refuse(request, REFUSAL_BAD_REQUEST,
                       "Transfer-Encoding may only be chunked, and only once");
    else if (framing.codings > 0 && request->old_http)
        request_refuse(request, REFUSAL_BAD_REQUEST, "HTTP/1.0 has no Transfer-Encoding");
    else if (framing.lengths > 0 && framing.codings > 0)
        request_refuse(request, REFUSAL_BAD_REQUEST,
                       "Content-Length and Transfer-Encoding exclude each other");
}

static size_t body_max(const struct request *request)
{
    const struct route *route = request->route;
    return route == NULL || route->body_max == 0 ? LISTENER_BODY_MAX : route->body_max;
}

static void refuse_body(struct request *request)
{
    request->close = true;
    request_refuse(request, REFUSAL_TOO_LARGE, "a body may have %zu bytes here", body_max(request));
}

/* ---- requests ---- */

/* To the library an address ends at its first NUL, to a proxy in front it does not: what the proxy
 * keeps to itself would be given under a name that it does not know. */
static size_t unescape(void *arg, struct MHD_Connection *connection, char *text)
{
    static const char nul[] = "%00", unknown[] = "\xef\xbf\xbd"; /* U+FFFD, as long */
    (void)arg, (void)connection;
    for (char *at = text; (at = strstr(at, nul)) != NULL; at += strlen(unknown))
        memcpy(at, unknown, strlen(unknown));
    return MHD_http_unescape(text);
}

static struct visit *visit_of(struct MHD_Connection *connection)
{
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

static void follow_connection(void *arg, struct MHD_Connection *connection, void **visit,
                              enum MHD_ConnectionNotificationCode what)
{
    struct listener *listener = arg;
    if (what == MHD_CONNECTION_NOTIFY_STARTED)
        *visit = visit_new(loop_runtime(listener->options.loop), &listener->limits, connection);
    else
        visit_free(*visit);
}

/* The path of an address that may be whole, as a proxy is asked: then its host counts and the Host
 * header does not (RFC 9112, 3.2.2). */
static const char *take_path(struct request *request, const char *target)
{
    size_t scheme = strncasecmp(target, "http://", 7) == 0    ? 7
                    : strncasecmp(target, "https://", 8) == 0 ? 8
                                                              : 0;
    if (scheme == 0)
        return target;
    const char *host = target + scheme;
    size_t len = strcspn(host, "/");
    if (len == 0 || len >= sizeof request->asked_host) {
        request_refuse(request, REFUSAL_BAD_REQUEST, "the address names no host, or a long one");
        return target;
    }
    memcpy(request->asked_host, host, len);
    return host[len] == '\0' ? "/" : host + len;
}

static struct request *begin_request(struct listener *listener, struct MHD_Connection *connection,
                                     const char *method, const char *target, const char *version)
{
    const char *path = target;
    struct request *request = memory_new_zeroed(1, sizeof *request);
    request->service = listener->options.service;
    request->listener = listener;
    request->connection = connection;
    request->from = listener->options.kind;
    request->head_only = strcmp(method, "HEAD") == 0;
    request->old_http = strcmp(version, "HTTP/1.1") < 0;
    request->resume = listener_resume;
    check_framing(request, method, version);
    request->close = request->answered;
    if (!request->answered)
        path = take_path(request, target);
    if (!request->answered)
        gate_enter(request->service->gate, request, method, listener->options.local);
    if (!request->answered)
        route_choose(request, method, path);
    if (!request->answered)
        gate_pass(request);
    if (!request->answered && request->body_announced > BODY_DROPPED * body_max(request))
        refuse_body(request);
    return request;
}

/* Over a limit the rest is read and dropped, so that the client can hear why; but not for ever. */
static enum MHD_Result take_body(struct request *request, const char *data, size_t *size)
{
    struct service *service = request->service;
    request->body_seen += *size;
    if (request->body_seen > BODY_DROPPED * body_max(request))
        return MHD_NO;
    if (service->body_bytes + *size > LISTENER_BODIES_MAX)
        request->body_unkept = true;
    if (request->body_seen <= body_max(request) && !request->body_unkept) {
        text_append(&request->body, data, *size);
        service->body_bytes += *size;
    }
    *size = 0;
    return MHD_YES;
}

static void finish_reading(struct listener *listener, struct request *request)
{
    request->begun = true;
    request->close |= request->chunked; /* behind an end that others may see elsewhere */
    if (request->answered)
        return;
    if (request->body_seen > body_max(request)) {
        refuse_body(request);
    } else if (request->body_unkept) {
        request->close = true;
        request_refuse(request, REFUSAL_BUSY, "too many bodies are being sent: try again");
    } else {
        listener->options.dispatch(listener->options.arg, request);
    }
}

/* A stream of events goes on for as long as it is wanted, and so does what is no longer HTTP. */
static bool has_an_end(const struct request *request)
{
    return (request->give == NULL || request->give_bytes > 0) && request->upgrade == NULL;
}

static enum MHD_Result send_in_time(struct listener *listener, struct request *request)
{
    int64_t bytes = (int64_t)request->reply.len + request->give_bytes;
    answer_count(request);
    if (has_an_end(request))
        visit_allow(visit_of(request->connection),
                    listener->limits.us_max[VISIT_BODY] +
                        bytes * 1000000 / listener->options.send_bytes_s_min);
    return answer_send(request);
}

static void send_packed(struct worker_job *job);

static enum MHD_Result handle_request(void *arg, struct MHD_Connection *connection,
                                      const char *path, const char *method, const char *version,
                                      const char *data, size_t *size, void **state)
{
    struct listener *listener = arg;
    struct request *request = *state;
    if (request == NULL) {
        visit_enter(visit_of(connection), VISIT_BODY);
        *state = request = begin_request(listener, connection, method, path, version);
        /* A request of doubtful length is answered before its body, which ends the connection.
         * Every other one waits for the second call: answered now it would end it, too. */
        return request->close ? answer_send(request) : MHD_YES;
    }
    if (*size > 0)
        return take_body(request, data, size);
    if (!request->begun) {
        visit_enter(visit_of(connection), VISIT_ANSWER);
        finish_reading(listener, request);
    }
    if (request->answered && !answer_pack(request, send_packed))
        return send_in_time(listener, request);
    request->waiting = true;
    MHD_suspend_connection(connection);
    return MHD_YES;
}

/* ---- clients that go while they wait ---- */

void listener_unwatch(struct request *request)
{
    request->gone = NULL;
    if (request->hang_up != NULL)
        fd_watch_free(request->hang_up);
    request->hang_up = NULL;
}

static void hear_hang_up(void *arg, bool readable, bool writable)
{
    struct request *request = arg;
    route_fn *gone = request->gone;
    (void)readable, (void)writable;
    listener_unwatch(request);
    gone(request);
}

void listener_watch(struct request *request, route_fn *gone)
{
    struct listener *listener = request->listener;
    assert(request->gone == NULL && gone != NULL);
    request->gone = gone;
    if (request->connection == NULL)
        return;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    request->hang_up =
        fd_watch_new(listener->options.loop, info->connect_fd, hear_hang_up, request);
    fd_watch_set_hang_up(request->hang_up);
}

/* ---- the end of a request ---- */

static void complete_request(void *arg, struct MHD_Connection *connection, void **state,
                             enum MHD_RequestTerminationCode why)
{
    struct listener *listener = arg;
    struct request *request = *state;
    (void)why;
    *state = NULL;
    visit_enter(visit_of(connection), VISIT_NEXT);
    if (request == NULL)
        return;
    assert(!request->waiting);
    listener_unwatch(request);
    listener->options.completed(listener->options.arg, request);
    if (request->free_data != NULL)
        request->free_data(request->data);
    request->service->body_bytes -= request->body.len;
    text_free(&request->body);
    text_free(&request->reply);
    unsent_note(&request->service->unsent, &request->reply_counted, 0);
    free(request);
}

/* ---- the loop ---- */

/* At its limit the library stops listening, and looks again only when it is run. So whenever a
 * connection went, it is run once more: nothing else might wake it. A run takes one piece of a body
 * off each connection; as long as there is more, the next run follows at once. */
static bool run_library(struct listener *listener, MHD_UNSIGNED_LONG_LONG *timeout_ms)
{
    unsigned before, turns = 0;
    bool waits;
    listener->running = true;
    do {
        before = listener->connections;
        MHD_run(listener->daemon);
        listener->connections =
            MHD_get_daemon_info(listener->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS)
                ->num_connections;
        waits = MHD_get_timeout(listener->daemon, timeout_ms) == MHD_YES;
    } while (listener->connections < before || (waits && *timeout_ms == 0 && ++turns < TURNS_MAX));
    listener->running = false;
    return waits;
}

void listener_run(struct listener *listener)
{
    struct runtime *runtime = loop_runtime(listener->options.loop);
    MHD_UNSIGNED_LONG_LONG timeout_ms = 0;
    if (listener->running)
        return;
    if (!run_library(listener, &timeout_ms))
        runtime->ops->timer_disarm(runtime, &listener->timer);
    else if (timeout_ms == 0)
        loop_waker_wake(listener->again); /* others first; a timer would take a millisecond */
    else
        runtime->ops->timer_arm(runtime, &listener->timer, (int64_t)timeout_ms * 1000);
}

static void on_ready(void *arg, bool readable, bool writable)
{
    (void)readable, (void)writable;
    listener_run(arg);
}

static void run_again(void *arg)
{
    listener_run(arg);
}

static void go_on(struct request *request)
{
    struct listener *listener = request->listener;
    assert(request->waiting && request->answered);
    request->waiting = false;
    MHD_resume_connection(request->connection);
    listener_run(listener);
}

static void send_packed(struct worker_job *job)
{
    go_on((struct request *)((char *)job - offsetof(struct request, packing)));
}

void listener_resume(struct request *request)
{
    answer_count(request);
    if (!answer_pack(request, send_packed))
        go_on(request);
}

void listener_wake(struct request *request)
{
    if (!request->dry)
        return;
    request->dry = false;
    MHD_resume_connection(request->connection);
    listener_run(request->listener);
}

static struct visit_limits limits_of(const struct listener_options *options)
{
    int64_t headers_us = (int64_t)options->request_s_max * 1000000;
    return (struct visit_limits){
        .cuts = &options->service->cuts,
        .us_max = {
            [VISIT_HEADERS] = headers_us,
            [VISIT_BODY] = BODY_TIMES * headers_us,
            [VISIT_NEXT] = (int64_t)options->idle_s_max * 1000000 + headers_us,
        }};
}

struct listener *listener_new(const struct listener_options *options)
{
    struct listener *listener = memory_new_zeroed(1, sizeof *listener);
    listener->options = *options;
    listener->timer = (struct timer){.fn = run_again, .arg = listener};
    listener->limits = limits_of(options);
    listener->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_ALLOW_UPGRADE, 0, NULL, NULL, handle_request,
        listener, MHD_OPTION_LISTEN_SOCKET, options->fd, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_CONNECTION_LIMIT, options->connections_max,
        MHD_OPTION_PER_IP_CONNECTION_LIMIT, options->address_connections_max,
        MHD_OPTION_NOTIFY_CONNECTION, follow_connection, listener, MHD_OPTION_UNESCAPE_CALLBACK,
        unescape, NULL, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)LISTENER_MEMORY_MAX,
        MHD_OPTION_CONNECTION_TIMEOUT, options->idle_s_max, MHD_OPTION_NOTIFY_COMPLETED,
        complete_request, listener, MHD_OPTION_END);
    if (listener->daemon == NULL) {
        free(listener);
        return NULL;
    }
    int epoll_fd = MHD_get_daemon_info(listener->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    listener->again = loop_waker_new(options->loop, run_again, listener);
    listener->watch = fd_watch_new(options->loop, epoll_fd, on_ready, listener);
    fd_watch_set(listener->watch, true, false);
    return listener;
}

void listener_free(struct listener *listener)
{
    struct runtime *runtime = loop_runtime(listener->options.loop);
    runtime->ops->timer_disarm(runtime, &listener->timer);
    fd_watch_free(listener->watch);
    loop_waker_free(listener->again);
    MHD_stop_daemon(listener->daemon);
    free(listener);
}
