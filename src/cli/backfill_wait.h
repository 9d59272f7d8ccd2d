/* SPDX-License-Identifier: Apache-2.0
 *
 * backfill_wait.h - waits until a running daemon has read the history of an account.
 *
 * Shows how far that is. What is waited for is the daemon's work: whoever stops waiting changes
 * nothing of it.
 *
 * Owner: the command. */
#ifndef CLI_BACKFILL_WAIT_H
#define CLI_BACKFILL_WAIT_H

#include "cli/target.h"

enum backfill_end { BACKFILL_READ, BACKFILL_GONE, BACKFILL_LEFT };

/* RC_OK: *end says what became of it; BACKFILL_GONE: `standing` how the account stands;
 * BACKFILL_LEFT: somebody interrupted the waiting. */
must_check enum rc backfill_wait(struct target *target, const char *did, bool quiet,
                                 enum backfill_end *end, struct text *standing, struct err *err);

#endif
