/* SPDX-License-Identifier: Apache-2.0
 *
 * seq_wait.h - requests that must see a commit which the store has not reached yet.
 *
 * Who has just written, perhaps through another daemon, asks with `minSeq` and is let wait a moment
 * instead of being sent away: whenever something is committed, and every now and then, its work is
 * tried again. After SEQ_WAIT_US_MAX it is refused with BEHIND, and told how long was waited.
 *
 * Always holds: the number of those who wait is bounded (I6); who comes over it is refused at once.
 *
 * Owner: the server.  Thread: the serving loop. */
#ifndef SERVE_SEQ_WAIT_H
#define SERVE_SEQ_WAIT_H

#include "serve/request.h"

#define SEQ_WAIT_US_MAX INT64_C(5000000)
#define SEQ_WAITS_MAX   256

struct seq_waits;

struct seq_waits *seq_waits_new(struct runtime *runtime);
/* None waits. */
void seq_waits_free(struct seq_waits *waits);
/* Whether a request whose work came back is to wait; it is parked then. */
must_check bool seq_waits_take(struct seq_waits *waits, struct request *request);
/* The store was committed to. */
void seq_waits_note_commit(struct seq_waits *waits);
/* Those who wait are refused, and nobody waits any more. */
void seq_waits_stop(struct seq_waits *waits);

#endif
