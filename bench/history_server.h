/* SPDX-License-Identifier: Apache-2.0
 *
 * history_server.h - a provider of an account's history that costs next to nothing.
 *
 * Answers in the shape of Etherscan's `txlist`, oldest first: `startblock`, `page` and `offset` are
 * obeyed, everything else is ignored. All rows are one text in which the few digits that tell them
 * apart are put, so a page is made at the speed of copying it, and a history of any length needs no
 * memory.
 *
 * Thread: one of its own, for all connections; the functions below are for the one that started
 * it. */
#ifndef BENCH_HISTORY_SERVER_H
#define BENCH_HISTORY_SERVER_H

#include <stddef.h>
#include <stdint.h>

#define HISTORY_ACCOUNT   "0x00000000000000000000000000000000000000aa"
#define HISTORY_PAGE_MAX  10000
#define HISTORY_PER_BLOCK 3 /* rows */

struct history_server;

/* Listens on loopback. */
struct history_server *history_server_start(void);
unsigned history_server_port(const struct history_server *server);
/* How long the history is from now on. */
void history_server_set(struct history_server *server, uint64_t rows);
/* Requests since the last call. */
uint64_t history_server_requests(struct history_server *server);
void history_server_stop(struct history_server *server);

#endif
