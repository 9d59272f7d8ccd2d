/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_quarantine.h - what becomes of input that was refused, when an operator decides.
 *
 *   retry   it is handed in again, as if it came now; what it says is stored and its row is
 *           removed in one commit, or it is refused again and stays
 *   drop    its row is removed
 * Only messages of the firehose whose bytes were kept can be handed in again: rows of a feed or of
 * an account's history are asked for anew by their own sources.
 *
 *   POST /api/admin/quarantine     {id, action}   for programs
 *   POST /status/quarantine/ACT/ID                what the operator's page posts; leads back to it
 *
 * Owner: the daemon.  Thread: the ingest loop, except where a function says otherwise. */
#ifndef DAEMON_QUARANTINE_H
#define DAEMON_QUARANTINE_H

#include "daemon_part.h"
#include "serve/request.h"

struct quarantine_ask;

/* `firehose` takes its messages; NULL: it is not followed. */
struct quarantine_ask *quarantine_ask_new(const struct part_env *env, struct part *firehose);
/* The loop has ended: nobody is kept waiting. */
void quarantine_ask_abandon(struct quarantine_ask *ask);
void quarantine_ask_free(struct quarantine_ask *ask);

/* Any thread but the loop's. RC_OK: durable. RC_REJECT: there is no such input, or it cannot be
 * used still. RC_AGAIN: another one is under way. */
must_check enum rc quarantine_ask_run(struct quarantine_ask *ask, struct store *store, int64_t id,
                                      bool retry, int64_t wait_us, struct err *err);

/* The routes; their argument has the ask. */
void quarantine_api_begin(struct request *request);
void quarantine_retry_begin(struct request *request);
void quarantine_drop_begin(struct request *request);
enum rc quarantine_route_work(struct request *request, struct store *store, struct err *err);
void quarantine_api_finish(struct request *request);
void quarantine_form_finish(struct request *request);

#endif
