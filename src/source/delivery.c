/* SPDX-License-Identifier: Apache-2.0 */
#include "source/delivery.h"

#include <assert.h>

#define AGAIN_US INT64_C(50000)

static void on_stored(void *owner, struct batch *batch, enum rc rc)
{
    struct delivery *delivery = owner;
    assert(delivery->under_way && delivery->batch == batch);
    delivery->under_way = false;
    delivery->batch = NULL;
    batch_give_back(batch);
    delivery->stored(delivery->arg, rc);
}

/* Who asks for a batch again meanwhile waits here already: an armed timer must not be made anew. */
static void wait(struct delivery *delivery, timer_fn *fn)
{
    struct runtime *runtime = delivery->env->runtime;
    runtime->ops->timer_disarm(runtime, &delivery->again);
    delivery->again = (struct timer){.fn = fn, .arg = delivery};
    runtime->ops->timer_arm(runtime, &delivery->again, AGAIN_US);
}

static void submit(void *arg)
{
    struct delivery *delivery = arg;
    /* A writer that has stopped takes nothing any more: the batch is dropped with everything. */
    enum rc rc = delivery->env->submit(delivery->env->submit_arg, delivery->batch);
    delivery->under_way = rc == RC_OK;
    delivery->waits = rc == RC_AGAIN;
    if (rc == RC_AGAIN)
        wait(delivery, submit);
}

static void try_again(void *arg)
{
    struct delivery *delivery = arg;
    delivery->ready(delivery->arg);
}

void delivery_init(struct delivery *delivery, const struct source_env *env,
                   void (*ready)(void *arg), void (*stored)(void *arg, enum rc rc), void *arg)
{
    *delivery = (struct delivery){.env = env, .ready = ready, .stored = stored, .arg = arg};
}

struct batch *delivery_take(struct delivery *delivery)
{
    assert(!delivery->under_way);
    if (delivery->batch == NULL)
        delivery->batch = batch_take(delivery->env->pool);
    if (delivery->batch == NULL)
        wait(delivery, try_again);
    else
        delivery->env->runtime->ops->timer_disarm(delivery->env->runtime, &delivery->again);
    return delivery->batch;
}

void delivery_send(struct delivery *delivery)
{
    struct batch *batch = delivery->batch;
    assert(batch != NULL && !delivery->under_way);
    batch->answered = on_stored;
    batch->owner = delivery;
    submit(delivery);
}

void delivery_drop(struct delivery *delivery)
{
    if (delivery->under_way)
        return; /* it is answered */
    delivery->env->runtime->ops->timer_disarm(delivery->env->runtime, &delivery->again);
    if (delivery->batch != NULL)
        batch_give_back(delivery->batch);
    delivery->batch = NULL;
    delivery->waits = false;
}
