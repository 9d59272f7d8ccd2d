/* SPDX-License-Identifier: Apache-2.0
 *
 * batch_pool.h - a fixed number of batches.
 *
 * No free batch means that the source pauses: the bound on memory and the back-pressure are one
 * mechanism. Always holds: a batch is in the pool or has one owner (I6).
 *
 * Thread: taken by one thread, given back by any. */
#ifndef SYS_BATCH_POOL_H
#define SYS_BATCH_POOL_H

#include "record_batch.h"

struct batch_pool;
struct batch_pool *batch_pool_new(unsigned count, size_t arena_bytes);
void batch_pool_free(struct batch_pool *pool);
/* An empty batch, or NULL when all are out: the source pauses. */
struct batch *batch_take(struct batch_pool *pool);
/* Once; what the batch held is gone. */
void batch_give_back(struct batch *batch);
unsigned batch_pool_left(struct batch_pool *pool);

#endif
