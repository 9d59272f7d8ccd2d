/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_gap_ender.h"

#include "sys/log.h"

#include <assert.h>

static void end_gap(void *arg)
{
    struct gap_ender *ender = arg;
    struct runtime *runtime = ender->env->runtime;
    struct batch *batch = ender->stopping ? NULL : delivery_take(&ender->delivery);
    if (batch == NULL)
        return;
    int64_t now_us = runtime->ops->wall_us(runtime);
    enum rc rc =
        gap_end(&ender->gaps, batch, ender->from_us, now_us, "its position was forgotten", now_us);
    assert(rc == RC_OK); /* two rows fit */
    log_event(LOG_WARN, "polling", "gap",
              (struct log_field[]){log_int("from_us", ender->from_us), log_int("to_us", now_us),
                                   log_string("reason", "the firehose's position was forgotten"),
                                   LOG_END});
    delivery_send(&ender->delivery);
}

static void stored(void *arg, enum rc rc)
{
    struct gap_ender *ender = arg;
    if (rc == RC_OK)
        ender->env->tell(ender->env->tell_arg, PART_NEWS_BACKFILL);
}

static void take_answer(void *arg, const struct lookup_answer *answer)
{
    struct gap_ender *ender = arg;
    ender->asking = false;
    ender->wanted |= answer->rc != RC_OK;
    if (answer->rc != RC_OK || answer->rows == 0 || answer->fields[0].null)
        return;
    ender->from_us = answer->fields[0].i;
    end_gap(ender);
}

void gap_ender_init(struct gap_ender *ender, const struct part_env *env)
{
    *ender = (struct gap_ender){.env = env, .wanted = true};
    gap_notes_init(&ender->gaps, "jetstream", "live");
    delivery_init(&ender->delivery, &env->source, end_gap, stored, ender);
}

void gap_ender_heed(struct gap_ender *ender)
{
    ender->wanted = true;
}

void gap_ender_look(struct gap_ender *ender)
{
    const struct source_env *source = &ender->env->source;
    if (!ender->wanted || ender->asking || ender->stopping || ender->delivery.batch != NULL)
        return;
    ender->asking =
        source->ask(source->ask_arg,
                    "SELECT min(from_us) FROM gaps WHERE source = 'jetstream' "
                    "AND stream = 'live' AND closed_us IS NULL AND to_us = " GAP_NO_END_SQL,
                    NULL, 0, take_answer, ender) == RC_OK;
    ender->wanted = !ender->asking;
}

void gap_ender_stop(struct gap_ender *ender)
{
    ender->stopping = true;
    delivery_drop(&ender->delivery);
}

bool gap_ender_stopped(const struct gap_ender *ender)
{
    return !ender->asking && !ender->delivery.under_way;
}
