/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_backfill.h"

#include "daemon_view.h"
#include "source/backfill.h"

#include <stdlib.h>

#define HOUR_US   INT64_C(3600000000)
#define CHANCE_US INT64_C(15000000) /* of the firehose, to be first */

struct backfill_part {
    struct part part;
    const struct part_env *env;
    struct backfill *backfill; /* NULL before it is opened */
};

static struct backfill *of(const struct part *part)
{
    return ((const struct backfill_part *)part)->backfill;
}

static struct backfill_settings settings_of(const struct config *config)
{
    return (struct backfill_settings){.page_size = (uint32_t)config->backfill.posts_per_page,
                                      .running_max = (uint32_t)config->backfill.max_concurrent,
                                      .lookback_us =
                                          config->did_manager.backfill_lookback_hours * HOUR_US,
                                      .follows = config->did_manager.backfill_enabled,
                                      .only_asked = config->bluesky.mode == CONFIG_MODE_POLLING,
                                      .polls = config->bluesky.mode != CONFIG_MODE_FIREHOSE};
}

static enum rc open_part(struct part *part, struct err *err)
{
    struct backfill_part *self = (struct backfill_part *)part;
    struct backfill_settings settings = settings_of(self->env->config);
    (void)err;
    self->backfill = backfill_new(&self->env->source, self->env->appview, &settings);
    return RC_OK;
}

static void look(struct part *part, int64_t now_us, const struct daemon_view *view)
{
    bool first = view->has_source && view->source.state != SOURCE_LIVE &&
                 view->at_us - view->started_us < CHANCE_US;
    if (!first)
        backfill_release(of(part));
    backfill_look(of(part), now_us);
}

static void heed(struct part *part, unsigned news)
{
    (void)news;
    backfill_heed(of(part));
}

static void reload(struct part *part, const struct config *fresh)
{
    struct backfill_settings settings = settings_of(fresh);
    const struct backfill_settings begun = settings_of(((struct backfill_part *)part)->env->config);
    settings.only_asked = begun.only_asked; /* another mode needs a restart */
    settings.polls = begun.polls;
    backfill_tune(of(part), &settings);
}

static void show(struct part *part, struct daemon_view *view)
{
    backfill_show(of(part), &view->backfill);
}

static void stop(struct part *part)
{
    backfill_stop(of(part));
}

static bool stopped(const struct part *part)
{
    return backfill_stopped(of(part));
}

static void free_part(struct part *part)
{
    if (of(part) != NULL)
        backfill_free(of(part));
    free(part);
}

static const struct part_ops ops = {.open = open_part,
                                    .look = look,
                                    .heed = heed,
                                    .reload = reload,
                                    .view = show,
                                    .stop = stop,
                                    .stopped = stopped,
                                    .free = free_part};

struct part *backfill_part_new(const struct part_env *env)
{
    struct backfill_part *self = memory_new_zeroed(1, sizeof *self);
    self->part.ops = &ops;
    self->env = env;
    return &self->part;
}
