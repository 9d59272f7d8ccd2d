/* SPDX-License-Identifier: Apache-2.0
 *
 * record_batch.h - records that travel together, with the cursors they bring forward.
 *
 * The batch is the unit of ownership: who holds the pointer owns it. It comes from a fixed pool, so
 * the number of batches is the bound on memory (I6).
 *
 * Always holds: every byte a record points at lies in its own batch's arena; a batch's cursor rows
 * cover nothing but records of this batch and of batches handed over before it (I2).
 *
 * Owner: one thread at a time; it changes hands over queues only. */
#ifndef RECORD_BATCH_H
#define RECORD_BATCH_H

#include "record.h"

struct batch;
struct store;
typedef void batch_fn(void *arg, struct batch *batch, enum rc rc);
/* Done in place of storing records, between two commits, with the one connection that writes. */
typedef enum rc batch_errand_fn(void *arg, struct store *store, struct err *err);

struct batch {
    struct batch *next; /* in a queue */
    struct arena arena;
    struct record *first[RECORD_ID_COUNT], *last[RECORD_ID_COUNT];
    uint32_t record_count;
    uint32_t kept_free;  /* places that no record takes for now */
    int64_t received_us; /* wall time its first record came off the wire; 0: it is not timed */
    /* RC_OK: durable. Else it is not, and its cursors stand where they stood. */
    batch_fn *answered; /* the owner's, called on the owner's thread */
    void *owner;
    uint64_t ticket;     /* the owner's marks: which unit this finishes */
    uint32_t epoch;      /* and in which epoch it was admitted */
    batch_fn *committed; /* the courier's, called on the writer's thread; only passes it on */
    void *courier;
    enum rc outcome;         /* on its way back */
    bool urgent;             /* somebody waits: its commit does not wait for more batches */
    bool together;           /* all of its records are stored, or none and it is RC_REJECT */
    bool refused;            /* none is, and ... */
    struct err why;          /* ... this is why */
    int64_t seq;             /* of the commit that stored it */
    batch_errand_fn *errand; /* NULL: it carries records; its argument is `owner` */
    struct batch_pool *pool;
};

#define BATCH_RECORDS_MAX 1000

/* Adds a record of `id` with all fields null; NULL when the batch is full. */
struct record *batch_add(struct batch *batch, enum record_id id);
/* The same for a row whose columns have these types. */
struct record *batch_add_row(struct batch *batch, const enum field_type *columns,
                             unsigned column_count);
/* Sets a field to a copy of `value` inside the batch; false when the batch is full. */
must_check bool batch_set_text(struct batch *batch, struct record *record, unsigned field,
                               struct bytes value);
void batch_set_int(struct record *record, unsigned field, int64_t value);
/* Takes the record added last out again: for one that turned out not to fit. */
void batch_drop_last(struct batch *batch, struct record *record);

/* How far a batch was filled: for several records of which all fit or none is added. */
struct batch_mark {
    size_t used;
};
static inline struct batch_mark batch_mark(const struct batch *batch)
{
    return (struct batch_mark){batch->arena.used};
}
/* Takes out all that was added since `mark`. */
void batch_undo(struct batch *batch, struct batch_mark mark);

#endif
