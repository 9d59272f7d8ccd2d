/* SPDX-License-Identifier: Apache-2.0 */
#include "source/backfill_progress.h"

#include "sys/log.h"

#include <assert.h>

#define ACCOUNTS_TOLD 100
#define TOLD_US       INT64_C(60000000)
#define ASK_US        INT64_C(1000000)
#define MINUTE_US     60e6

void backfill_progress_init(struct backfill_progress *progress, const struct source_env *env)
{
    *progress = (struct backfill_progress){.env = env};
}

static int64_t rate_of(const struct backfill_progress *progress)
{
    double took_us = (double)(progress->now_us - progress->began_us);
    double done = (double)(progress->done - progress->began_at);
    return took_us > 0 ? (int64_t)(done * MINUTE_US / took_us) : 0;
}

int64_t backfill_progress_per_minute(const struct backfill_progress *progress)
{
    return progress->working ? rate_of(progress) : 0;
}

static void tell(struct backfill_progress *progress, const char *what, int64_t left)
{
    uint64_t done = progress->done - progress->began_at;
    log_event(LOG_INFO, "backfill", what,
              (struct log_field[]){log_int("done", (int64_t)done), log_int("left", left),
                                   log_int("per_minute", rate_of(progress)), LOG_END});
    progress->told = true;
    progress->told_us = progress->now_us;
    progress->told_at = progress->done;
}

static bool is_due(const struct backfill_progress *progress)
{
    uint64_t fresh = progress->done - progress->told_at;
    return fresh >= ACCOUNTS_TOLD || ((fresh > 0 || progress->running > 0) &&
                                      progress->now_us - progress->told_us >= TOLD_US);
}

static void take_left(void *arg, const struct lookup_answer *answer)
{
    struct backfill_progress *progress = arg;
    progress->asking = false;
    if (answer->rc != RC_OK)
        return; /* asked again */
    assert(answer->rows == 1 && answer->columns == 1);
    int64_t left = answer->fields[0].i;
    bool over = progress->running == 0 && left == 0;
    if (over && progress->told)
        tell(progress, "finished", left);
    else if (!over && is_due(progress))
        tell(progress, "progress", left);
    progress->working = !over;
}

static void begin(struct backfill_progress *progress)
{
    progress->working = true;
    progress->told = false;
    progress->began_us = progress->told_us = progress->now_us;
    progress->began_at = progress->told_at = progress->done;
}

void backfill_progress_look(struct backfill_progress *progress, uint64_t done, unsigned running,
                            int64_t now_us)
{
    const struct source_env *env = progress->env;
    assert(done >= progress->done && now_us >= progress->now_us);
    progress->now_us = now_us;
    progress->running = running;
    if (!progress->working && (running > 0 || done > progress->done))
        begin(progress);
    progress->done = done;
    if (!progress->working || progress->asking || (running > 0 && !is_due(progress)) ||
        now_us - progress->asked_us < ASK_US)
        return;
    progress->asked_us = now_us;
    progress->asking = env->ask(env->ask_arg, "SELECT count(*) FROM backfill_queue", NULL, 0,
                                take_left, progress) == RC_OK;
}
