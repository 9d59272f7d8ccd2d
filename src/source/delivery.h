/* SPDX-License-Identifier: Apache-2.0
 *
 * delivery.h - one batch at a time on its way from a source to the store.
 *
 *   idle -> held (taken, being filled) -> (waits) -> under way -> idle
 *
 * No batch to be had and a writer that takes none are waited out; whoever fills the batch never
 * has to. Every batch that was sent is told of exactly once.
 *
 * Owner: the source.  Thread: the ingest loop. */
#ifndef SOURCE_DELIVERY_H
#define SOURCE_DELIVERY_H

#include "source/source.h"

struct delivery {
    const struct source_env *env;
    void (*ready)(void *arg);           /* a batch may be had now, after there was none */
    void (*stored)(void *arg, enum rc); /* RC_OK: durable; else the program is about to end */
    void *arg;
    struct batch *batch;
    bool under_way;
    bool waits; /* it was sent, and the writer takes none now */
    struct timer again;
};

void delivery_init(struct delivery *delivery, const struct source_env *env,
                   void (*ready)(void *arg), void (*stored)(void *arg, enum rc rc), void *arg);
/* The batch to be filled; the same one until it is sent. NULL: there is none, `ready` is called. */
struct batch *delivery_take(struct delivery *delivery);
void delivery_send(struct delivery *delivery);
/* What was sent is not answered yet: nothing more may be put into it. */
static inline bool delivery_is_busy(const struct delivery *delivery)
{
    return delivery->under_way || delivery->waits;
}
/* Gives a batch that was not sent back, and waits for nothing more. */
void delivery_drop(struct delivery *delivery);

#endif
