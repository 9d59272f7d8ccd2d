/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_appview.h"

#include "daemon_providers.h"
#include "daemon_view.h"
#include "sys/clock.h"

#include <stdlib.h>

#define NAME     "appview"
#define ASKS_MAX 1024

struct appview_part {
    struct part part;
    const struct part_env *env;
    struct daemon_providers providers;
    bool stopping;
};

/* Histories are asked for one request after the other. A poller is as many askers as may be under
 * way, each with that pause between its own requests. */
static struct appview_pace pace_of(const struct config *config)
{
    bool polling = config->bluesky.mode == CONFIG_MODE_POLLING;
    int64_t askers = polling ? config->backfill.max_concurrent : 1;
    return (struct appview_pace){
        .spacing_ms = (uint32_t)(config->backfill.rate_limit_ms / askers),
        .flights_max = (uint32_t)config->backfill.max_concurrent,
        .retries_max =
            (uint32_t)(polling ? config->polling.max_retries : config->backfill.max_retries),
        .backoff_ms = (uint32_t)config->polling.retry_backoff_ms,
    };
}

enum rc daemon_appview_make(const struct config *config, struct runtime *runtime,
                            struct appview **appview, struct err *err)
{
    struct appview_account account = {.pds = config->bluesky.pds,
                                      .identifier = config->bluesky.identifier,
                                      .password = secret_reveal(&config->bluesky.app_password)};
    struct appview_options options = {.account = account.password.len > 0 ? &account : NULL,
                                      .endpoints = config->bluesky.appview.items,
                                      .endpoint_count = config->bluesky.appview.count,
                                      .asks_max = ASKS_MAX,
                                      .pace = pace_of(config)};
    return appview_new(runtime, &options, appview, err);
}

static void look(struct part *part, int64_t now_us, const struct daemon_view *view)
{
    struct appview_part *self = (struct appview_part *)part;
    struct source_view shown = {0};
    struct appview_view work;
    (void)view;
    (void)now_us;
    appview_look(self->env->appview, &work);
    if (self->stopping || work.requests == 0)
        return; /* of those nobody has asked there is nothing to tell */
    appview_show(self->env->appview, &shown);
    daemon_providers_look(&self->providers, NAME, &shown, clock_wall_us(), &self->env->source);
}

static void reload(struct part *part, const struct config *fresh)
{
    struct appview_pace pace = pace_of(fresh);
    appview_tune(((struct appview_part *)part)->env->appview, &pace);
}

static void stop(struct part *part)
{
    ((struct appview_part *)part)->stopping = true;
}

static void free_part(struct part *part)
{
    free(part);
}

static void show(struct part *part, struct daemon_view *view)
{
    appview_look(((struct appview_part *)part)->env->appview, &view->appview);
}

static const struct part_ops ops = {
    .view = show, .look = look, .reload = reload, .stop = stop, .free = free_part};

struct part *appview_part_new(const struct part_env *env)
{
    struct appview_part *self = memory_new_zeroed(1, sizeof *self);
    self->part.ops = &ops;
    self->env = env;
    return &self->part;
}
