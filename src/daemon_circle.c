/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_circle.h"

#include "daemon_view.h"
#include "source/circle.h"
#include "source/names.h"

#include <stdlib.h>
#include <string.h>

#define MINUTE_US INT64_C(60000000)
#define HOUR_US   (60 * MINUTE_US)

struct circle_part {
    struct part part;
    const struct part_env *env;
    struct circle *circle;
    struct names *names;
};

static struct circle *of(const struct part *part)
{
    return ((const struct circle_part *)part)->circle;
}

/* Where a poller reads everybody, a history that was queued as well would be read twice. */
static struct circle_tuning tuning_of(const struct config *config, enum config_mode mode)
{
    return (struct circle_tuning){
        .refresh_us = config->did_manager.refresh_interval_minutes * MINUTE_US,
        .backfill = config->did_manager.backfill_enabled && mode != CONFIG_MODE_POLLING,
        .lookback_us = config->did_manager.backfill_lookback_hours * HOUR_US,
    };
}

static void on_changed(void *arg)
{
    const struct part_env *env = ((struct circle_part *)arg)->env;
    env->tell(env->tell_arg, PART_NEWS_FOLLOWS | PART_NEWS_BACKFILL);
}

static enum rc load(struct part *part, struct store *store, struct err *err)
{
    return store_query(store, circle_load_sql, NULL, 0, circle_load_row, of(part), err);
}

static void start(struct part *part)
{
    circle_start(of(part));
    names_start(((struct circle_part *)part)->names);
}

static void heed(struct part *part, unsigned news)
{
    if ((news & PART_NEWS_RELOAD) != 0)
        circle_refresh(of(part));
}

static void reload(struct part *part, const struct config *fresh)
{
    const struct config *begun = ((const struct circle_part *)part)->env->config;
    struct circle_tuning tuning = tuning_of(fresh, begun->bluesky.mode); /* kept until a restart */
    circle_tune(of(part), &tuning);
}

static void stop(struct part *part)
{
    circle_stop(of(part));
    names_stop(((struct circle_part *)part)->names);
}

static bool stopped(const struct part *part)
{
    return circle_stopped(of(part)) && names_stopped(((const struct circle_part *)part)->names);
}

static void free_part(struct part *part)
{
    circle_free(of(part));
    names_free(((struct circle_part *)part)->names);
    free(part);
}

static void show(struct part *part, struct daemon_view *view)
{
    circle_look(of(part), &view->circle);
}

static const struct part_ops ops = {.load = load,
                                    .start = start,
                                    .heed = heed,
                                    .reload = reload,
                                    .view = show,
                                    .stop = stop,
                                    .stopped = stopped,
                                    .free = free_part};

struct part *circle_part_new(const struct part_env *env)
{
    const struct config *config = env->config;
    if (config->bluesky.actors.count == 0 || config->bluesky.mode == CONFIG_MODE_OFF)
        return NULL;
    struct circle_part *self = memory_new_zeroed(1, sizeof *self);
    struct circle_options options = {.actors = config->bluesky.actors.items,
                                     .actor_count = config->bluesky.actors.count,
                                     .tuning = tuning_of(config, config->bluesky.mode),
                                     .second_degree = config->bluesky.second_degree.enabled,
                                     .sources_min = config->bluesky.second_degree.sources_min,
                                     .second_max = config->bluesky.second_degree.max,
                                     .changed = on_changed,
                                     .arg = self};
    self->part.ops = &ops;
    self->env = env;
    self->circle = circle_new(&env->source, env->appview, &options);
    self->names = names_new(&env->source, env->appview);
    return &self->part;
}
