/* SPDX-License-Identifier: Apache-2.0
 *
 * The server over real sockets on a SQLite store: what it takes, what it refuses, how it ends. */
#include "fixture.h"
#include "http_peer.h"
#include "serve/request.h"
#include "serve/server.h"
#include "store/store.h"

#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct bench {
    struct fixture fixture;
    char socket_path[300];
    struct server_options options;
    struct server *server;
    struct http_peer peer;
    struct http_answer answer;
    struct err err;
    bool sick;
    sem_t entered, leave; /* of the route that waits for the test */
};

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

static const struct route slow_routes[] = {
    {"GET", "/slow", ON_MAIN, begin_slow, work_slow, finish_slow, false},
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
        .health = tell_health,
        .metrics = tell_metrics,
        .arg = bench,
        .routes = slow_routes,
        .route_count = 1,
    };
    assert_int_equal(server_start(&bench->options, &bench->server, &bench->err), RC_OK);
    http_peer_connect(&bench->peer, server_port(bench->server, LISTENER_MAIN));
    return 0;
}

static int set_up(void **state)
{
    return set_up_with(state, 0);
}

static int set_up_392(void **state)
{
    return set_up_with(state, 392);
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    http_peer_close(&bench->peer);
    http_answer_free(&bench->answer);
    if (bench->server != NULL)
        server_stop(bench->server);
    sem_destroy(&bench->entered);
    sem_destroy(&bench->leave);
    fixture_close(&bench->fixture);
    free(bench);
    return 0;
}

static const char *body_of(struct bench *bench)
{
    return text_string(&bench->answer.body);
}

static int get(struct bench *bench, const char *path)
{
    http_peer_ask(&bench->peer, path, NULL);
    http_peer_read(&bench->peer, &bench->answer, false);
    return bench->answer.status;
}

static int post(struct bench *bench, const char *path, const char *body)
{
    http_peer_ask(&bench->peer, path, body);
    http_peer_read(&bench->peer, &bench->answer, false);
    return bench->answer.status;
}

static bool says(struct bench *bench, const char *words)
{
    return strstr(body_of(bench), words) != NULL;
}

static bool head_says(struct bench *bench, const char *words)
{
    return strcasestr(text_string(&bench->answer.head), words) != NULL;
}

static void health_gives_the_documented_keys_first(void **state)
{
    struct bench *bench = *state;
    assert_int_equal(get(bench, "/health"), 200);
    const char *start = "{\"status\":\"healthy\",\"websocket_connected\":true,"
                        "\"last_event_seconds_ago\":2,\"cursor_time_us\":1700000000000000,"
                        "\"follows_count\":150,\"backfill_queue_depth\":0,";
    assert_int_equal(strncmp(body_of(bench), start, strlen(start)), 0);
    bench->sick = true;
    assert_int_equal(get(bench, "/health"), 503);
    assert_true(says(bench, "\"status\":\"degraded\""));
    assert_true(says(bench, "no event for 7 minutes"));
}

static void take_handle(struct bench *bench, char handle[37])
{
    const char *at = strstr(body_of(bench), "\"queryHandle\":\"");
    assert_non_null(at);
    memcpy(handle, at + 15, 36);
    handle[36] = '\0';
}

static void open_query(struct bench *bench, const char *body, char handle[37])
{
    assert_int_equal(post(bench, "/api/data/query-open", body), 200);
    take_handle(bench, handle);
}

static int next_page(struct bench *bench, const char *handle)
{
    char body[128];
    snprintf(body, sizeof body, "{\"queryHandle\":\"%s\"}", handle);
    return post(bench, "/api/data/query-next", body);
}

static size_t count_items(struct bench *bench)
{
    size_t count = 0;
    for (const char *at = body_of(bench); (at = strstr(at, "{\"id\":")) != NULL; at++)
        count++;
    return count;
}

/* R004-08 R004-11 R004-12 R004-13 R004-14 R004-15 R004-17 R004-18 */
static void a_query_is_opened_paged_to_its_end_and_closed(void **state)
{
    struct bench *bench = *state;
    static const size_t sizes[] = {100, 100, 100, 92, 0, 0};
    char handle[37], words[64];
    open_query(bench, "{\"collection\":\"posts\"}", handle);
    assert_true(says(bench, "\"totalCount\":392,\"totalCountKind\":\"exact\",\"pageSize\":100"));
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(next_page(bench, handle), 200);
        assert_int_equal(count_items(bench), sizes[i]);
        snprintf(words, sizeof words, "\"pageNumber\":%zu,\"hasMore\":%s,\"totalCount\":392",
                 i < 4 ? i : 4, i < 3 ? "true" : "false");
        assert_true(says(bench, words));
    }
    snprintf(words, sizeof words, "{\"queryHandle\":\"%s\"}", handle);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(post(bench, "/api/data/query-close", words), 200);
        assert_string_equal(body_of(bench), "{\"success\":true}\n");
    }
    assert_int_equal(next_page(bench, handle), 404);
    assert_true(says(bench, "\"code\":\"HANDLE_NOT_FOUND\""));
}

int main(void)
{
#define SERVER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        SERVER(health_gives_the_documented_keys_first),
        cmocka_unit_test_setup_teardown(a_query_is_opened_paged_to_its_end_and_closed, set_up_392,
                                        tear_down),
    };
    (void)head_says;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
