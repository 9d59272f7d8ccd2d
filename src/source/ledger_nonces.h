/* SPDX-License-Identifier: Apache-2.0
 *
 * ledger_nonces.h - the numbers of signed requests: each is above all that were ever sent.
 *
 * An exchange refuses a request whose number is not above the last one it saw, so neither a restart
 * nor a clock that was set back may lead down. Numbers are milliseconds of the clock where that is
 * possible, and they are reserved in the store before they are used: a commit that an import makes
 * anyway announces a number that lies ahead, and what is given out stays at or below the highest
 * one that was committed. Another process begins above that.
 *
 * Always holds: what is given out rises, and is never above what the store is known to have.
 *
 * Owner: the providers, who share them.  Thread: the ingest loop. */
#ifndef SOURCE_LEDGER_NONCES_H
#define SOURCE_LEDGER_NONCES_H

#include "record_batch.h"

#define LEDGER_NONCES_AHEAD 60000 /* requests between two commits, or a minute of the clock */

struct ledger_nonces {
    bool known; /* what the store has was read */
    int64_t last, announced, reserved;
};

/* The highest number in the store. */
extern const char ledger_nonces_sql[];
/* ... as it was answered; 0: there is none. */
void ledger_nonces_begin(struct ledger_nonces *nonces, int64_t stored);
/* A session's row that goes into the store takes a reservation with it, unless there are no nonces
 * (NULL) or it is not known where they begin; returns it, or 0. */
int64_t ledger_nonces_announce(struct ledger_nonces *nonces, int64_t now_ms, struct record *row);
/* The row is committed. */
void ledger_nonces_reserve(struct ledger_nonces *nonces, int64_t announced);
/* False: nothing is reserved that was not given out. */
bool ledger_nonces_take(struct ledger_nonces *nonces, int64_t now_ms, int64_t *nonce);

#endif
