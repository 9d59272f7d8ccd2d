/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_server.h - a server with fifty posts, a token and a socket, to throw bytes at.
 *
 * Whoever has the token "all", or speaks to the socket, may do everything. Nobody runs beside the
 * caller: the server is turned (fuzz_turns.h) while he listens. */
#ifndef TESTS_FUZZ_SERVER_H
#define TESTS_FUZZ_SERVER_H

#include "serve/server.h"

#include <stdbool.h>
#include <stddef.h>

extern char *fuzz_answer; /* what was heard last, with a NUL */

/* Once; later calls do nothing. */
void fuzz_server_start(void);
/* To the socket when `local`, else to the main address. */
int fuzz_dial(bool local);
/* False: it has heard enough. */
bool fuzz_speak(int fd, const void *data, size_t size);
/* There is nothing more to say: the server, which has all of it, ends the connection. */
void fuzz_hush(int fd);
/* Whether what was heard so far, so many bytes, is all that will come. */
typedef bool fuzz_enough_fn(void *arg, size_t len);
/* Reads to the end, until it is enough (NULL: never), or until the server has nothing left to do:
 * it may be waiting for something on behalf of the client. How many bytes came. */
size_t fuzz_listen(int fd, fuzz_enough_fn *enough, void *arg);
/* Now and then: it still serves others. */
void fuzz_look_after(void);

#endif
