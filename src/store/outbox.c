/* SPDX-License-Identifier: Apache-2.0 */
#include "store/outbox.h"

#include "base/bytes.h"
#include "store/writer.h"
#include "sys/loop.h"
#include "sys/thread_queue.h"

#include <assert.h>
#include <stdlib.h>

struct outbox {
    struct writer *writer; /* NULL: it has stopped */
    struct loop_waker *waker;
    struct queue *answered; /* batches on their way back */
    unsigned under_way, batches_max;
};

/* Writer's thread. */
static void pass_on(void *arg, struct batch *batch, enum rc rc)
{
    struct outbox *outbox = arg;
    batch->outcome = rc;
    enum rc pushed = queue_push(outbox->answered, batch);
    assert(pushed == RC_OK);
    loop_waker_wake(outbox->waker);
}

static void deliver(void *arg)
{
    struct outbox *outbox = arg;
    for (struct batch *batch; (batch = queue_pop(outbox->answered, 0)) != NULL;) {
        assert(outbox->under_way > 0);
        outbox->under_way--;
        batch->answered(batch->owner, batch, batch->outcome);
    }
}

struct outbox *outbox_new(struct loop *loop, struct writer *writer, unsigned batches_max)
{
    assert(loop != NULL && writer != NULL && batches_max > 0);
    struct outbox *outbox = memory_new_zeroed(1, sizeof *outbox);
    outbox->writer = writer;
    outbox->batches_max = batches_max;
    outbox->answered = queue_new(batches_max);
    outbox->waker = loop_waker_new(loop, deliver, outbox);
    return outbox;
}

void outbox_free(struct outbox *outbox)
{
    outbox->writer = NULL; /* an owner that is told now may want to hand over its next one */
    deliver(outbox);
    assert(outbox->under_way == 0);
    loop_waker_free(outbox->waker);
    queue_free(outbox->answered);
    free(outbox);
}

enum rc outbox_submit(struct outbox *outbox, struct batch *batch)
{
    assert(batch->answered != NULL);
    if (outbox->writer == NULL)
        return RC_REJECT;
    if (outbox->under_way == outbox->batches_max)
        return RC_AGAIN;
    batch->committed = pass_on;
    batch->courier = outbox;
    enum rc rc = writer_submit(outbox->writer, batch);
    if (rc == RC_OK)
        outbox->under_way++;
    return rc;
}
