/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_backfill_route.h - how far the reading of a history is, for those who wait for it.
 *
 *   POST /api/admin/backfill-progress {did}
 *
 * What is told is what the queue holds, so it is as durable as the reading itself. An account that
 * is not in the queue was read, or is gone.
 *
 * Thread: the serving loop, its work on a reader's thread. */
#ifndef DAEMON_BACKFILL_ROUTE_H
#define DAEMON_BACKFILL_ROUTE_H

#include "serve/request.h"

void backfill_progress_begin(struct request *request);
enum rc backfill_progress_work(struct request *request, struct store *store, struct err *err);
void backfill_progress_finish(struct request *request);

#endif
