/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_reconcile_route.h - an operator has all that lacks fetched again.
 *
 *   POST /api/admin/reconcile {dryRun?}
 *
 * Answered when what was found is queued, durably, with how much that was.
 *
 * Thread: the serving loop, its work on a reader's thread. */
#ifndef DAEMON_RECONCILE_ROUTE_H
#define DAEMON_RECONCILE_ROUTE_H

#include "serve/request.h"

void reconcile_begin(struct request *request);
enum rc reconcile_work(struct request *request, struct store *store, struct err *err);
void reconcile_finish(struct request *request);

#endif
