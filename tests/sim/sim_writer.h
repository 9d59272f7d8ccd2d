/* SPDX-License-Identifier: Apache-2.0
 *
 * sim_writer.h - the writer's thread and its outbox, as events on the simulated clock.
 *
 * Gathers for at most 20 ms, commits with the real committer, waits as long as that says, and
 * answers batch after batch some time later, in order. */
#ifndef TESTS_SIM_WRITER_H
#define TESTS_SIM_WRITER_H

#include "base/timer_heap.h"
#include "store/committer.h"

struct sim_life;

#define SIM_WRITER_BATCHES_MAX 16

struct sim_writer {
    struct sim_life *life;
    struct committer committer;
    struct batch *queue[SIM_WRITER_BATCHES_MAX]; /* waiting; the first one comes next */
    unsigned queued, batches_max, under_way;
    struct batch *answers, *answers_last;
    struct timer work, answer;
    bool busy; /* gathering or settling: `work` is armed */
    bool full; /* no more is added to this commit */
    bool settling, dead;
};

void sim_writer_init(struct sim_writer *writer, struct sim_life *life,
                     struct store_position position);
/* RC_AGAIN when too many are under way. */
must_check enum rc sim_writer_submit(struct sim_writer *writer, struct batch *batch);
/* Hands every batch back unanswered for: as after a crash. */
void sim_writer_drop(struct sim_writer *writer);

#endif
