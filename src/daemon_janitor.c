/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_janitor.h"

#include "base/timestamp.h"
#include "daemon_view.h"
#include "ingest/retention.h"
#include "sys/crashpoint.h"
#include "sys/log.h"

#include <assert.h>
#include <stdlib.h>

#define MINUTE_US INT64_C(60000000)

enum stage { RESTING, CLOCK_DUE, HEARING, DUE, ASKING, SLICE_DUE, PRUNING };

struct janitor {
    struct part part;
    const struct part_env *env;
    struct retention retention;
    int64_t interval_us, due_us; /* monotonic */
    struct retention_clock clock;
    int64_t first_position_us, first_post_us; /* as first seen: what is later is news */
    int64_t now_us;  /* the round's time: every slice of it means the same */
    uint64_t slices; /* of this round */
    enum stage stage;
    bool enabled, stopping;
    bool told;             /* that it cannot clean up */
    bool held, held_told;  /* the round's time is before the clock's; this was said */
    bool has_news, warned; /* since the start; it was said that the clock is ahead of them */
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
static void ask(struct janitor *janitor);

/* ---- what time it is ---- */

static int64_t wall(const struct janitor *janitor)
{
    return janitor->env->runtime->ops->wall_us(janitor->env->runtime);
}

/* A source that was read up to now and says another time than the clock is worth a warning; one
 * that has not spoken yet may just have been away. */
static void tell_held(struct janitor *janitor)
{
    char newest[TIMESTAMP_TEXT_MAX];
    bool warn = janitor->has_news;
    if (!janitor->held || (warn ? janitor->warned : janitor->held_told) ||
        !timestamp_format(janitor->clock.told_us, newest))
        return;
    janitor->held_told = true;
    janitor->warned = janitor->warned || warn;
    log_event(warn ? LOG_WARN : LOG_INFO, "janitor", "held_back",
              (struct log_field[]){
                  log_string("newest", newest),
                  log_string("reason", warn ? "the clock is far ahead of what the sources tell: "
                                              "what is young by their time is kept"
                                            : "nothing newer was told yet: what is young by that "
                                              "time is kept until the sources speak"),
                  LOG_END});
}

static void hear(struct janitor *janitor, int64_t told_us, int64_t *first_us)
{
    if (told_us <= 0)
        return;
    if (*first_us == 0)
        *first_us = told_us;
    janitor->has_news = janitor->has_news || told_us > *first_us;
    retention_hear(&janitor->clock, told_us, mono(janitor));
}

static void begin_round(struct janitor *janitor)
{
    int64_t wall_us = wall(janitor);
    bool bound = janitor->env->config->bluesky.mode != CONFIG_MODE_OFF;
    janitor->now_us = bound ? retention_now(&janitor->clock, wall_us, mono(janitor)) : wall_us;
    janitor->held = janitor->now_us < wall_us;
    tell_held(janitor);
    if (!janitor->held)
        janitor->held_told = janitor->warned = false;
    janitor->stage = DUE;
    ask(janitor);
}

static void take_newest(void *arg, const struct lookup_answer *answer)
{
    struct janitor *janitor = arg;
    assert(janitor->stage == HEARING);
    if (answer->rc != RC_OK && !janitor->stopping) {
        complain(janitor, answer->err.text);
        return;
    }
    if (janitor->stopping) {
        rest(janitor);
        return;
    }
    assert(answer->rows == 1 && answer->columns == 1);
    if (!answer->fields[0].null)
        hear(janitor, answer->fields[0].i, &janitor->first_post_us);
    if (!janitor->enabled)
        break_off(janitor);
    else
        begin_round(janitor);
}

static void ask_newest(struct janitor *janitor)
{
    const struct source_env *env = &janitor->env->source;
    if (env->ask(env->ask_arg, retention_newest_sql, NULL, 0, take_newest, janitor) == RC_OK)
        janitor->stage = HEARING;
}

/* What a round left because of its time is not old for long, once the sources speak again. */
static bool is_released(const struct janitor *janitor)
{
    int64_t wall_us = wall(janitor);
    return janitor->held && retention_now(&janitor->clock, wall_us, mono(janitor)) == wall_us;
}

/* ---- rounds ---- */

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
    if (janitor->stopping)
        return;
    if (view->has_source)
        hear(janitor, view->source.committed_us, &janitor->first_position_us);
    if (janitor->stage == RESTING && janitor->enabled &&
        (now_us >= janitor->due_us || is_released(janitor)))
        janitor->stage = CLOCK_DUE;
    if (janitor->stage == CLOCK_DUE)
        ask_newest(janitor);
    else if (janitor->stage == DUE)
        ask(janitor);
    else if (janitor->stage == SLICE_DUE)
        prune(janitor);
}

static void reload(struct part *part, const struct config *fresh)
{
    struct janitor *janitor = (struct janitor *)part;
    take_settings(janitor, fresh);
    if (!janitor->enabled &&
        (janitor->stage == CLOCK_DUE || janitor->stage == DUE || janitor->stage == SLICE_DUE))
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
    return janitor->stage != HEARING && janitor->stage != ASKING && janitor->stage != PRUNING;
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
