/* SPDX-License-Identifier: Apache-2.0
 *
 * commit.h - what one transaction writes.
 *
 * Batches are gathered, their records sorted by kind, equal identities folded into one, ingest
 * numbers given; then the whole goes to the store at once. A row the database refuses is found by
 * halving, put into quarantine in the same transaction, and the rest goes on (I7). A batch whose
 * records are stored together or not at all is left out whole instead, for its owner is told.
 *
 * Always holds: records[begin[k] .. begin[k+1]) are those of kind k, none of them folded; `seq` is
 * the number this commit will have, one more than the store's last.
 *
 * Owner: the writer.  Thread: the writer's. */
#ifndef STORE_COMMIT_H
#define STORE_COMMIT_H

#include "record_batch.h"
#include "store/store.h"

#define COMMIT_RECORDS_GOAL 1000 /* a commit with this many is not held back any longer */
#define COMMIT_RECORDS_MAX  (COMMIT_RECORDS_GOAL + BATCH_RECORDS_MAX)
#define COMMIT_REFUSED_BATCHES                                                                     \
    ((COMMIT_RECORDS_MAX + BATCH_RECORDS_MAX - 1) / BATCH_RECORDS_MAX) /* room for all */

struct commit {
    struct record *records[COMMIT_RECORDS_MAX * 2]; /* room for a quarantine row each */
    size_t begin[RECORD_ID_COUNT + 1];
    int64_t epoch, seq, next_n;
    bool dry; /* find out whether the database takes it, then roll back */
    size_t gathered;
    struct batch *first, *last;
    struct batch refused[COMMIT_REFUSED_BATCHES]; /* the quarantine rows a commit makes itself */
    unsigned refused_count, refused_batches;
};

struct commit *commit_new(void);
void commit_free(struct commit *commit);
/* Takes the batch over; false when there is no room for its records. */
must_check bool commit_add(struct commit *commit, struct batch *batch);
/* Writes everything gathered on top of `position` and moves `position` on RC_OK. Codes as the
 * store's `write`, but RC_REJECT only for a row that may not be left out (a cursor). May be called
 * again with the same content after RC_RETRY, once the position was read anew. */
must_check enum rc commit_write(struct commit *commit, struct store *store,
                                struct store_position *position, int64_t now_us, struct err *err);
/* Gives up the list of gathered batches and starts empty. */
struct batch *commit_take_batches(struct commit *commit);

#endif
