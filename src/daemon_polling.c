/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_polling.h"

#include "daemon_view.h"

#include <stdlib.h>

#define MINUTE_US INT64_C(60000000)
#define SECOND_US INT64_C(1000000)

struct polling_part {
    struct part part;
    const struct part_env *env;
    struct poller *poller; /* NULL before it is opened */
    int64_t outage_us_max; /* of the firehose; then feeds are polled */
};

static struct poller *of(const struct part *part)
{
    return ((const struct polling_part *)part)->poller;
}

static struct poller_settings settings_of(const struct config *config)
{
    return (struct poller_settings){.interval_us = config->polling.interval_minutes * MINUTE_US,
                                    .lookback_us =
                                        config->polling.initial_lookback_hours * 60 * MINUTE_US,
                                    .page_size = (uint32_t)config->polling.posts_per_page,
                                    .pages_max = (uint32_t)config->polling.max_pages_per_user,
                                    .running_max = (uint32_t)config->backfill.max_concurrent,
                                    .alone = config->bluesky.mode == CONFIG_MODE_POLLING};
}

static enum rc open_part(struct part *part, struct err *err)
{
    struct polling_part *self = (struct polling_part *)part;
    struct poller_settings settings = settings_of(self->env->config);
    (void)err;
    self->outage_us_max = self->env->config->polling.after_outage_seconds * SECOND_US;
    self->poller = poller_new(&self->env->source, self->env->appview, &settings);
    return RC_OK;
}

static void look(struct part *part, int64_t now_us, const struct daemon_view *view)
{
    const struct polling_part *self = (struct polling_part *)part;
    bool alone = self->env->config->bluesky.mode == CONFIG_MODE_POLLING;
    poller_allow(of(part), alone || view->down_us >= self->outage_us_max,
                 alone ? 0 : view->source.committed_us);
    poller_look(of(part), now_us);
}

static void heed(struct part *part, unsigned news)
{
    if ((news & PART_NEWS_FOLLOWS) != 0)
        poller_heed(of(part));
}

static void reload(struct part *part, const struct config *fresh)
{
    struct polling_part *self = (struct polling_part *)part;
    struct poller_settings settings = settings_of(fresh);
    settings.alone = settings_of(self->env->config).alone;
    self->outage_us_max = fresh->polling.after_outage_seconds * SECOND_US;
    poller_tune(of(part), &settings);
}

static void show(struct part *part, struct daemon_view *view)
{
    poller_show(of(part), &view->poller);
}

static void stop(struct part *part)
{
    poller_stop(of(part));
}

static bool stopped(const struct part *part)
{
    return poller_stopped(of(part));
}

static void free_part(struct part *part)
{
    if (of(part) != NULL)
        poller_free(of(part));
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

struct part *polling_part_new(const struct part_env *env)
{
    if (env->config->bluesky.mode == CONFIG_MODE_FIREHOSE)
        return NULL;
    struct polling_part *self = memory_new_zeroed(1, sizeof *self);
    self->part.ops = &ops;
    self->env = env;
    return &self->part;
}
