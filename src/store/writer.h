/* SPDX-License-Identifier: Apache-2.0
 *
 * writer.h - the one thread that writes the store (I8).
 *
 * Batches come over a bounded queue from both halves, are gathered until 1,000 records are there or
 * for four times as long as commits take, 20 ms at most, and are committed in one transaction: on a
 * fast disk nobody waits for a clock, on a slow one commits grow. An urgent batch is committed with
 * what is there already. What it does in trouble:
 *   busy, disk full, lost server   keeps the batches, tries again after 1 to 30 s, says so in its
 *                                  state and, once, in the log; before sending again it asks the
 *                                  store whether the last commit arrived
 *   a row the database refuses     quarantines that row, commits the rest
 *   I/O error, corruption, fenced  calls `fatal`: the process ends, a restart recovers
 * A batch may be an errand instead: something else that only the writing connection can do, done
 * between two commits, after a look whether the store is there and still ours.
 * Nothing is acknowledged before it is durable, and nothing is committed after a commit that was
 * given up: its cursors would cover what is not stored (I2).
 *
 * Owner: the daemon.  Thread: its own; submit and state are called from any. */
#ifndef STORE_WRITER_H
#define STORE_WRITER_H

#include "record_batch.h"
#include "store/store.h"

struct bell;
struct metric;

struct writer_options {
    unsigned batches_max;      /* waiting in the queue; 0: 64 */
    int64_t gather_us;         /* how long a commit is kept open; 0: as above */
    int64_t give_up_us;        /* how long a stopping writer goes on trying; 0: 5 s */
    struct metric *latency_us; /* histogram: from the wire to the commit; NULL: no one asks */
    struct bell *bell;         /* rung after every commit; NULL: none */
    int64_t retry_us_min;      /* first pause in trouble, doubled up to 30 s; 0: 1 s */
    /* Called on the writer's thread, once; afterwards every batch is answered with RC_FATAL. */
    void (*fatal)(void *arg, const struct err *err);
    void *arg;
};

/* What is shown of the writer; a copy, whole at any time. */
struct writer_state {
    struct store_position position;
    uint64_t commits, records, retries, refused;
    int64_t last_commit_us; /* wall time, 0: none yet */
    bool in_trouble;
    bool dead;
    int64_t trouble_since_us;
    char trouble[ERR_TEXT_MAX];
};

struct writer;

/* Takes over `store`, which must have been claimed at `position`. */
struct writer *writer_start(struct store *store, struct store_position position,
                            const struct writer_options *options);
/* Hands a batch over; RC_AGAIN when the queue is full: the caller keeps it. The batch's
 * `committed` is called on the writer's thread and must only pass it on. */
must_check enum rc writer_submit(struct writer *writer, struct batch *batch);
void writer_state(struct writer *writer, struct writer_state *state);
unsigned writer_queued(struct writer *writer);
/* How long a commit is kept open where one takes `pace_us`. */
int64_t writer_gather_us(int64_t pace_us);
/* What a commit takes on average, after one that took `took_us`. It counts as twice the average at
 * most: a disk or a processor that stood still once must not make the next twenty commits wait. */
int64_t writer_pace_us(int64_t pace_us, int64_t took_us);
/* Commits what is queued, ends the thread, closes the store. RC_OK: all of it is durable. Else some
 * is not, which was answered so: RC_RETRY, it was given up; RC_FATAL, the store failed. `err` says
 * why. */
enum rc writer_stop(struct writer *writer, struct err *err);

#endif
