/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_standing.h"

#include <assert.h>
#include <stdlib.h>

#define EVERY_US INT64_C(1000000)

struct standing {
    struct part part;
    const struct part_env *env;
    int64_t due_us; /* monotonic */
    bool under_way, stopping;
};

static void answered(void *arg, struct batch *batch, enum rc rc)
{
    struct standing *standing = arg;
    batch_give_back(batch);
    standing->under_way = false;
    if (rc == RC_OK)
        standing->due_us = 0; /* there may be more */
}

/* A commit that prunes nothing takes a slice along like any other. */
static void commit_slice(struct standing *standing)
{
    const struct source_env *env = &standing->env->source;
    struct batch *batch = batch_take(env->pool);
    if (batch == NULL)
        return; /* whoever has them commits */
    struct record *nothing = batch_add(batch, RECORD_PRUNE);
    assert(nothing != NULL);
    batch->answered = answered;
    batch->owner = standing;
    if (env->submit(env->submit_arg, batch) == RC_OK)
        standing->under_way = true;
    else
        batch_give_back(batch);
}

static void take_answer(void *arg, const struct lookup_answer *answer)
{
    struct standing *standing = arg;
    standing->under_way = false;
    if (answer->rc == RC_OK && answer->rows > 0 && !standing->stopping)
        commit_slice(standing);
}

static void look(struct part *part, int64_t now_us, const struct daemon_view *view)
{
    struct standing *standing = (struct standing *)part;
    const struct source_env *env = &standing->env->source;
    (void)view;
    if (standing->under_way || standing->stopping || now_us < standing->due_us)
        return;
    standing->due_us = now_us + EVERY_US;
    standing->under_way = env->ask(env->ask_arg, "SELECT actor FROM standing LIMIT 1", NULL, 0,
                                   take_answer, standing) == RC_OK;
}

static void stop(struct part *part)
{
    ((struct standing *)part)->stopping = true;
}

static bool stopped(const struct part *part)
{
    return !((const struct standing *)part)->under_way;
}

static void free_all(struct part *part)
{
    free(part);
}

static const struct part_ops standing_ops = {
    .look = look,
    .stop = stop,
    .stopped = stopped,
    .free = free_all,
};

struct part *standing_part_new(const struct part_env *env)
{
    struct standing *standing = memory_new_zeroed(1, sizeof *standing);
    standing->part.ops = &standing_ops;
    standing->env = env;
    return &standing->part;
}
