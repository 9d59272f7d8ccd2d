/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_server.h - a server with fifty posts, a token and a socket, to throw bytes at.
 *
 * Whoever has the token "all", or speaks to the socket, may do everything. */
#ifndef TESTS_FUZZ_SERVER_H
#define TESTS_FUZZ_SERVER_H

#include "serve/server.h"

#include <stdbool.h>
#include <stddef.h>

#define FUZZ_SILENCE_MS 3

extern char *fuzz_answer; /* what was heard last, with a NUL */

/* Once; later calls do nothing. */
void fuzz_server_start(void);
/* To the socket when `local`, else to the main address. */
int fuzz_dial(bool local);
/* False: it has heard enough. */
bool fuzz_speak(int fd, const void *data, size_t size);
/* Reads until it is silent for so long, or ends; how many bytes came. */
size_t fuzz_listen(int fd, int silence_ms);
/* Now and then: it still serves others. */
void fuzz_look_after(void);

#endif
