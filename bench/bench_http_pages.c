/* SPDX-License-Identifier: Apache-2.0
 *
 * Pages of 30 posts over HTTP, by handles on kept-alive connections, against a bare loop that steps
 * one prepared keyset statement over the same rows and looks at every column. One thread reads the
 * store in both; the server has its loop beside it, and the client a thread of its own. SQLite. */
#include "fixture.h"
#include "serve/server.h"
#include "store/store.h"

#include <sqlite3.h>

#include <assert.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define POSTS       400000
#define PAGE        30
#define CONNECTIONS 16
#define ROUNDS      5
#define ROUND_S     1.0
#define GOAL        0.35

static const char bare_sql[] =
    "SELECT t.n, 'at://' || a.did || '/' || t.collection || '/' || t.rkey, a.did, a.handle, "
    "t.collection, t.rkey, CASE t.kind WHEN 0 THEN 'post' ELSE 'repost' END, t.body, t.subject, "
    "t.shared_us, t.created_us, t.rev, a.active, t.seq FROM post t JOIN actors a ON a.id = t.actor "
    "WHERE t.kind < 2 AND (t.shared_us, t.n) < (?1, ?2) ORDER BY t.shared_us DESC, t.n DESC "
    "LIMIT 30";

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

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
            for (int i = 0; i < 14; i++)
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

/* ---- the server's clients ---- */

struct peer {
    int fd;
    char request[256];
    size_t request_len;
    char reply[1 << 16];
    size_t len, wanted; /* bytes there, and to come in all; 0: not known yet */
};

static void dial(struct peer *peer, unsigned port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    peer->fd = socket(AF_INET, SOCK_STREAM, 0);
    assert(peer->fd >= 0);
    int result = connect(peer->fd, (struct sockaddr *)&address, sizeof address);
    assert(result == 0);
}

static void set_request(struct peer *peer, const char *command, const char *body)
{
    int len = snprintf(peer->request, sizeof peer->request,
                       "POST /api/data/query-%s HTTP/1.1\r\nHost: localhost\r\n"
                       "Content-Length: %zu\r\n\r\n%s",
                       command, strlen(body), body);
    peer->request_len = (size_t)len;
}

static void say(struct peer *peer)
{
    peer->len = peer->wanted = 0;
    ssize_t sent = send(peer->fd, peer->request, peer->request_len, 0);
    assert(sent == (ssize_t)peer->request_len);
}

/* True when the reply is whole. */
static bool hear(struct peer *peer)
{
    ssize_t got = recv(peer->fd, peer->reply + peer->len, sizeof peer->reply - 1 - peer->len, 0);
    assert(got > 0);
    peer->len += (size_t)got;
    peer->reply[peer->len] = '\0';
    if (peer->wanted == 0) {
        const char *end = strstr(peer->reply, "\r\n\r\n");
        const char *length = strcasestr(peer->reply, "content-length:");
        if (end == NULL)
            return false;
        assert(length != NULL && strncmp(peer->reply, "HTTP/1.1 200", 12) == 0);
        peer->wanted = (size_t)(end + 4 - peer->reply) + strtoull(length + 15, NULL, 10);
    }
    return peer->len == peer->wanted;
}

static void open_query(struct peer *peer)
{
    char body[96];
    set_request(peer, "open", "{\"collection\":\"posts\",\"pageSize\":30,\"count\":\"none\"}");
    say(peer);
    while (!hear(peer))
        ;
    const char *handle = strstr(peer->reply, "\"queryHandle\":\"");
    assert(handle != NULL);
    snprintf(body, sizeof body, "{\"queryHandle\":\"%.36s\"}", handle + 15);
    set_request(peer, "next", body);
}

static double run_http(struct peer *peers)
{
    struct pollfd fds[CONNECTIONS];
    size_t pages = 0;
    double start = seconds_now(), end = start + ROUND_S;
    for (int i = 0; i < CONNECTIONS; i++) {
        fds[i] = (struct pollfd){.fd = peers[i].fd, .events = POLLIN};
        say(&peers[i]);
    }
    for (int busy = CONNECTIONS; busy > 0;) {
        poll(fds, CONNECTIONS, -1);
        for (int i = 0; i < CONNECTIONS; i++) {
            if ((fds[i].revents & POLLIN) == 0 || !hear(&peers[i]))
                continue;
            pages++;
            assert(strstr(peers[i].reply + peers[i].len - 80, "\"hasMore\":true") != NULL);
            if (seconds_now() < end)
                say(&peers[i]);
            else
                busy--;
        }
    }
    return (double)pages / (seconds_now() - start);
}

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

int main(void)
{
    struct fixture fixture;
    struct server *server;
    struct err err;
    static struct peer peers[CONNECTIONS];
    double ratios[ROUNDS], http[ROUNDS], bare[ROUNDS];
    fixture_open(&fixture, FIXTURE_SQLITE);
    make_posts(&fixture);
    const struct server_options options = {
        .listen = "127.0.0.1:0", .store_url = fixture.url, .readers = 1};
    check(server_start(&options, &server, &err), &err);
    for (int i = 0; i < CONNECTIONS; i++) {
        dial(&peers[i], server_port(server, LISTENER_MAIN));
        open_query(&peers[i]);
    }
    for (int i = 0; i < ROUNDS; i++) {
        bare[i] = run_bare(&fixture);
        http[i] = run_http(peers);
        ratios[i] = http[i] / bare[i];
    }
    for (int i = 0; i < CONNECTIONS; i++)
        close(peers[i].fd);
    server_stop(server);
    fixture_close(&fixture);
    qsort(ratios, ROUNDS, sizeof ratios[0], compare);
    qsort(http, ROUNDS, sizeof http[0], compare);
    qsort(bare, ROUNDS, sizeof bare[0], compare);
    bool ok = ratios[ROUNDS / 2] >= GOAL;
    printf("{\"name\":\"http_pages\",\"value\":%.0f,\"unit\":\"pages/s\",\"against\":%.0f,"
           "\"ratio\":%.3f,\"goal\":%.2f,\"ok\":%s}\n",
           http[ROUNDS / 2], bare[ROUNDS / 2], ratios[ROUNDS / 2], GOAL, ok ? "true" : "false");
    return ok ? 0 : 1;
}
