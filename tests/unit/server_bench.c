/* SPDX-License-Identifier: Apache-2.0 */
#include "server_bench.h"

#include "serve/request.h"
#include "store/store.h"
#include "sys/bell.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HUGE         ((size_t)64 << 20)
#define QUERY_US_MAX 60000000 /* a busy machine is slower than one thinks */

static struct bench *at_hand; /* for routes, which know no test */

static void tell_health(void *arg, struct health_view *view)
{
    struct bench *bench = arg;
    view->websocket_connected = true;
    view->last_event_us_ago = 2500000;
    view->cursor_time_us = 1700000000000000;
    view->follows_count = 150;
    if (bench->sick)
        health_degrade(view, "no event for %d minutes", 7);
}

static void tell_metrics(void *arg, struct text *out)
{
    (void)arg;
    text_append_string(out, "tidemark_up 1\n");
}

static void begin_slow(struct request *request)
{
    (void)request;
}

static enum rc work_slow(struct request *request, struct store *store, struct err *err)
{
    (void)request, (void)err;
    assert_non_null(store);
    sem_post(&at_hand->entered);
    sem_wait(&at_hand->leave);
    return RC_OK;
}

static void finish_slow(struct request *request)
{
    struct json_writer writer;
    if (request->job.rc != RC_OK) {
        request_fail(request);
        return;
    }
    request_begin_json(request, &writer);
    request_send_json(request, &writer);
}

static bool take_nothing(void *arg, const struct field *columns, size_t count)
{
    (void)arg, (void)columns, (void)count;
    return true;
}

static enum rc work_endless(struct request *request, struct store *store, struct err *err)
{
    (void)request;
    return store_query(store,
                       "WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s) "
                       "SELECT count(*) FROM s",
                       NULL, 0, take_nothing, NULL, err);
}

static enum rc work_patient(struct request *request, struct store *store, struct err *err)
{
    (void)request, (void)err;
    store_limit_queries(store, 0);
    return RC_OK;
}

static void fill(struct request *request, size_t len)
{
    for (size_t i = 0; i < len; i++)
        text_append_char(&request->reply, (char)('a' + i * i % 7));
}

static void show_large(struct request *request)
{
    fill(request, BENCH_LARGE);
    request_send(request, 200, "text/plain");
}

static void show_larger(struct request *request)
{
    fill(request, BENCH_LARGE);
    show_large(request);
}

static void finish_slow_large(struct request *request)
{
    if (request->job.rc == RC_OK)
        show_large(request);
    else
        request_fail(request);
}

static void show_huge(struct request *request)
{
    char *to = text_reserve(&request->reply, HUGE);
    memset(to, 'h', HUGE);
    request->reply.len += HUGE;
    request_send(request, 200, "application/octet-stream");
}

static void show_file(struct request *request)
{
    static char file[BENCH_LARGE];
    memset(file, 'f', sizeof file);
    request_send_known(request, "text/plain", "\"file-1\"", bytes_make(file, sizeof file));
}

static void show_unsent(struct request *request)
{
    text_append_u64(&request->reply, request->service->unsent.bytes);
    request_send(request, 200, "text/plain");
}

static void begin_large(struct request *request)
{
    struct json root;
    struct json_writer writer;
    if (!request_parse_body(request, &root))
        return;
    request_begin_json(request, &writer);
    request_send_json(request, &writer);
}

#define SLOW(where, what)                                                                          \
    {                                                                                              \
        .method = "GET", .path = (where), .listeners = ON_MAIN, .scope = SCOPE_READ,               \
        .begin = begin_slow, .work = (what), .finish = finish_slow                                 \
    }

static const struct route slow_routes[] = {
    SLOW("/slow", work_slow),
    SLOW("/endless", work_endless),
    SLOW("/patient", work_patient),
    {.method = "GET",
     .path = "/slow-large",
     .listeners = ON_MAIN,
     .scope = SCOPE_READ,
     .begin = begin_slow,
     .work = work_slow,
     .finish = finish_slow_large},
    {.method = "GET",
     .path = "/large",
     .listeners = ON_MAIN,
     .scope = SCOPE_READ,
     .begin = show_large},
    {.method = "GET",
     .path = "/larger",
     .listeners = ON_MAIN,
     .scope = SCOPE_READ,
     .begin = show_larger},
    {.method = "GET",
     .path = "/huge",
     .listeners = ON_MAIN,
     .scope = SCOPE_READ,
     .begin = show_huge},
    {.method = "GET",
     .path = "/file",
     .listeners = ON_MAIN,
     .scope = SCOPE_READ,
     .begin = show_file},
    {.method = "GET",
     .path = "/unsent",
     .listeners = ON_MAIN,
     .scope = SCOPE_READ,
     .begin = show_unsent},
    {.method = "POST",
     .path = "/large",
     .listeners = ON_MAIN,
     .scope = SCOPE_WRITE,
     .begin = begin_large,
     .body_max = 16 << 20},
};

static void make_store(struct bench *bench, unsigned posts)
{
    struct store *store;
    struct store_position position;
    struct text sql = {0};
    unsigned applied;
    assert_int_equal(store_open(bench->fixture.url, STORE_WRITE, &store, &bench->err), RC_OK);
    assert_int_equal(store_migrate(store, &applied, &bench->err), RC_OK);
    assert_int_equal(store_claim(store, "test", NULL, 1, &position, &bench->err), RC_OK);
    text_append_string(&sql, "INSERT INTO actors (id, did) VALUES (1, 'did:plc:a');");
    for (unsigned i = 0; i < posts; i++)
        text_appendf(&sql,
                     "INSERT INTO post (n, seq, actor, collection, rkey, kind, shared_us) "
                     "VALUES (%u, 1, 1, 'app.bsky.feed.post', '%u', 0, %u);",
                     i + 1, i, 1000 + i / 7);
    text_appendf(&sql, "UPDATE engine SET next_n = %u", posts + 1);
    assert_int_equal(store->ops->script(store, text_string(&sql), &bench->err), RC_OK);
    text_free(&sql);
    store_close(store);
}

static int set_up_with(void **state, unsigned posts)
{
    struct bench *bench = memory_new_zeroed(1, sizeof *bench);
    *state = at_hand = bench;
    fixture_open(&bench->fixture, FIXTURE_SQLITE);
    make_store(bench, posts);
    snprintf(bench->socket_path, sizeof bench->socket_path, "%s/tidemark.sock",
             bench->fixture.folder);
    sem_init(&bench->entered, 0, 0);
    sem_init(&bench->leave, 0, 0);
    bench->options = (struct server_options){
        .listen = "127.0.0.1:0",
        .health_listen = "127.0.0.1:0",
        .socket_path = bench->socket_path,
        .store_url = bench->fixture.url,
        .query_us_max = QUERY_US_MAX,
        .health = tell_health,
        .metrics = tell_metrics,
        .arg = bench,
        .routes = slow_routes,
        .route_count = sizeof slow_routes / sizeof slow_routes[0],
    };
    assert_int_equal(server_start(&bench->options, &bench->server, &bench->err), RC_OK);
    http_peer_connect(&bench->peer, server_port(bench->server, LISTENER_MAIN));
    return 0;
}

int bench_set_up(void **state)
{
    return set_up_with(state, 0);
}

int bench_set_up_392(void **state)
{
    return set_up_with(state, 392);
}

int bench_set_up_followed(void **state)
{
    bench_set_up_392(state);
    struct bench *bench = *state;
    bench->bell = bench->options.bell = bell_new();
    bench_restart(bench);
    bench_reconnect(bench);
    assert_int_equal(store_open(bench->fixture.url, STORE_WRITE, &bench->writer, &bench->err),
                     RC_OK);
    assert_int_equal(
        bench->writer->ops->script(bench->writer, "UPDATE engine SET commit_seq = 1", &bench->err),
        RC_OK);
    return 0;
}

void bench_commit(struct bench *bench, const char *sql)
{
    struct text script = {0};
    text_appendf(&script, "%s; UPDATE engine SET commit_seq = commit_seq + 1", sql);
    assert_int_equal(bench->writer->ops->script(bench->writer, text_string(&script), &bench->err),
                     RC_OK);
    text_free(&script);
    bell_ring(bench->bell);
}

int bench_tear_down(void **state)
{
    struct bench *bench = *state;
    http_peer_close(&bench->peer);
    http_answer_free(&bench->answer);
    if (bench->server != NULL) {
        server_stop(bench->server);
        server_free(bench->server);
    }
    store_close(bench->writer);
    if (bench->bell != NULL)
        bell_free(bench->bell);
    sem_destroy(&bench->entered);
    sem_destroy(&bench->leave);
    fixture_close(&bench->fixture);
    free(bench);
    return 0;
}

void bench_restart(struct bench *bench)
{
    server_stop(bench->server);
    server_free(bench->server);
    assert_int_equal(server_start(&bench->options, &bench->server, &bench->err), RC_OK);
}

void bench_reconnect(struct bench *bench)
{
    http_peer_close(&bench->peer);
    http_peer_connect(&bench->peer, server_port(bench->server, LISTENER_MAIN));
}

const char *bench_body(struct bench *bench)
{
    return text_string(&bench->answer.body);
}

int bench_get(struct bench *bench, const char *path)
{
    http_peer_ask(&bench->peer, path, NULL);
    http_peer_read(&bench->peer, &bench->answer, false);
    return bench->answer.status;
}

int bench_post(struct bench *bench, const char *path, const char *body)
{
    http_peer_ask(&bench->peer, path, body);
    http_peer_read(&bench->peer, &bench->answer, false);
    return bench->answer.status;
}

int bench_say(struct bench *bench, const char *bytes)
{
    http_peer_say(&bench->peer, bytes);
    http_peer_read(&bench->peer, &bench->answer, false);
    return bench->answer.status;
}

bool bench_says(struct bench *bench, const char *words)
{
    return strstr(bench_body(bench), words) != NULL;
}

bool bench_head_says(struct bench *bench, const char *words)
{
    return strcasestr(text_string(&bench->answer.head), words) != NULL;
}

void bench_take_handle(struct bench *bench, char handle[37])
{
    const char *at = strstr(bench_body(bench), "\"queryHandle\":\"");
    assert_non_null(at);
    memcpy(handle, at + 15, 36);
    handle[36] = '\0';
}

void bench_open_query(struct bench *bench, const char *body, char handle[37])
{
    assert_int_equal(bench_post(bench, "/api/data/query-open", body), 200);
    bench_take_handle(bench, handle);
}

int bench_next(struct bench *bench, const char *handle)
{
    char body[128];
    snprintf(body, sizeof body, "{\"queryHandle\":\"%s\"}", handle);
    return bench_post(bench, "/api/data/query-next", body);
}
