/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_turns.h - the serving loop on the caller's thread, turn by turn.
 *
 * The server is the product's, but nobody runs beside the caller: its loop waits until it is
 * turned, what a reader would do is done when it is handed in, and so is what makes answers
 * smaller. Both are told of as ever, by a later turn. The main address is a socket without a
 * network, whose callers seem to come from loopback. So an input costs no waiting, and gives the
 * same each time.
 * The linker puts this between the server and the functions it stands for (meson.build here).
 *
 * Thread: the one that turns. */
#ifndef TESTS_FUZZ_TURNS_H
#define TESTS_FUZZ_TURNS_H

/* After the server was started: its loop is the caller's from here on. */
void fuzz_turns_take(void);
/* A connection to the main address. */
int fuzz_turns_dial_main(void);
/* Until nothing is left to do but to wait for somebody or for a time to come. */
void fuzz_turns_run(void);
/* Before the server is stopped: its own thread goes on. */
void fuzz_turns_give_back(void);
/* After it was freed. */
void fuzz_turns_end(void);

#endif
