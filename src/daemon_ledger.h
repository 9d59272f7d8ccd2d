/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_ledger.h - keeps the configured accounts complete, and imports others when asked to.
 *
 * Every account is brought up to date when the daemon starts and again after each interval; a few
 * at a time, the limits of a provider hold for all together. One that fails is tried again with the
 * next round; what became of it is in its session.
 *
 * Owner: the daemon.  Thread: the ingest loop, except where a function says otherwise. */
#ifndef DAEMON_LEDGER_H
#define DAEMON_LEDGER_H

#include "daemon_import_board.h"
#include "daemon_part.h"

#define LEDGER_NAME_MAX IMPORT_NAME_MAX

struct part *ledger_part_new(const struct part_env *env);
bool ledger_part_is(const struct part *part);

/* Of a part made above; any thread but the loop's. Has an account imported now: `provider` NULL is
 * anybody, `since_us` -1 everything. RC_OK: it is under way, or was already. RC_REJECT: nobody
 * serves it; RC_FATAL: whoever does needs a key; RC_AGAIN: another request is under way. On RC_OK
 * `account` is its name in the form under which it is stored, and *started_us says which session
 * it is. */
must_check enum rc ledger_part_import(struct part *part, char account[LEDGER_NAME_MAX],
                                      const char *provider, int64_t since_us, int64_t wait_us,
                                      int64_t *started_us, struct err *err);
/* The same, to try again what `account` owes for this item, due or dead. RC_AGAIN also: something
 * else of it waits for that already. */
must_check enum rc ledger_part_retry(struct part *part, char account[LEDGER_NAME_MAX],
                                     const char *item, int64_t wait_us, struct err *err);
/* What its imports show; any thread. */
struct import_board *ledger_part_board(struct part *part);
/* The loop has ended: whoever waits is told so. */
void ledger_part_abandon(struct part *part);

#endif
