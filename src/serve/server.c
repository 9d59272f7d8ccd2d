/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/server.h"

#include "serve/gate.h"
#include "serve/listener.h"
#include "serve/rate_log.h"
#include "serve/request.h"
#include "serve/seq_wait.h"
#include "serve/tail_hub.h"
#include "serve/upkeep.h"
#include "serve/view_cache.h"
#include "serve/write_desk.h"
#include "serve/ws_session.h"
#include "sys/bell.h"
#include "sys/listen_socket.h"
#include "sys/thread.h"
#include "sys/thread_queue.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

#define ANSWERS_DEFAULT      ((size_t)128 << 20)
#define READERS_DEFAULT      2
#define WAITING_DEFAULT      256
#define CONNECTIONS_DEFAULT  1024
#define ADDRESS_DEFAULT      64
#define IDLE_S_DEFAULT       30
#define REQUEST_S_DEFAULT    10
#define SEND_BYTES_S_DEFAULT 16384
#define DRAIN_US_DEFAULT     INT64_C(5000000)
#define QUERY_US_DEFAULT     INT64_C(250000)
#define PACKERS              1
#define PACKING_MAX          64
#define ROUTE_BODY_MAX       (16 << 20) /* what any route may allow itself */
#define WS_READS_FACTOR      2          /* for each reader: there is always a next one */
#define POLLS_SPARE          4          /* each fourth connection waits for nothing */
#define LAST_TURNS           16         /* what a stopping server may still send without waiting */

struct server {
    struct server_options options;
    struct service service;
    struct loop *loop;
    struct thread *thread;
    struct listener *listeners[LISTENER_COUNT];
    unsigned ports[LISTENER_COUNT];
    struct loop_waker *done_waker, *stop_waker, *commit_waker, *tokens_waker;
    struct queue *fresh_tokens; /* NULL: nobody is asked for a token */
    struct upkeep *upkeep;
    struct timer drain;
    size_t under_way; /* requests begun and not completed */
};

static unsigned or_default(unsigned value, unsigned fallback)
{
    return value == 0 ? fallback : value;
}

/* How many of so many connections may wait for a change at a time. */
static unsigned polls_of(unsigned connections)
{
    return connections - connections / POLLS_SPARE;
}

/* ---- requests ---- */

static enum rc work_on_request(struct reader_job *job, struct store *store, struct err *err)
{
    struct request *request = (struct request *)job;
    /* Before anything is read: what has no effect can be asked for again. */
    if (request->route->large && unsent_was_over(&request->service->unsent))
        return refusal_set(&request->refusal, REFUSAL_BUSY,
                           "too many answers wait for clients to take them: try again");
    return request->route->work(request, store, err);
}

static void dispatch(void *arg, struct request *request)
{
    struct server *server = arg;
    const struct route *route = request->route;
    server->under_way++;
    request->dispatched = true;
    session_seen(server->service.handles, request->session);
    if (server->service.draining && !route->while_draining) {
        request_refuse(request, REFUSAL_SHUTTING_DOWN, "the daemon is stopping");
        return;
    }
    request->job.work = work_on_request;
    route->begin(request);
    if (!request->answered && !request->parked)
        request_read(request);
}

static void stop_when_drained(struct server *server)
{
    if (server->service.draining && server->under_way == 0)
        loop_stop(server->loop);
}

static void completed(void *arg, struct request *request)
{
    struct server *server = arg;
    if (!request->dispatched)
        return;
    assert(server->under_way > 0);
    server->under_way--;
    stop_when_drained(server);
}

static void finish_jobs(void *arg)
{
    struct server *server = arg;
    struct reader_job *job;
    while ((job = reader_pool_take(server->service.readers)) != NULL) {
        if (upkeep_takes(server->upkeep, job) || tail_hub_takes(server->service.tails, job))
            continue;
        struct request *request = (struct request *)job;
        server->service.waiting--;
        request->reading = false;
        if (!seq_waits_take(server->service.waits, request))
            request->route->finish(request);
        assert(request->answered || request->parked || request->reading);
        if (request->answered)
            request_resume(request);
        else if (!request->reading)
            ws_command_rests(request);
    }
}

static void pass_on_done(void *arg)
{
    struct server *server = arg;
    loop_waker_wake(server->done_waker);
}

/* ---- commits ---- */

static void note_commit(void *arg)
{
    struct server *server = arg;
    if (server->service.draining)
        return;
    tail_hub_note_commit(server->service.tails);
    seq_waits_note_commit(server->service.waits);
}

/* Writer's thread. */
static void pass_on_commit(void *arg)
{
    struct server *server = arg;
    loop_waker_wake(server->commit_waker);
}

/* ---- the end ---- */

static void give_up_draining(void *arg)
{
    struct server *server = arg;
    loop_stop(server->loop);
}

static void begin_drain(void *arg)
{
    struct server *server = arg;
    struct runtime *runtime = server->service.runtime;
    int64_t drain_us = server->options.drain_us_max;
    server->service.draining = true;
    tail_watches_stop(server->service.watches);
    tail_hub_stop(server->service.tails);
    seq_waits_stop(server->service.waits);
    ws_sessions_drain(server->service.websockets);
    runtime->ops->timer_arm(runtime, &server->drain, drain_us == 0 ? DRAIN_US_DEFAULT : drain_us);
    stop_when_drained(server);
}

static void run_listeners(struct server *server)
{
    for (size_t i = 0; i < LISTENER_COUNT; i++)
        if (server->listeners[i] != NULL)
            listener_run(server->listeners[i]);
}

static void close_listeners(struct server *server)
{
    if (server->listeners[LISTENER_SOCKET] != NULL)
        listen_socket_remove(server->options.socket_path);
    for (size_t i = 0; i < LISTENER_COUNT; i++)
        if (server->listeners[i] != NULL)
            listener_free(server->listeners[i]);
}

/* The library must not be stopped while a connection is suspended: readers first, then every
 * answer, then the listeners. */
static void end_serving(struct server *server)
{
    struct runtime *runtime = server->service.runtime;
    if (server->options.bell != NULL)
        bell_silence(server->options.bell);
    upkeep_stop(server->upkeep);
    rate_log_stop(server->service.rates);
    runtime->ops->timer_disarm(runtime, &server->drain);
    reader_pool_stop(server->service.readers);
    finish_jobs(server);
    if (server->service.desk != NULL)
        desk_close(server->service.desk);
    worker_pool_free(server->service.packers);
    server->service.packers = NULL;
    ws_sessions_abort(server->service.websockets);
    for (int i = 0; i < LAST_TURNS && server->under_way > 0; i++)
        run_listeners(server);
    close_listeners(server);
    assert(server->under_way == 0);
    upkeep_free(server->upkeep);
    rate_log_free(server->service.rates);
    seq_waits_free(server->service.waits);
    tail_watches_free(server->service.watches);
    tail_hub_free(server->service.tails);
    ws_sessions_free(server->service.websockets);
    reader_pool_free(server->service.readers);
    loop_waker_free(server->done_waker);
    loop_waker_free(server->stop_waker);
    loop_waker_free(server->commit_waker);
    loop_waker_free(server->tokens_waker);
}

/* ---- the beginning ---- */

static void serve(void *arg)
{
    struct server *server = arg;
    server->upkeep = upkeep_start(server->service.runtime, server->service.handles,
                                  server->service.readers, server->service.watches);
    server->service.rates = rate_log_start(server->service.runtime, server->service.options);
    run_listeners(server);
    loop_run(server->loop);
    end_serving(server);
}

static enum rc add_listener(struct server *server, enum listener_kind kind, int fd, bool local,
                            struct err *err)
{
    const struct server_options *options = &server->options;
    const struct listener_options wanted = {
        .kind = kind,
        .fd = fd,
        .local = local,
        .loop = server->loop,
        .service = &server->service,
        .connections_max = or_default(options->connections_max, CONNECTIONS_DEFAULT),
        .address_connections_max =
            kind == LISTENER_SOCKET || (local && !options->gate.limit_loopback)
                ? 0
                : or_default(options->address_connections_max, ADDRESS_DEFAULT),
        .idle_s_max = or_default(options->idle_s_max, IDLE_S_DEFAULT),
        .request_s_max = or_default(options->request_s_max, REQUEST_S_DEFAULT),
        .send_bytes_s_min = or_default(options->send_bytes_s_min, SEND_BYTES_S_DEFAULT),
        .dispatch = dispatch,
        .completed = completed,
        .arg = server,
    };
    server->listeners[kind] = listener_new(&wanted);
    if (server->listeners[kind] != NULL)
        return RC_OK;
    close(fd); /* it takes over only what it can serve */
    if (kind == LISTENER_SOCKET)
        listen_socket_remove(options->socket_path);
    return err_set(err, RC_REJECT, "the HTTP library does not start");
}

/* Without tokens whoever reaches the main address may do everything there. */
static enum rc check_reach(const struct server_options *options, struct err *err)
{
    if (options->listen == NULL || options->gate.tokens_file != NULL ||
        !listen_socket_is_remote(options->listen))
        return RC_OK;
    return err_set(err, RC_REJECT,
                   "serve.listen is %s, which others can reach: without serve.tokens_file only a "
                   "loopback address is served, 127.0.0.1:8080 or [::1]:8080",
                   options->listen);
}

static enum rc listen_everywhere(struct server *server, struct err *err)
{
    const struct server_options *options = &server->options;
    const char *const addresses[] = {
        [LISTENER_MAIN] = options->listen,
        [LISTENER_HEALTH] = options->health_listen,
        [LISTENER_SOCKET] = options->socket_path,
    };
    enum rc rc = check_reach(options, err);
    for (size_t i = 0; i < LISTENER_COUNT && rc == RC_OK; i++) {
        int fd;
        if (addresses[i] == NULL)
            continue;
        rc = i == LISTENER_SOCKET ? listen_socket_unix(addresses[i], &fd, err)
                                  : listen_socket_tcp(addresses[i], &fd, &server->ports[i], err);
        if (rc == RC_OK)
            rc = add_listener(server, (enum listener_kind)i, fd,
                              i != LISTENER_SOCKET && !listen_socket_is_remote(addresses[i]), err);
    }
    return rc;
}

void server_free(struct server *server)
{
    if (server->service.desk != NULL)
        desk_free(server->service.desk);
    if (server->service.gate != NULL)
        gate_free(server->service.gate);
    if (server->fresh_tokens != NULL) {
        free(queue_pop(server->fresh_tokens, 0));
        queue_free(server->fresh_tokens);
    }
    handles_free(server->service.handles);
    json_doc_free(server->service.doc);
    view_cache_free(server->service.views);
    unsent_deinit(&server->service.unsent);
    loop_free(server->loop);
    free(server);
}

/* ---- tokens ---- */

static void take_fresh_tokens(void *arg)
{
    struct server *server = arg;
    struct tokens *tokens = queue_pop(server->fresh_tokens, 0);
    if (tokens == NULL)
        return;
    gate_set_tokens(server->service.gate, tokens);
    tail_watches_check(server->service.watches, server->service.gate);
    ws_sessions_check(server->service.websockets, server->service.gate);
}

enum rc server_read_tokens(struct server *server, const char *path, struct err *err)
{
    struct tokens *tokens;
    assert(server->fresh_tokens != NULL);
    enum rc rc = tokens_read(path, &tokens, err);
    if (rc != RC_OK)
        return rc;
    free(queue_pop(server->fresh_tokens, 0)); /* of a reload that these overtake */
    rc = queue_push(server->fresh_tokens, tokens);
    assert(rc == RC_OK);
    loop_waker_wake(server->tokens_waker);
    return rc;
}

static enum rc open_gate(struct server *server, struct err *err)
{
    const struct gate_options *options = &server->options.gate;
    struct tokens *tokens = NULL;
    if (options->tokens_file != NULL) {
        enum rc rc = tokens_read(options->tokens_file, &tokens, err);
        if (rc != RC_OK)
            return rc;
        server->fresh_tokens = queue_new(1);
    }
    server->service.gate = gate_new(options, tokens, server->service.runtime);
    return RC_OK;
}

enum rc server_start(const struct server_options *options, struct server **out, struct err *err)
{
    struct server *server = memory_new_zeroed(1, sizeof *server);
    assert(options->store_url != NULL);
    server->options = *options;
    server->loop = loop_new();
    struct runtime *runtime = loop_runtime(server->loop);
    server->service = (struct service){
        .options = &server->options,
        .runtime = runtime,
        .dispatch = dispatch,
        .completed = completed,
        .server = server,
        .handles = handles_new(&options->handles, runtime->ops->random(runtime)),
        .views = view_cache_new(),
        .waiting_max = or_default(options->waiting_max, WAITING_DEFAULT),
        .ws_reads_max = WS_READS_FACTOR * or_default(options->readers, READERS_DEFAULT),
        .polls_max = polls_of(or_default(options->connections_max, CONNECTIONS_DEFAULT)),
        .doc = json_doc_new(ROUTE_BODY_MAX, JSON_DEPTH_MAX),
    };
    unsent_init(&server->service.unsent,
                options->answer_bytes_max == 0 ? ANSWERS_DEFAULT : options->answer_bytes_max);
    server->drain = (struct timer){.fn = give_up_draining, .arg = server};
    enum rc rc = open_gate(server, err);
    if (rc == RC_OK)
        rc = listen_everywhere(server, err);
    if (rc != RC_OK) {
        close_listeners(server);
        server_free(server);
        return rc;
    }
    upkeep_prepare(server->service.handles, options->store_url);
    server->done_waker = loop_waker_new(server->loop, finish_jobs, server);
    server->stop_waker = loop_waker_new(server->loop, begin_drain, server);
    server->tokens_waker = loop_waker_new(server->loop, take_fresh_tokens, server);
    const struct reader_options readers = {
        .store_url = options->store_url,
        .threads = or_default(options->readers, READERS_DEFAULT),
        /* Beside requests there are the upkeep and those who follow. */
        .jobs_max = server->service.waiting_max + 1 + TAIL_HUB_READINGS_MAX,
        .query_us_max = options->query_us_max == 0 ? QUERY_US_DEFAULT : options->query_us_max,
    };
    server->service.readers = reader_pool_start(&readers, pass_on_done, server);
    server->service.tails = tail_hub_new(runtime, server->service.readers, options->collections);
    server->service.waits = seq_waits_new(runtime);
    server->service.watches = tail_watches_new(server->service.tails);
    server->service.websockets = ws_sessions_new(server->loop);
    server->commit_waker = loop_waker_new(server->loop, note_commit, server);
    if (options->bell != NULL)
        bell_listen(options->bell, pass_on_commit, server);
    if (options->writer != NULL)
        server->service.desk = desk_new(server->loop, options->writer);
    server->service.packers = worker_pool_new(server->loop, PACKERS, PACKING_MAX);
    server->thread = thread_start("serve", serve, server);
    *out = server;
    return RC_OK;
}

void server_stop(struct server *server)
{
    loop_waker_wake(server->stop_waker);
    thread_join(server->thread);
}

unsigned server_port(const struct server *server, enum listener_kind kind)
{
    assert(kind < LISTENER_COUNT);
    return server->ports[kind];
}
