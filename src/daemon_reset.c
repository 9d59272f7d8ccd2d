/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_reset.h"

#include "daemon_errand.h"
#include "sys/crashpoint.h"
#include "sys/log.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define LOOK_US INT64_C(20000)

struct reset {
    struct loop *loop;
    struct batch_pool *pool;
    const struct reset_ops *ops;
    void *arg;
    struct errand errand;
    struct timer look;
    char source[RESET_NAME_MAX + 1], stream[RESET_NAME_MAX + 1]; /* stream "": all */
};

static const char *or_none(const char *name)
{
    return *name == '\0' ? NULL : name;
}

static void answered(void *arg, struct batch *batch, enum rc rc)
{
    struct reset *reset = arg;
    crashpoint(CRASH_RESET_STORED);
    batch_give_back(batch);
    if (rc == RC_OK) {
        log_event(LOG_INFO, "daemon", "reset",
                  (struct log_field[]){
                      log_string("source", reset->source),
                      log_string("stream", *reset->stream == '\0' ? "*" : reset->stream), LOG_END});
        if (!reset->errand.abandoned)
            reset->ops->restart_source(reset->arg, reset->source);
    }
    reset->errand.why = (struct err){"the store did not take the reset"};
    errand_finish(&reset->errand, rc == RC_OK ? RC_OK : RC_RETRY);
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
    if (reset->ops->submit(reset->arg, batch) == RC_OK) {
        crashpoint(CRASH_RESET_SENT);
        return;
    }
    batch_give_back(batch);
    look_later(reset);
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
    errand_init(&reset->errand, loop, "reset", begin, reset);
    reset->look = (struct timer){.fn = look, .arg = reset};
    return reset;
}

void reset_abandon(struct reset *reset)
{
    struct runtime *runtime = loop_runtime(reset->loop);
    runtime->ops->timer_disarm(runtime, &reset->look);
    errand_abandon(&reset->errand);
}

void reset_free(struct reset *reset)
{
    errand_deinit(&reset->errand);
    free(reset);
}

enum rc reset_ask(struct reset *reset, const char *source, const char *stream, int64_t wait_us,
                  struct err *err)
{
    assert(source != NULL && *source != '\0');
    enum rc rc = errand_take(&reset->errand, err);
    if (rc != RC_OK)
        return rc;
    snprintf(reset->source, sizeof reset->source, "%s", source);
    snprintf(reset->stream, sizeof reset->stream, "%s", stream == NULL ? "" : stream);
    return errand_run(&reset->errand, wait_us, NULL, err);
}
