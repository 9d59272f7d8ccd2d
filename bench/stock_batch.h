/* SPDX-License-Identifier: Apache-2.0
 *
 * stock_batch.h - a stock's posts as the batches a source hands to the writer. */
#ifndef BENCH_STOCK_BATCH_H
#define BENCH_STOCK_BATCH_H

#include "post_stock.h"
#include "record_batch.h"

/* Fills an empty batch with the stock's batch number `which`, the cursor included. */
void stock_fill_batch(const struct post_stock *stock, struct batch *batch, size_t which);
/* The same posts' deletes, each with the version of its put, and the same cursor. */
void stock_fill_deletes(const struct post_stock *stock, struct batch *batch, size_t which);

#endif
