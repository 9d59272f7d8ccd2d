/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_reset.h"

#include "sys/log.h"
#include "sys/thread_queue.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define LOOK_US INT64_C(20000)

struct reset {
    struct loop *loop;
    struct batch_pool *pool;
    const struct reset_ops *ops;
    void *arg;
    struct queue *idle; /* holds the reset itself while none is under way: who pops it may ask */
    struct queue *outcomes;
    struct timer look;
    char source[RESET_NAME_MAX + 1], stream[RESET_NAME_MAX + 1]; /* stream "": all */
    enum rc outcome;
    bool abandoned;
};

static const char *or_none(const char *name)
{
    return *name == '\0' ? NULL : name;
}

/* The outcome is for the one who asked; when that one has left, it makes room for the next. */
static void finish(struct reset *reset, enum rc rc)
{
    reset->outcome = rc;
    enum rc pushed = queue_push(reset->outcomes, reset);
    if (pushed != RC_OK) /* closed: nobody waits any more */
        assert(reset->abandoned);
}

static void answered(void *arg, struct batch *batch, enum rc rc)
{
    struct reset *reset = arg;
    batch_give_back(batch);
    if (rc == RC_OK) {
        log_event(LOG_INFO, "daemon", "reset",
                  (struct log_field[]){
                      log_string("source", reset->source),
                      log_string("stream", *reset->stream == '\0' ? "*" : reset->stream), LOG_END});
        if (!reset->abandoned)
            reset->ops->restart_source(reset->arg, reset->source);
    }
    finish(reset, rc);
}

static void look_later(struct reset *reset)
{
    struct runtime *runtime = loop_runtime(reset->loop);
    runtime->ops->timer_arm(runtime, &reset->look, LOOK_US);
}

static void look(void *arg)
{
    struct reset *reset = arg;
    struct batch *batch = NULL;
    if (reset->ops->source_stopped(reset->arg, reset->source))
        batch = batch_take(reset->pool);
    if (batch == NULL) {
        look_later(reset);
        return;
    }
    bool fits = reset_record_add(batch, reset->source, or_none(reset->stream));
    assert(fits);
    batch->answered = answered;
    batch->owner = reset;
    if (reset->ops->submit(reset->arg, batch) != RC_OK) {
        batch_give_back(batch);
        look_later(reset);
    }
}

static void begin(void *arg)
{
    struct reset *reset = arg;
    reset->ops->stop_source(reset->arg, reset->source);
    look(reset);
}

struct reset *reset_new(struct loop *loop, struct batch_pool *pool, const struct reset_ops *ops,
                        void *arg)
{
    struct reset *reset = memory_new_zeroed(1, sizeof *reset);
    reset->loop = loop;
    reset->pool = pool;
    reset->ops = ops;
    reset->arg = arg;
    reset->idle = queue_new(1);
    reset->outcomes = queue_new(1);
    reset->look = (struct timer){.fn = look, .arg = reset};
    enum rc rc = queue_push(reset->idle, reset);
    assert(rc == RC_OK);
    return reset;
}

void reset_abandon(struct reset *reset)
{
    struct runtime *runtime = loop_runtime(reset->loop);
    reset->abandoned = true;
    runtime->ops->timer_disarm(runtime, &reset->look);
    queue_close(reset->idle);
    queue_close(reset->outcomes);
}

void reset_free(struct reset *reset)
{
    queue_pop(reset->idle, 0);
    queue_pop(reset->outcomes, 0);
    queue_free(reset->idle);
    queue_free(reset->outcomes);
    free(reset);
}

/* One that nobody waited for any more may have ended meanwhile. */
static bool take_turn(struct reset *reset)
{
    return queue_pop(reset->idle, 0) != NULL || queue_pop(reset->outcomes, 0) != NULL;
}

enum rc reset_ask(struct reset *reset, const char *source, const char *stream, int64_t wait_us,
                  struct err *err)
{
    assert(source != NULL && *source != '\0');
    if (!take_turn(reset))
        return err_set(err, RC_AGAIN, "another reset is under way");
    snprintf(reset->source, sizeof reset->source, "%s", source);
    snprintf(reset->stream, sizeof reset->stream, "%s", stream == NULL ? "" : stream);
    enum rc rc = loop_post(reset->loop, begin, reset);
    if (rc != RC_OK) {
        rc = queue_push(reset->idle, reset);
        return err_set(err, RC_AGAIN, "the daemon has no time for it");
    }
    if (queue_pop(reset->outcomes, wait_us) == NULL)
        return err_set(err, RC_RETRY,
                       queue_is_closed(reset->outcomes)
                           ? "the daemon is stopping: the reset may or may not be made"
                           : "the store is not being written now: the reset is made once it is");
    rc = reset->outcome == RC_OK ? RC_OK
                                 : err_set(err, RC_RETRY, "the store did not take the reset");
    enum rc pushed = queue_push(reset->idle, reset);
    if (pushed != RC_OK)
        assert(queue_is_closed(reset->idle));
    return rc;
}
