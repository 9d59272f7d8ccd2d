/* SPDX-License-Identifier: Apache-2.0
 *
 * Pages of 30 posts over HTTP, by handles on kept-alive connections. SQLite. http_pages: against a
 * loop that steps one prepared keyset statement over the same rows and looks at every column; one
 * thread reads the store in both, the server has its loop beside it, and the client a thread of its
 * own. http_pages_fastify: against the same pages from Fastify and better-sqlite3, with the same
 * client. */
#include "child.h"
#include "fixture.h"
#include "page_reader.h"
#include "serve/server.h"
#include "stopwatch.h"
#include "store/store.h"
#include "times.h"

#include <sqlite3.h>

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POSTS     400000
#define PAGE      30
#define ROUNDS    15
#define ROUND_S   0.4
#define GOAL      0.35
#define PEER_GOAL 3.0

static const char bare_sql[] =
    "SELECT t.n, 'at://' || a.did || '/' || t.collection || '/' || t.rkey, a.did, a.handle, "
    "t.collection, t.rkey, CASE t.kind WHEN 0 THEN 'post' ELSE 'repost' END, t.body, t.subject, "
    "t.shared_us, t.created_us, t.rev, t.langs, t.tags, t.facets, a.active, t.seq "
    "FROM post t JOIN actors a ON a.id = t.actor "
    "WHERE t.kind < 2 AND (t.shared_us, t.n) < (?1, ?2) ORDER BY t.shared_us DESC, t.n DESC "
    "LIMIT 30";

static void check(enum rc rc, const struct err *err)
{
    if (rc == RC_OK)
        return;
    fprintf(stderr, "bench_http_pages: %s: %s\n", rc_name(rc), err->text);
    abort();
}

static void make_posts(const struct fixture *fixture)
{
    struct store *store;
    struct store_position position;
    struct text sql = {0};
    struct err err;
    unsigned applied;
    check(store_open(fixture->url, STORE_WRITE, &store, &err), &err);
    check(store_migrate(store, &applied, &err), &err);
    check(store_claim(store, "bench", NULL, 1, &position, &err), &err);
    text_appendf(
        &sql,
        "INSERT INTO actors (id, did, handle) VALUES (1, 'did:plc:abcdefghijklmnopqrstuvwx',"
        " 'somebody.bsky.social');"
        "INSERT INTO post (n, seq, actor, collection, rkey, kind, shared_us, created_us, "
        "body) WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < %d)"
        " SELECT i, 1, 1, 'app.bsky.feed.post', '3k' || i, 0, 1700000000000000 + i * 1000, "
        "1700000000000000 + i * 1000, 'what somebody has to say about the world, in some "
        "hundred letters or so, with a link at its end' FROM s;"
        "UPDATE engine SET next_n = %d",
        POSTS, POSTS + 1);
    check(store->ops->script(store, text_string(&sql), &err), &err);
    text_free(&sql);
    store_close(store);
}

/* ---- the bare loop ---- */

static double run_bare(const struct fixture *fixture)
{
    sqlite3 *db;
    sqlite3_stmt *statement;
    int64_t us = INT64_MAX, n = INT64_MAX;
    size_t pages = 0, bytes = 0;
    int code = sqlite3_open_v2(fixture->url + strlen("sqlite:"), &db,
                               SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    assert(code == SQLITE_OK);
    code = sqlite3_prepare_v2(db, bare_sql, -1, &statement, NULL);
    assert(code == SQLITE_OK);
    double start = seconds_now(), end = start + ROUND_S;
    for (; seconds_now() < end; pages++) {
        size_t rows = 0;
        sqlite3_bind_int64(statement, 1, us);
        sqlite3_bind_int64(statement, 2, n);
        while (sqlite3_step(statement) == SQLITE_ROW) {
            for (int i = 0; i < 17; i++)
                if (sqlite3_column_type(statement, i) == SQLITE_TEXT) {
                    const unsigned char *text = sqlite3_column_text(statement, i);
                    bytes += text[0] + (size_t)sqlite3_column_bytes(statement, i);
                } else {
                    bytes += (size_t)sqlite3_column_int64(statement, i);
                }
            n = sqlite3_column_int64(statement, 0);
            us = sqlite3_column_int64(statement, 9);
            rows++;
        }
        sqlite3_reset(statement);
        if (rows < PAGE)
            us = n = INT64_MAX;
    }
    double rate = (double)pages / (seconds_now() - start);
    assert(bytes > 0);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return rate;
}

/* ---- the clients ---- */

/* The same request for every page: the server knows where this one is. */
static void turn_page(struct page_connection *connection)
{
    char body[96];
    if (connection->len > 0)
        return;
    page_connection_set(connection, "/api/data/query-open",
                        "{\"collection\":\"posts\",\"pageSize\":30,\"count\":\"none\"}");
    page_connection_ask(connection);
    const char *handle = strstr(connection->reply, "\"queryHandle\":\"");
    assert(handle != NULL);
    snprintf(body, sizeof body, "{\"queryHandle\":\"%.36s\"}", handle + 15);
    page_connection_set(connection, "/api/data/query-next", body);
}

/* The place after the last page stands at the end of its answer. */
static void turn_page_by_hand(struct page_connection *connection)
{
    char body[128];
    long long us = INT64_C(9000000000000000), n = us;
    if (connection->len > 0) {
        const char *place = strstr(connection->reply + connection->len - 80, "\"place\":[");
        int found = place == NULL ? 0 : sscanf(place + 9, "%lld,%lld", &us, &n);
        assert(found == 2);
    }
    snprintf(body, sizeof body, "{\"after\":[%lld,%lld],\"pageSize\":%d,\"page\":%ld}", us, n, PAGE,
             connection->page);
    page_connection_set(connection, "/posts", body);
}

static pid_t start_peer(const char *runner, const struct fixture *fixture, unsigned *port)
{
    char words[32];
    const char *database = fixture->url + strlen("sqlite:");
    pid_t pid =
        child_start((const char *[]){runner, "bench_fastify", database, NULL}, words, sizeof words);
    if (pid < 0 || sscanf(words, "%u", port) != 1) {
        fprintf(stderr, "bench_http_pages: Fastify cannot be had\n");
        exit(EXIT_FAILURE);
    }
    return pid;
}

/* ---- all of them ---- */

static bool report(const char *name, double *ours, double *theirs, double *ratios, double goal)
{
    double ratio = times_median(ratios, ROUNDS);
    printf("{\"name\":\"%s\",\"value\":%.0f,\"unit\":\"pages/s\",\"against\":%.0f,"
           "\"ratio\":%.3f,\"goal\":%.2f,\"ok\":%s}\n",
           name, times_median(ours, ROUNDS), times_median(theirs, ROUNDS), ratio, goal,
           ratio >= goal ? "true" : "false");
    return ratio >= goal;
}

int main(int argc, char **argv)
{
    struct fixture fixture;
    struct server *server;
    struct err err;
    static struct page_reader ours, theirs;
    double http[ROUNDS], bare[ROUNDS], peer[ROUNDS], of_bare[ROUNDS], of_peer[ROUNDS];
    unsigned peer_port;
    assert(argc == 2);
    fixture_open(&fixture, FIXTURE_SQLITE);
    make_posts(&fixture);
    const struct server_options options = {
        .listen = "127.0.0.1:0", .store_url = fixture.url, .readers = 1};
    check(server_start(&options, &server, &err), &err);
    pid_t peer_pid = start_peer(argv[1], &fixture, &peer_port);
    page_reader_open(&ours, server_port(server, LISTENER_MAIN), turn_page);
    page_reader_open(&theirs, peer_port, turn_page_by_hand);
    for (int i = 0; i < ROUNDS; i++) {
        bare[i] = run_bare(&fixture);
        http[i] = page_reader_run(&ours, ROUND_S);
        peer[i] = page_reader_run(&theirs, ROUND_S);
        of_bare[i] = http[i] / bare[i];
        of_peer[i] = http[i] / peer[i];
    }
    page_reader_close(&ours);
    page_reader_close(&theirs);
    child_end(peer_pid);
    server_stop(server);
    server_free(server);
    fixture_close(&fixture);
    bool ok = report("http_pages", http, bare, of_bare, GOAL);
    ok = report("http_pages_fastify", http, peer, of_peer, PEER_GOAL) && ok;
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
