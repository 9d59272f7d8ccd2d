/* SPDX-License-Identifier: Apache-2.0
 *
 * log_mover.h - moves what was committed from the store's log to its place, beside the writer.
 *
 * The writer would have to stop for that, and with it everybody who waits for a commit. Moving is
 * tried again while commits add to the log, a bounded number of times: each time less is left, and
 * the log begins anew only after it was moved whole. What this leaves undone, or cannot do, the
 * writer does in its own time, and whose trouble it meets then is told there.
 *
 * Owner: the writer.  Thread: its own. */
#ifndef STORE_LOG_MOVER_H
#define STORE_LOG_MOVER_H

struct log_mover;
struct store;

/* NULL: this kind of store needs none, or it cannot have one, which is logged. */
struct log_mover *log_mover_start(const struct store *store);
/* Moves what there is, soon. */
void log_mover_wake(struct log_mover *mover);
void log_mover_stop(struct log_mover *mover); /* NULL is allowed */

#endif
