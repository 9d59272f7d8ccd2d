/* SPDX-License-Identifier: Apache-2.0
 *
 * server_bench.h - a server on a fresh SQLite store, with one client, for a test.
 *
 * It has all three listeners on free ports, and a route that waits for the test: GET /slow posts
 * `entered` on a reader's thread and stays there until `leave` is posted. GET /endless asks the
 * store what it never finishes to answer; GET /patient takes all the time it may want. POST /large
 * takes a JSON object of up to 16 MiB. GET /large answers BENCH_LARGE bytes, /larger twice as many,
 * /slow-large as many when the test lets it, and /file as many with a tag; /huge answers more than
 * the kernel keeps for who does not read. GET /unsent says how many bytes of answers wait. */
#ifndef TESTS_SERVER_BENCH_H
#define TESTS_SERVER_BENCH_H

#include "fixture.h"
#include "http_peer.h"
#include "serve/server.h"

#include <semaphore.h>

#define BENCH_SEQ   "(SELECT commit_seq + 1 FROM engine)"
#define BENCH_LARGE 100000

struct bell;
struct store;

struct bench {
    struct fixture fixture;
    char socket_path[300];
    struct server_options options;
    struct server *server; /* NULL: stopped by the test */
    struct http_peer peer;
    struct http_answer answer; /* the last one */
    struct err err;
    bool sick; /* what health says */
    sem_t entered, leave;
    struct bell *bell;    /* with a writer, */
    struct store *writer; /* which is the test */
};

/* cmocka's set-up functions: with no post, with 392 of them. */
int bench_set_up(void **state);
int bench_set_up_392(void **state);
/* With 392 posts, and what the test commits is told to those who follow. */
int bench_set_up_followed(void **state);
int bench_tear_down(void **state);
/* Commits, and says so; `sql` writes the rows with BENCH_SEQ. */
void bench_commit(struct bench *bench, const char *sql);
/* Stops the server and starts it anew with the options as they are now. */
void bench_restart(struct bench *bench);
/* A new connection to the main address instead of the old one. */
void bench_reconnect(struct bench *bench);

/* Each sends and reads the answer; the status, or 0 when there was none. */
int bench_get(struct bench *bench, const char *path);
int bench_post(struct bench *bench, const char *path, const char *body);
int bench_say(struct bench *bench, const char *bytes);
const char *bench_body(struct bench *bench);
bool bench_says(struct bench *bench, const char *words);
bool bench_head_says(struct bench *bench, const char *words);

/* Opens a query and copies its handle. */
void bench_open_query(struct bench *bench, const char *body, char handle[37]);
void bench_take_handle(struct bench *bench, char handle[37]);
int bench_next(struct bench *bench, const char *handle);

#endif
