/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/server.h"

#include "serve/listener.h"
#include "serve/request.h"
#include "serve/tail_hub.h"
#include "serve/upkeep.h"
#include "sys/bell.h"
#include "sys/listen_socket.h"
#include "sys/thread.h"

#include <assert.h>
#include <stdlib.h>

#define READERS_DEFAULT     2
#define WAITING_DEFAULT     256
#define CONNECTIONS_DEFAULT 1024
#define IDLE_S_DEFAULT      30
#define DRAIN_US_DEFAULT    INT64_C(5000000)
#define QUERY_US_DEFAULT    INT64_C(250000)
#define LAST_TURNS          16 /* what a stopping server may still send without waiting */

struct server {
    struct server_options options;
    struct service service;
    struct loop *loop;
    struct thread *thread;
    struct listener *listeners[LISTENER_COUNT];
    unsigned ports[LISTENER_COUNT];
    struct reader_pool *readers;
    struct loop_waker *done_waker, *stop_waker, *commit_waker;
    struct upkeep *upkeep;
    struct timer drain;
    size_t under_way; /* requests begun and not completed */
    unsigned waiting; /* requests that wait for a reader, or are with one */
};

static unsigned or_default(unsigned value, unsigned fallback)
{
    return value == 0 ? fallback : value;
}

/* ---- requests ---- */

static enum rc work_on_request(struct reader_job *job, struct store *store, struct err *err)
{
    struct request *request = (struct request *)job;
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
    route->begin(request);
    if (request->answered)
        return;
    assert(route->work != NULL);
    request->job.work = work_on_request;
    request->job.rc = RC_AGAIN;
    if (server->waiting < server->options.waiting_max &&
        reader_pool_submit(server->readers, &request->job) == RC_OK)
        server->waiting++;
    else
        route->finish(request);
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
    while ((job = reader_pool_take(server->readers)) != NULL) {
        if (upkeep_takes(server->upkeep, job) || tail_hub_takes(server->service.tails, job))
            continue;
        struct request *request = (struct request *)job;
        server->waiting--;
        request->route->finish(request);
        if (request->answered)
            request_resume(request);
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
    if (!server->service.draining)
        tail_hub_note_commit(server->service.tails);
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
    tail_hub_stop(server->service.tails);
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
    runtime->ops->timer_disarm(runtime, &server->drain);
    reader_pool_stop(server->readers);
    finish_jobs(server);
    for (int i = 0; i < LAST_TURNS && server->under_way > 0; i++)
        run_listeners(server);
    close_listeners(server);
    assert(server->under_way == 0);
    upkeep_free(server->upkeep);
    tail_hub_free(server->service.tails);
    reader_pool_free(server->readers);
    loop_waker_free(server->done_waker);
    loop_waker_free(server->stop_waker);
    loop_waker_free(server->commit_waker);
}

/* ---- the beginning ---- */

static void serve(void *arg)
{
    struct server *server = arg;
    server->upkeep =
        upkeep_start(server->service.runtime, server->service.handles, server->readers);
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
        .idle_s_max = or_default(options->idle_s_max, IDLE_S_DEFAULT),
        .dispatch = dispatch,
        .completed = completed,
        .arg = server,
    };
    server->listeners[kind] = listener_new(&wanted);
    if (server->listeners[kind] != NULL)
        return RC_OK;
    return err_set(err, RC_REJECT, "the HTTP library does not start");
}

/* Whoever reaches the main address may read everything: no token is asked for there. */
static enum rc check_reach(const char *address, struct err *err)
{
    if (address == NULL || !listen_socket_is_remote(address))
        return RC_OK;
    return err_set(err, RC_REJECT,
                   "serve.listen is %s: only a loopback address is served, 127.0.0.1:8080 or "
                   "[::1]:8080; put a proxy that asks for a password in front of it",
                   address);
}

static enum rc listen_everywhere(struct server *server, struct err *err)
{
    const struct server_options *options = &server->options;
    const char *const addresses[] = {
        [LISTENER_MAIN] = options->listen,
        [LISTENER_HEALTH] = options->health_listen,
        [LISTENER_SOCKET] = options->socket_path,
    };
    enum rc rc = check_reach(options->listen, err);
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

static void free_server(struct server *server)
{
    handles_free(server->service.handles);
    json_doc_free(server->service.doc);
    loop_free(server->loop);
    free(server);
}

enum rc server_start(const struct server_options *options, struct server **out, struct err *err)
{
    struct server *server = memory_new_zeroed(1, sizeof *server);
    assert(options->store_url != NULL);
    server->options = *options;
    server->options.waiting_max = or_default(options->waiting_max, WAITING_DEFAULT);
    server->loop = loop_new();
    struct runtime *runtime = loop_runtime(server->loop);
    server->service = (struct service){
        .options = &server->options,
        .runtime = runtime,
        .handles = handles_new(&options->handles, runtime->ops->random(runtime)),
        .doc = json_doc_new(LISTENER_BODY_MAX, JSON_DEPTH_MAX),
    };
    server->drain = (struct timer){.fn = give_up_draining, .arg = server};
    enum rc rc = listen_everywhere(server, err);
    if (rc != RC_OK) {
        close_listeners(server);
        free_server(server);
        return rc;
    }
    upkeep_prepare(server->service.handles, options->store_url);
    server->done_waker = loop_waker_new(server->loop, finish_jobs, server);
    server->stop_waker = loop_waker_new(server->loop, begin_drain, server);
    const struct reader_options readers = {
        .store_url = options->store_url,
        .threads = or_default(options->readers, READERS_DEFAULT),
        /* Beside requests there are the upkeep and those who follow. */
        .jobs_max = server->options.waiting_max + 1 + TAIL_HUB_READINGS_MAX,
        .query_us_max = options->query_us_max == 0 ? QUERY_US_DEFAULT : options->query_us_max,
    };
    server->readers = reader_pool_start(&readers, pass_on_done, server);
    server->service.tails = tail_hub_new(runtime, server->readers);
    server->commit_waker = loop_waker_new(server->loop, note_commit, server);
    if (options->bell != NULL)
        bell_listen(options->bell, pass_on_commit, server);
    server->thread = thread_start("serve", serve, server);
    *out = server;
    return RC_OK;
}

void server_stop(struct server *server)
{
    loop_waker_wake(server->stop_waker);
    thread_join(server->thread);
    free_server(server);
}

unsigned server_port(const struct server *server, enum listener_kind kind)
{
    assert(kind < LISTENER_COUNT);
    return server->ports[kind];
}
