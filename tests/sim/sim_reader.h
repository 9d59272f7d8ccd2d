/* SPDX-License-Identifier: Apache-2.0
 *
 * sim_reader.h - a client that looks at the store at any moment (I5).
 *
 * It sees only what is committed: no row is newer than the last commit, and a row that has changed
 * since it looked last was changed by a commit after that. A batch that is answered for is there.
 *
 * Thread: one. */
#ifndef TESTS_SIM_READER_H
#define TESTS_SIM_READER_H

#include "base/timer_heap.h"
#include "record_batch.h"

struct commit;
struct sim_world;

struct sim_reader {
    struct timer turn;
    int64_t fence;  /* commits there were when it looked last */
    int64_t *posts; /* commits that had changed each, by then */
};

void sim_reader_init(struct sim_world *world);
void sim_reader_deinit(struct sim_world *world);
void sim_reader_look(struct sim_world *world);
void sim_reader_answered(struct sim_world *world, const struct batch *batch);
/* The bug: rows of a commit that does not come to be. */
void sim_reader_plant(struct sim_world *world, const struct commit *commit);

#endif
