/* SPDX-License-Identifier: Apache-2.0
 *
 * outbox.h - from a loop to the writer and back.
 *
 * A batch handed in on the loop's thread goes to the writer; when it is durable (or refused for
 * good) its owner is told on the loop's thread again.
 *
 * Always holds: every batch handed in is answered exactly once, in the order of handing in.
 *
 * Owner: the daemon, one per loop.  Thread: the loop's. */
#ifndef STORE_OUTBOX_H
#define STORE_OUTBOX_H

#include "record_batch.h"

struct loop;
struct writer;
struct outbox;

/* Carries at most `batches_max` at a time. */
struct outbox *outbox_new(struct loop *loop, struct writer *writer, unsigned batches_max);
/* The writer has stopped; what it answered last is delivered now. */
void outbox_free(struct outbox *outbox);
/* RC_AGAIN when too many are under way, RC_REJECT once the writer has stopped: the caller keeps the
 * batch. */
must_check enum rc outbox_submit(struct outbox *outbox, struct batch *batch);

#endif
