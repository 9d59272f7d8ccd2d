/* SPDX-License-Identifier: Apache-2.0
 *
 * watermark.h - up to where everything is done, when units of work finish out of order.
 *
 * A unit is what its source can resume at (a block, a page, a run of events). It gets the next
 * local ordinal when it is admitted; its cursor travels along as an opaque payload and is never
 * compared. Three positions, always in this order (I1):  base <= staged <= next
 *   next    the ordinal the next admitted unit gets
 *   staged  every unit below it is finished, and its cursor was handed to a transaction
 *   base    every unit below it is durable: the transaction with its cursor committed (I2)
 * next - base never exceeds the capacity (I6): a full ring is the back-pressure, and the most that
 * a restart repeats. Base moves back by an explicit undo only (I4).
 *
 * A unit counts its children down. "Finished" means: the child's row (stored, owed or dead) lies in
 * a transaction no later than the one that will carry the staged cursor. A child whose fetch failed
 * is not finished; it is fetched again or owed. A unit without children is finished at once.
 *
 * The unit that holds everything up is the oldest open one. A child of it may run only so long, and
 * less when the ring fills up behind it; then its owner owes it, and the position passes.
 *
 * Every unit carries the epoch of its admission. An undo drops units and gives their ordinals out
 * again under a new epoch, so what a dropped unit's fetch reports later is refused, while units
 * below the undo still accept theirs. No done bit is set outside of [base, next).
 *
 * Owner: its source.  Thread: the owner's.  Never reads a clock, does no I/O, allocates in init
 * only. It does not know what a cursor is, and keeps nothing over a restart. */
#ifndef INGEST_WATERMARK_H
#define INGEST_WATERMARK_H

#include "base/rc.h"

#include <stdbool.h>
#include <stdint.h>

#define WATERMARK_CAPACITY_MAX (UINT64_C(1) << 24)

/* What became of a report about a child. Only the first two changed anything. */
enum watermark_answer {
    WATERMARK_COUNTED,  /* one child less; others of the unit still run */
    WATERMARK_FINISHED, /* it was the unit's last one */
    WATERMARK_STALE,    /* the unit was dropped by an undo; its ordinal may be another's by now */
    WATERMARK_UNKNOWN,  /* never admitted, or below base: whatever it was, it is settled */
    WATERMARK_ALREADY,  /* the unit is finished, or this ticket was used before */
};

struct watermark_note; /* the part of a unit that only its owner reads */

/* How long the position waits for a child. */
struct watermark_patience {
    int64_t open_us;    /* in general */
    int64_t crowded_us; /* when its unit and those behind it fill over three quarters of the ring */
};

struct watermark {
    uint64_t base, staged, next;
    uint64_t capacity; /* a power of two */
    uint32_t epoch;
    uint64_t epoch_from; /* units at and above it were admitted in this epoch, those below before */
    uint64_t *done;      /* bit per ring slot */
    uint32_t *pending;   /* children still running */
    struct watermark_note *notes;
};

/* One child's right to report once. The caller keeps it with the fetch. */
struct watermark_ticket {
    uint64_t ord;
    uint32_t epoch;
    bool used;
};

/* `capacity` is a power of two up to WATERMARK_CAPACITY_MAX. */
void watermark_init(struct watermark *wm, uint64_t capacity);
void watermark_deinit(struct watermark *wm);

/* Admits a unit with `children` open children before any of them starts. RC_AGAIN when full: stop
 * reading. `ticket` is copied for each child. */
must_check enum rc watermark_admit(struct watermark *wm, uint32_t children, uint64_t payload,
                                   struct watermark_ticket *ticket);

/* Counts one child of the unit down. Two reports of one child while its siblings run cannot be told
 * apart here: keep a ticket per child where that can happen. */
enum watermark_answer watermark_finish(struct watermark *wm, uint64_t ord, uint32_t epoch);
/* The same, and the ticket is good for one report only. */
enum watermark_answer watermark_finish_once(struct watermark *wm, struct watermark_ticket *ticket);

/* The escape, by age or by fill: when a child that runs since `since_us` is to be owed. False: its
 * unit holds nobody up, or is not open. Ask again whenever units came or finished; once the owed
 * row lies in a transaction, the child is finished like any other. */
bool watermark_owe_at(const struct watermark *wm, const struct watermark_ticket *ticket,
                      int64_t since_us, const struct watermark_patience *patience, int64_t *at_us);

/* Raises `staged` over every finished unit that follows it without a hole; base stays. True when
 * it moved: the cursor to store is the payload of `staged - 1`. It can move only after the unit at
 * `staged` itself has finished. */
must_check bool watermark_stage(struct watermark *wm);
/* The transaction that carried the cursor of `upto - 1` committed. `epoch` is the watermark's when
 * it was staged; after an undo the answer comes too late: false, nothing changes. A committed
 * position that is already below base changes nothing either and is true. */
must_check bool watermark_commit(struct watermark *wm, uint64_t upto, uint32_t epoch);
/* The staged transaction was given up: stage says the same again. */
void watermark_unstage(struct watermark *wm);

/* Drops every unit at and above `ord` (a reorg; or base: a reconnect). Goes below base only as far
 * as the caller's own undo of the store does. What was staged is staged anew. */
void watermark_undo(struct watermark *wm, uint64_t ord);

/* The unit that holds everything up; false when none is open. */
bool watermark_oldest_unfinished(const struct watermark *wm, uint64_t *ord);

/* Of a unit in the ring. */
uint64_t watermark_payload(const struct watermark *wm, uint64_t ord);
uint32_t watermark_pending(const struct watermark *wm, uint64_t ord);
uint32_t watermark_unit_epoch(const struct watermark *wm, uint64_t ord);
/* Units received and not yet durable: how far the stored position lags. */
uint64_t watermark_lag(const struct watermark *wm);

#endif
