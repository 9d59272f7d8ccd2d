/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_import_route.h - how far an import is, for those who follow it.
 *
 *   POST /api/admin/import-progress {account, startedAt}
 *
 * Shown is the import that began then or later, or the one before it while that is under way; once
 * it is over with `result` and `words`.
 *
 * Thread: the serving loop, its work on a reader's thread. */
#ifndef DAEMON_IMPORT_ROUTE_H
#define DAEMON_IMPORT_ROUTE_H

#include "daemon_import_board.h"
#include "serve/request.h"

/* The board is found by `begin` and outlives the request. */
void import_progress_begin(struct request *request, struct import_board *board);
enum rc import_progress_work(struct request *request, struct store *store, struct err *err);
void import_progress_finish(struct request *request);

#endif
