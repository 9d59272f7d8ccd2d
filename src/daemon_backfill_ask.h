/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_backfill_ask.h - a person asks for the history of an account while the program runs.
 *
 * A handle that the store does not know is looked up at the AppView. The answer comes when the
 * request is durable, not when the history is read.
 *
 * Owner: the daemon.  Thread: the ingest loop, except where a function says otherwise. */
#ifndef DAEMON_BACKFILL_ASK_H
#define DAEMON_BACKFILL_ASK_H

#include "daemon_part.h"
#include "decode/at_uri.h"

struct backfill_ask;

struct backfill_ask *backfill_ask_new(const struct part_env *env);
/* After the outbox is freed. */
void backfill_ask_free(struct backfill_ask *ask);
void backfill_ask_abandon(struct backfill_ask *ask);

/* Any thread but the loop's; `did` is set when it was found. RC_REJECT: nobody is called that. */
must_check enum rc backfill_ask_run(struct backfill_ask *ask, const char *actor, int64_t hours,
                                    int64_t wait_us, char did[AT_DID_MAX + 1], struct err *err);

#endif
