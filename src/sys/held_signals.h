/* SPDX-License-Identifier: Apache-2.0
 *
 * held_signals.h - SIGTERM, SIGINT and SIGHUP wait while the program can do nothing about them.
 *
 * Whoever starts or ends a daemon may send them at any moment. From the first line on until
 * somebody listens, and again once nobody does, they are held back by the system: none of them ends
 * the process half-way, and none is lost.
 *
 * Thread: the main one, before it starts others; they hold signals back for good. */
#ifndef SYS_HELD_SIGNALS_H
#define SYS_HELD_SIGNALS_H

#include <stdbool.h>

void held_signals_begin(void);
/* One that asks to stop waits. */
bool held_signals_ask_stop(void);
/* Somebody listens now: what waited arrives. */
void held_signals_end(void);

#endif
