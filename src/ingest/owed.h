/* SPDX-License-Identifier: Apache-2.0
 *
 * owed.h - work the cursor may pass because a row remembers it.
 *
 * For every item exactly one of {stored, owed, dead} is durable before the cursor passes it. A
 * fetch that failed is put as an owed row; its retries wait 5 to 600 s, doubling, or as long within
 * that as the servers ask for. Whoever stores an item, at its first attempt or at a later one, adds
 * the `done` row to the same batch as the data, so no item is ever both. An item that two different
 * providers called hopeless is dead, with both named in the reason; people can have it tried again.
 *
 * The rows are the truth; memory holds a bounded number of them (I6). Always holds: every owed row
 * of the stream is in memory, or `more` is set: then the table is read again when memory runs low.
 * An item that has failed again makes room for those that only the table knows. What lies in a
 * batch that is not answered yet is neither tried nor forgotten.
 *
 *   (new) -put-> PUTTING -ok-> WAITING -take-> RUNNING -failed-> PUTTING ...
 *                              any -done-> ENDING -ok-> (gone)    RUNNING -failed-> ENDING, dead
 *   a batch that did not commit: its items are forgotten here and `more` is set; the rows, if
 *   there are any, are read again
 *
 * Times are those of the wall clock, since they outlive the process. One that lies further ahead
 * than any wait is long comes from before the clock was set back, and is due.
 *
 * New work goes first: retries get what it leaves, never more than a share of the places, and never
 * less than one, so that a long catch-up does not starve them.
 *
 * Owner: its source.  Thread: the owner's.  Allocates in init only, reads no clock, does no I/O. */
#ifndef INGEST_OWED_H
#define INGEST_OWED_H

#include "base/timer_heap.h"
#include "ingest/retry.h"
#include "record_batch.h"

#define OWED_ITEMS_MAX     4096 /* in memory */
#define OWED_ITEM_MAX      1024
#define OWED_UNIT_MAX      256
#define OWED_REASON_MAX    256
#define OWED_PROVIDER_MAX  64
#define OWED_REFUSALS_DEAD 2 /* so many different providers said "permanent" */
#define OWED_SHARE_PERCENT 25
#define OWED_DELAY_US_MIN  INT64_C(5000000)
#define OWED_DELAY_US_MAX  INT64_C(600000000)
#define OWED_LOAD_PARAMS   3

enum owed_place { OWED_FREE, OWED_WAITING, OWED_RUNNING, OWED_PUTTING, OWED_ENDING, OWED_GONE };

struct owed_item {
    struct timer due; /* armed while waiting */
    enum owed_place place;
    bool durable; /* its row is in the table for certain; always, while waiting or running */
    uint32_t generation, next_free;
    const struct batch *batch; /* that holds its row; NULL: none */
    struct owed_item *next_staged, *previous_staged;
    uint32_t attempts; /* failed ones; several providers asked together are one */
    int64_t next_us, since_us;
    unsigned refusal_count;
    char refused_by[OWED_REFUSALS_DEAD][OWED_PROVIDER_MAX + 1]; /* who said "permanent" */
    char reason[OWED_REASON_MAX + 1];
    char unit[OWED_UNIT_MAX + 1]; /* the unit that asked for it; may be empty */
    char item[OWED_ITEM_MAX + 1];
};

struct owed_settings {
    const char *source, *stream; /* must outlive it */
    uint32_t items_max;          /* 0: OWED_ITEMS_MAX */
    uint32_t concurrency;        /* places shared with new work */
    uint32_t share_percent;      /* of them for retries; 0: OWED_SHARE_PERCENT */
    uint64_t seed;               /* strangers choose the items: the table's hash is secret */
};

struct owed {
    struct owed_settings settings;
    struct retry_schedule schedule;
    struct owed_item *items, *staged;
    uint16_t *table; /* open addressing: index + 1, 0 free */
    uint32_t mask, count, free, running, running_max;
    struct timer_heap waiting;
    bool more;             /* the table may hold owed rows that are not here */
    bool loading, spilled; /* spilled: while loading, a row was left to the table */
    uint32_t load_rows;
    int64_t swept_us;         /* when those that wait were last held against the clock */
    uint64_t deaths, settled; /* rows made, ever */
};

/* One failed attempt. Everything is borrowed. */
struct owed_failure {
    const char *provider;
    enum retry_class class;
    const char *reason;
    int64_t retry_after_us; /* -1: not said */
};

/* The right to report on one attempt, once. */
struct owed_ticket {
    uint32_t index, generation;
};

void owed_init(struct owed *owed, const struct owed_settings *settings);
void owed_deinit(struct owed *owed);
/* Other places from now on; retries under way beyond their share are waited for. */
void owed_tune(struct owed *owed, uint32_t concurrency);

/* Reading the table, at the start and whenever `owed_wants_load`: begin, then the query with the
 * parameters over the row function, then end. Time may pass and batches may come and go between
 * begin and end; rows of items that were settled meanwhile are not believed. */
extern const char owed_load_sql[];
void owed_load_begin(struct owed *owed, struct field params[OWED_LOAD_PARAMS]);
bool owed_load_row(void *owed, const struct field *columns, size_t count);
void owed_load_end(struct owed *owed, bool succeeded);
bool owed_wants_load(const struct owed *owed);

/* All that add rows: RC_AGAIN when the batch is full or the item's fate lies in a batch that is not
 * answered yet; nothing has changed, hand the batch over and come again. */

/* New work failed at each of the providers given: one attempt, and the next one waits for the first
 * of them that may be asked again. An item that is owed already stays as it is; one that is stored
 * already must not be put. RC_REJECT: the item is empty or too long to be remembered. */
must_check enum rc owed_put(struct owed *owed, struct batch *batch, struct bytes item,
                            struct bytes unit, const struct owed_failure *failures, size_t count,
                            int64_t now_us, uint64_t random);
/* The item's data lies in this batch. Call it for everything that is stored. */
must_check enum rc owed_done(struct owed *owed, struct batch *batch, struct bytes item);
/* A retry failed. A stale ticket changes nothing and is RC_OK. */
must_check enum rc owed_failed(struct owed *owed, struct batch *batch, struct owed_ticket ticket,
                               const struct owed_failure *failure, int64_t now_us, uint64_t random);
/* Gives up on an item whatever its history; `reason` is for people. */
must_check enum rc owed_dead(struct owed *owed, struct batch *batch, struct bytes item,
                             struct bytes unit, const char *reason, int64_t now_us);
/* Has an item that the table calls dead or owed tried again at once, with a clean record. */
must_check enum rc owed_retry(struct owed *owed, struct batch *batch, struct bytes item,
                              struct bytes unit, int64_t now_us);
/* What became of a batch that rows were added to. */
void owed_answered(struct owed *owed, const struct batch *batch, enum rc rc);

/* The next retry that is due and has a place: `idle` places are free, `waiting` new fetches want
 * one. NULL: none now. The item is borrowed until it is reported. */
const struct owed_item *owed_take(struct owed *owed, uint32_t idle, uint32_t waiting,
                                  int64_t now_us, struct owed_ticket *ticket);
/* The attempt was given up without an outcome: it is due again at once. */
void owed_release(struct owed *owed, struct owed_ticket ticket, int64_t now_us);
/* When the earliest retry is due; false when none waits. Look again after OWED_DELAY_US_MAX at the
 * latest, since clocks are set. */
bool owed_next_us(const struct owed *owed, int64_t *at_us);
/* Whether asking this provider again is pointless while there are others. */
bool owed_refused_by(const struct owed_item *item, const char *provider);
/* NULL when it is not in memory. */
const struct owed_item *owed_find(const struct owed *owed, struct bytes item);

#endif
