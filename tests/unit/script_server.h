/* SPDX-License-Identifier: Apache-2.0
 *
 * script_server.h - a TCP server inside a test, whose every byte the test decides.
 *
 * It listens on 127.0.0.1 on a port of the kernel's choice and runs on the loop under test, so a
 * test is one thread and its order of events is repeatable. */
#ifndef TEST_SCRIPT_SERVER_H
#define TEST_SCRIPT_SERVER_H

#include "sys/loop.h"

struct script_server;

struct script_conn {
    void *arg;            /* what the server was given */
    struct text received; /* the script takes from it with script_take() */
    int step;             /* the script's own */
    size_t number;        /* 0 for the server's first connection */
};

/* Called when bytes came, and once with `ended` when the client is gone. */
typedef void script_fn(struct script_conn *conn, bool ended);

struct script_server *script_server_new(struct loop *loop, script_fn *fn, void *arg);
void script_server_free(struct script_server *server);
unsigned script_server_port(const struct script_server *server);
size_t script_server_accepted(const struct script_server *server);

void script_send(struct script_conn *conn, struct bytes data);
void script_say(struct script_conn *conn, const char *string);
/* Bytes not yet taken by the client's kernel. */
size_t script_unsent(const struct script_conn *conn);
void script_take(struct script_conn *conn, size_t len);
/* The length of the request's head with its empty line, 0 while it is not all there. */
size_t script_head_len(const struct script_conn *conn);
/* Whether `words` stand in what came. */
bool script_heard(const struct script_conn *conn, const char *words);
void script_hang_up(struct script_conn *conn); /* after what was sent */
void script_reset(struct script_conn *conn);   /* at once, with a RST */

#endif
