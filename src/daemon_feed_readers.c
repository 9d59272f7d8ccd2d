/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_feed_readers.h"

#include "daemon_gap_ender.h"
#include "daemon_view.h"
#include "source/backfill.h"
#include "source/poller.h"

#include <stdlib.h>

#define SECOND_US INT64_C(1000000)
#define MINUTE_US (60 * SECOND_US)
#define HOUR_US   (60 * MINUTE_US)
#define CHANCE_US (15 * SECOND_US) /* of the firehose, to be first */

/* Both are NULL before it is opened. */
struct feed_readers {
    struct part part;
    const struct part_env *env;
    struct backfill *backfill;
    struct poller *poller;  /* NULL also in firehose mode */
    int64_t outage_us_max;  /* of the firehose; then feeds are polled */
    struct gap_ender ender; /* at work only where there is none */
};

static struct feed_readers *of(struct part *part)
{
    return (struct feed_readers *)part;
}

/* How long posts are kept; 0: for ever. */
static int64_t kept_us(const struct config *config)
{
    return config->retention.enabled ? config->retention.window_hours * HOUR_US : 0;
}

/* Another mode needs a restart: it is told apart from what a reload brings. */
static struct backfill_settings backfill_settings(const struct part_env *env,
                                                  const struct config *config)
{
    enum config_mode mode = env->config->bluesky.mode;
    return (struct backfill_settings){.page_size = (uint32_t)config->backfill.posts_per_page,
                                      .running_max = (uint32_t)config->backfill.max_concurrent,
                                      .lookback_us =
                                          config->did_manager.backfill_lookback_hours * HOUR_US,
                                      .kept_us = kept_us(config),
                                      .follows = config->did_manager.backfill_enabled,
                                      .only_asked = mode == CONFIG_MODE_POLLING,
                                      .polls = mode != CONFIG_MODE_FIREHOSE,
                                      .hears = env->hears,
                                      .hears_arg = env->hears_arg};
}

static struct poller_settings poller_settings(const struct config *config, enum config_mode mode)
{
    return (struct poller_settings){.interval_us = config->polling.interval_minutes * MINUTE_US,
                                    .lookback_us = config->polling.initial_lookback_hours * HOUR_US,
                                    .kept_us = kept_us(config),
                                    .page_size = (uint32_t)config->polling.posts_per_page,
                                    .pages_max = (uint32_t)config->polling.max_pages_per_user,
                                    .running_max = (uint32_t)config->backfill.max_concurrent,
                                    .alone = mode == CONFIG_MODE_POLLING};
}

static enum rc open_readers(struct part *part, struct err *err)
{
    struct feed_readers *readers = of(part);
    const struct part_env *env = readers->env;
    enum config_mode mode = env->config->bluesky.mode;
    struct backfill_settings backfill = backfill_settings(env, env->config);
    struct poller_settings poller = poller_settings(env->config, mode);
    (void)err;
    readers->outage_us_max = env->config->polling.after_outage_seconds * SECOND_US;
    readers->backfill = backfill_new(&env->source, env->appview, &backfill);
    gap_ender_init(&readers->ender, env);
    if (mode != CONFIG_MODE_FIREHOSE)
        readers->poller = poller_new(&env->source, env->appview, &poller);
    return RC_OK;
}

static void look(struct part *part, int64_t now_us, const struct daemon_view *view)
{
    struct feed_readers *readers = of(part);
    bool alone = readers->env->config->bluesky.mode == CONFIG_MODE_POLLING;
    bool first = view->has_source && view->source.state != SOURCE_LIVE &&
                 view->at_us - view->started_us < CHANCE_US;
    if (!first)
        backfill_release(readers->backfill);
    backfill_look(readers->backfill, now_us);
    if (readers->poller == NULL)
        return;
    poller_allow(readers->poller, alone || view->down_us >= readers->outage_us_max,
                 alone ? 0 : view->source.committed_us);
    poller_look(readers->poller, now_us);
    if (alone)
        gap_ender_look(&readers->ender);
}

static void heed(struct part *part, unsigned news)
{
    backfill_heed(of(part)->backfill);
    if ((news & PART_NEWS_GAPS) != 0)
        gap_ender_heed(&of(part)->ender);
    if (of(part)->poller != NULL && (news & PART_NEWS_FOLLOWS) != 0)
        poller_heed(of(part)->poller);
}

static void reload(struct part *part, const struct config *fresh)
{
    struct feed_readers *readers = of(part);
    enum config_mode mode = readers->env->config->bluesky.mode;
    struct backfill_settings backfill = backfill_settings(readers->env, fresh);
    struct poller_settings poller = poller_settings(fresh, mode);
    readers->outage_us_max = fresh->polling.after_outage_seconds * SECOND_US;
    backfill_tune(readers->backfill, &backfill);
    if (readers->poller != NULL)
        poller_tune(readers->poller, &poller);
}

static void show(struct part *part, struct daemon_view *view)
{
    backfill_show(of(part)->backfill, &view->backfill);
    if (of(part)->poller != NULL)
        poller_show(of(part)->poller, &view->poller);
}

static void stop(struct part *part)
{
    if (of(part)->poller != NULL)
        poller_stop(of(part)->poller);
    backfill_stop(of(part)->backfill);
    gap_ender_stop(&of(part)->ender);
}

static bool stopped(const struct part *part)
{
    const struct feed_readers *readers = (const struct feed_readers *)part;
    return backfill_stopped(readers->backfill) && gap_ender_stopped(&readers->ender) &&
           (readers->poller == NULL || poller_stopped(readers->poller));
}

static void free_readers(struct part *part)
{
    if (of(part)->poller != NULL)
        poller_free(of(part)->poller);
    if (of(part)->backfill != NULL)
        backfill_free(of(part)->backfill);
    free(part);
}

static const struct part_ops ops = {.open = open_readers,
                                    .look = look,
                                    .heed = heed,
                                    .reload = reload,
                                    .view = show,
                                    .stop = stop,
                                    .stopped = stopped,
                                    .free = free_readers};

struct part *feed_readers_part_new(const struct part_env *env)
{
    if (env->config->bluesky.mode == CONFIG_MODE_OFF)
        return NULL;
    struct feed_readers *readers = memory_new_zeroed(1, sizeof *readers);
    readers->part.ops = &ops;
    readers->env = env;
    return &readers->part;
}
