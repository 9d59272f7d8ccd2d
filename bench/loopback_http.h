/* SPDX-License-Identifier: Apache-2.0
 *
 * loopback_http.h - plain questions to a server on this machine, as bare as they can be. */
#ifndef BENCH_LOOPBACK_HTTP_H
#define BENCH_LOOPBACK_HTTP_H

#include "base/bytes.h"

/* Sends a request; the connection, or -1. */
int loopback_ask(unsigned port, const char *method, const char *target);
/* Reads the answer to its end into `body`, without the head; false: it was no 200. */
bool loopback_answer(int connection, struct text *body);

#endif
