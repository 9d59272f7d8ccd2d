/* SPDX-License-Identifier: Apache-2.0
 *
 * committer.h - commits what was gathered, through whatever trouble, one step at a time.
 *
 *   gathering  batches are added
 *   sending    a step writes them; RC_RETRY leads to
 *   asking     it is not known whether the last write arrived: a step reads the store's position.
 *              One more than ours: it arrived. Ours: send again. Anything else: somebody else
 *              writes here, and we are fenced (I8)
 * A step that ends well leads back to gathering. Waiting between steps is the caller's business,
 * so the same code runs on the writer's thread and on a simulated clock.
 *
 * Always holds: `position` is the last one known to be durable; batches are given out again only
 * when their fate is known.
 *
 * Owner: the writer.  Thread: the writer's. */
#ifndef STORE_COMMITTER_H
#define STORE_COMMITTER_H

#include "store/commit.h"

#define COMMITTER_DELAY_US_MIN INT64_C(1000000)
#define COMMITTER_DELAY_US_MAX INT64_C(30000000)

struct committer {
    struct store *store;
    struct store_position position;
    struct commit *commit;
    bool asking;
    int64_t delay_us_min, delay_us; /* of the first wait in a row, and of the next */
    uint64_t retries, refused;
};

void committer_init(struct committer *committer, struct store *store,
                    struct store_position position);
void committer_deinit(struct committer *committer);
/* False when the batch's records have no room: commit first. */
must_check bool committer_add(struct committer *committer, struct batch *batch);
size_t committer_gathered(const struct committer *committer);
/* Between commits: looks whether the store is there and still ours, on a new connection if the last
 * one is known to be lost. RC_RETRY: it cannot be told now, look again. RC_FATAL: it is not. */
must_check enum rc committer_look(struct committer *committer, struct err *err);
/* RC_OK: durable. RC_RETRY: step again after `wait_us`. Else: hopeless, `err` says why. */
must_check enum rc committer_step(struct committer *committer, int64_t now_us, int64_t *wait_us,
                                  struct err *err);
/* The batches gathered, whose fate is now known; or given up. */
struct batch *committer_take(struct committer *committer);

#endif
