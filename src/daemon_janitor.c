/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_janitor.h"

#include "ingest/retention.h"
#include "sys/crashpoint.h"
#include "sys/log.h"

#include <assert.h>
#include <stdlib.h>

#define MINUTE_US INT64_C(60000000)

enum stage { RESTING, DUE, ASKING, SLICE_DUE, PRUNING };

struct janitor {
    struct part part;
    const struct part_env *env;
    struct retention retention;
    int64_t interval_us, due_us; /* monotonic */
    int64_t now_us;              /* wall time of the round: every slice of it means the same */
    uint64_t slices;             /* of this round */
    enum stage stage;
    bool enabled, stopping;
    bool told; /* that it cannot clean up */
};

static void take_settings(struct janitor *janitor, const struct config *config)
{
    janitor->enabled = config->retention.enabled;
    janitor->retention = retention_of(config);
    janitor->interval_us = config->retention.cleanup_interval_minutes * MINUTE_US;
}

static int64_t mono(const struct janitor *janitor)
{
    return janitor->env->runtime->ops->mono_us(janitor->env->runtime);
}

static void rest(struct janitor *janitor)
{
    if (janitor->slices > 0)
        log_event(LOG_INFO, "janitor", "cleaned_up",
                  (struct log_field[]){log_int("slices", (int64_t)janitor->slices), LOG_END});
    janitor->slices = 0;
    janitor->stage = RESTING;
    janitor->due_us = mono(janitor) + janitor->interval_us;
}

/* Somebody wants no cleaning up any more: what is left of the round is due once it is wanted again.
 */
static void break_off(struct janitor *janitor)
{
    rest(janitor);
    janitor->due_us = mono(janitor);
}

static void complain(struct janitor *janitor, const char *reason)
{
    if (!janitor->told)
        log_event(LOG_WARN, "janitor", "not_cleaned_up",
                  (struct log_field[]){log_string("reason", reason), LOG_END});
    janitor->told = true;
    rest(janitor);
}

static void prune(struct janitor *janitor);

static void take_answer(void *arg, const struct lookup_answer *answer)
{
    struct janitor *janitor = arg;
    assert(janitor->stage == ASKING);
    if (answer->rc != RC_OK && !janitor->stopping) {
        complain(janitor, answer->err.text);
        return;
    }
    assert(janitor->stopping || (answer->rows == 1 && answer->columns == 1));
    if (janitor->stopping || answer->fields[0].i == 0) {
        rest(janitor);
        return;
    }
    if (!janitor->enabled) {
        break_off(janitor);
        return;
    }
    janitor->stage = SLICE_DUE;
    prune(janitor);
}

static void ask(struct janitor *janitor)
{
    const struct source_env *env = &janitor->env->source;
    struct field params[RETENTION_PARAMS];
    retention_left_params(&janitor->retention, janitor->now_us, params);
    if (env->ask(env->ask_arg, retention_left_sql, params, RETENTION_PARAMS, take_answer,
                 janitor) == RC_OK)
        janitor->stage = ASKING;
}

static void answered(void *arg, struct batch *batch, enum rc rc)
{
    struct janitor *janitor = arg;
    assert(janitor->stage == PRUNING);
    crashpoint(CRASH_SLICE_STORED);
    batch_give_back(batch);
    if (rc != RC_OK) {
        complain(janitor, "the writer could not commit");
        return;
    }
    janitor->told = false;
    janitor->slices++;
    janitor->stage = DUE;
    if (!janitor->enabled)
        break_off(janitor);
    else if (!janitor->stopping)
        ask(janitor);
}

static void prune(struct janitor *janitor)
{
    const struct source_env *env = &janitor->env->source;
    struct batch *batch = batch_take(env->pool);
    if (batch == NULL)
        return; /* the sources have all of them: the next look tries again */
    enum rc rc = retention_prune(&janitor->retention, batch, janitor->now_us);
    assert(rc == RC_OK);
    batch->answered = answered;
    batch->owner = janitor;
    if (env->submit(env->submit_arg, batch) == RC_OK) {
        janitor->stage = PRUNING;
        crashpoint(CRASH_SLICE_SENT);
        log_event(LOG_DEBUG, "janitor", "slice_sent", (struct log_field[]){LOG_END});
    } else {
        batch_give_back(batch);
    }
}

static void look(struct part *part, int64_t now_us, const struct daemon_view *view)
{
    struct janitor *janitor = (struct janitor *)part;
    struct runtime *runtime = janitor->env->runtime;
    (void)view;
    if (janitor->stopping)
        return;
    if (janitor->stage == RESTING && janitor->enabled && now_us >= janitor->due_us) {
        janitor->now_us = runtime->ops->wall_us(runtime);
        janitor->stage = DUE;
    }
    if (janitor->stage == DUE)
        ask(janitor);
    else if (janitor->stage == SLICE_DUE)
        prune(janitor);
}

static void reload(struct part *part, const struct config *fresh)
{
    struct janitor *janitor = (struct janitor *)part;
    take_settings(janitor, fresh);
    if (!janitor->enabled && (janitor->stage == DUE || janitor->stage == SLICE_DUE))
        break_off(janitor);
    if (janitor->stage == RESTING && janitor->due_us > mono(janitor) + janitor->interval_us)
        janitor->due_us = mono(janitor) + janitor->interval_us;
}

static void stop(struct part *part)
{
    ((struct janitor *)part)->stopping = true;
}

static bool stopped(const struct part *part)
{
    const struct janitor *janitor = (const struct janitor *)part;
    return janitor->stage != ASKING && janitor->stage != PRUNING;
}

static void free_all(struct part *part)
{
    free(part);
}

static const struct part_ops janitor_ops = {
    .look = look,
    .reload = reload,
    .stop = stop,
    .stopped = stopped,
    .free = free_all,
};

struct part *janitor_part_new(const struct part_env *env)
{
    struct janitor *janitor = memory_new_zeroed(1, sizeof *janitor);
    janitor->part.ops = &janitor_ops;
    janitor->env = env;
    take_settings(janitor, env->config);
    return &janitor->part;
}
