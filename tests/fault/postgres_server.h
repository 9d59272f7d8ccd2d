/* SPDX-License-Identifier: Apache-2.0
 *
 * postgres_server.h - a PostgreSQL server that a test may stop, start, copy and promote.
 *
 * It runs beside the one all tests share, in a folder of its own, with the same programs
 * (TIDEMARK_TEST_POSTGRES_BIN), and ends with the process at the latest. Every function aborts with
 * a sentence when it cannot do its work within a minute.
 *
 * Thread: the test's. */
#ifndef TESTS_FAULT_POSTGRES_SERVER_H
#define TESTS_FAULT_POSTGRES_SERVER_H

#include <stdbool.h>
#include <sys/types.h>

struct server {
    char home[256], data[300], url[128];
    int port;
    pid_t pid; /* 0: not running */
};

void server_make(struct server *server);
void server_start(struct server *server); /* answers when it takes connections */
/* Gives up all connections; `at_once`: like a crash, without writing anything. */
void server_stop(struct server *server, bool at_once);
/* Makes `standby` a streaming copy of the running `primary`, starts it and waits for the stream;
 * the primary then waits for it at every commit. */
void server_follow(struct server *standby, struct server *primary);
/* Answers when it takes writes. */
void server_promote(struct server *standby);
void server_run(const struct server *server, const char *sql);
/* Waits until the query's first value is `expected`. */
void server_await(const struct server *server, const char *sql, const char *expected);
void server_free(struct server *server);

#endif
