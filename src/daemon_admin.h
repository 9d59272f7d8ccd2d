/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_admin.h - what an operator may ask of the running program: on its socket, or with a token
 * that may administer; what writes a file where it is told, on its socket only.
 *
 *   POST /api/admin/reset   {source, stream?}   forgets a position; answered when that is durable
 *   POST /api/admin/backfill {actor, hours?}    has a history read; answered when queued
 *   POST /api/admin/backfill-progress {did}     how far that is; at any time
 *   POST /api/admin/import  {account, provider?, since?}  has it read; answered when begun
 *   POST /api/admin/import-progress {account, startedAt}  how far that is; at any time
 *   POST /api/admin/follows {}                  has the lists read anew; answered when begun
 *   POST /api/admin/owed-retry {id}             has a document tried again; answered when durable
 *   POST /api/admin/reconcile {dryRun?}         has all documents that lack tried; when durable
 *   POST /api/admin/quarantine {id, action}     hands refused input in again, or drops it
 *   POST /api/admin/backup  {path}              copies the store to a new file of the daemon's host
 *   POST /api/admin/verify  {}                  compares the store with its own rules
 *
 * One of them at a time, but for questions of progress and for quarantine, so that readers are left
 * for everybody else; a second one is CONFLICT.
 *
 * Owner: the daemon.  Thread: the serving loop, its work on a reader's thread. */
#ifndef DAEMON_ADMIN_H
#define DAEMON_ADMIN_H

#include "daemon_backfill_ask.h"
#include "daemon_content.h"
#include "daemon_follows_ask.h"
#include "daemon_ledger.h"
#include "daemon_quarantine.h"
#include "daemon_reset.h"
#include "serve/server.h"

struct admin {
    struct reset *reset;
    struct backfill_ask *backfill;
    struct follows_ask *follows;
    struct quarantine_ask *quarantine;
    struct part *ledger;
    struct part *content; /* NULL: no chain is followed */
    bool busy;
};

/* Puts the routes into the options; `admin` stays in place until the server has stopped. */
void admin_add_routes(struct admin *admin, struct server_options *options);

#endif
