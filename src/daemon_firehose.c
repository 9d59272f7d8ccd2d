/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_firehose.h"

#include "daemon_cursor_file.h"
#include "daemon_dictionary.h"
#include "daemon_follows.h"
#include "daemon_providers.h"
#include "daemon_uptime.h"
#include "daemon_view.h"
#include "source/jetstream.h"
#include "sys/clock.h"
#include "sys/log.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define FILE_JOBS_MAX   4
#define COLLECTIONS_MAX 100 /* as many as a host takes */
#define SECOND_US       INT64_C(1000000)
#define RATE_US         INT64_C(2000000)

/* How many events come in a second. */
struct rate {
    double value; /* below 0: not known yet */
    int64_t since_us;
    uint64_t events; /* that had come by then */
};

struct firehose {
    struct part part;
    const struct part_env *env;
    struct worker_pool *workers; /* for files and the odd query; NULL before it is opened */
    struct cursor_file cursor_file;
    struct dictionary_files dictionaries;
    struct follows follows;
    struct text cursor;   /* as stored when this run began */
    int64_t stored_us;    /* how far that is; 0: nowhere */
    int64_t forgotten_us; /* where it stood before a reset; 0: there was none */
    struct daemon_providers providers;
    struct source_tuning tuning;
    struct source *source;
    struct source_view before; /* what sources counted that were made anew since */
    struct rate rate;
    struct uptime uptime;
    bool stopping;
};

/* ---- what the store says ---- */

static bool take_text(void *arg, const struct field *columns, size_t count)
{
    assert(count == 1);
    if (!columns[0].null)
        text_append(arg, columns[0].b.data, columns[0].b.len);
    return true;
}

static enum rc load_place(struct firehose *firehose, struct store *store, struct err *err)
{
    text_clear(&firehose->cursor);
    enum rc rc = store_query(
        store, "SELECT state FROM cursors WHERE source = 'jetstream' AND stream = 'live'", NULL, 0,
        take_text, &firehose->cursor, err);
    if (rc == RC_OK)
        rc = store_query_int(store, "SELECT min(cursor_time_us) FROM jetstream_state", 0,
                             &firehose->stored_us, err);
    if (rc == RC_OK)
        rc =
            store_query_int(store,
                            "SELECT min(from_us) FROM gaps WHERE source = 'jetstream' "
                            "AND stream = 'live' AND closed_us IS NULL AND to_us = " GAP_NO_END_SQL,
                            0, &firehose->forgotten_us, err);
    return rc;
}

static enum rc load(struct part *part, struct store *store, struct err *err)
{
    struct firehose *firehose = (struct firehose *)part;
    enum rc rc = load_place(firehose, store, err);
    if (rc == RC_OK && firehose->env->config->bluesky.actors.count > 0)
        rc = follows_load(&firehose->follows, store, err);
    return rc;
}

/* ---- the source ---- */

/* What is asked for: as configured, and what counts as sharing; an empty list is everything. */
static size_t list_collections(const struct config *config, const char *names[COLLECTIONS_MAX])
{
    const struct config_list *wanted = &config->jetstream.wanted_collections;
    size_t count = 0;
    for (size_t i = 0; i < wanted->count && count < COLLECTIONS_MAX; i++)
        names[count++] = wanted->items[i];
    for (size_t i = 0; count > 0 && i < config->bluesky.collections.count; i++) {
        bool post = strcmp(config->bluesky.collections.items[i], "post") == 0;
        const char *name = post ? "app.bsky.feed.post" : "app.bsky.feed.repost";
        bool there = count == COLLECTIONS_MAX;
        for (size_t k = 0; k < count; k++)
            there |= strcmp(names[k], name) == 0;
        if (!there)
            names[count++] = name;
    }
    return count;
}

static bool counts(const struct config *config, const char *act)
{
    for (size_t i = 0; i < config->bluesky.collections.count; i++)
        if (strcmp(config->bluesky.collections.items[i], act) == 0)
            return true;
    return false;
}

/* "" is how the configuration says "none". */
static const char *or_none(const char *address)
{
    return *address == '\0' ? NULL : address;
}

static enum rc make_source(struct firehose *firehose, struct err *err)
{
    const struct config *config = firehose->env->config;
    const char *collections[COLLECTIONS_MAX];
    struct jetstream_options options = {
        .endpoints = {config->jetstream.endpoint, or_none(config->jetstream.fallback_endpoint)},
        .reconnect_delay_seconds = firehose->tuning.reconnect_delay_seconds,
        .max_reconnect_attempts = firehose->tuning.max_reconnect_attempts,
        .collections = collections,
        .collection_count = list_collections(config, collections),
        .cursor_state = firehose->cursor.len > 0 ? text_bytes(&firehose->cursor) : BYTES_ABSENT,
        .start_us = cursor_file_begin(&firehose->cursor_file),
        .forgotten_us = firehose->forgotten_us,
        .only_followed = config->bluesky.actors.count > 0,
        .no_posts = !counts(config, "post"),
        .no_reposts = !counts(config, "repost"),
        .compress = config->jetstream.compress,
        .dictionary_v1 = text_bytes(&firehose->dictionaries.v1),
        .dictionary_v2 = text_bytes(&firehose->dictionaries.v2),
        .keep_dictionary = dictionary_files_keep,
        .keep_arg = &firehose->dictionaries,
    };
    enum rc rc = jetstream_new(&firehose->env->source, &options, &firehose->source, err);
    if (rc == RC_OK && options.only_followed)
        follows_tell(&firehose->follows, firehose->source);
    return rc;
}

static struct source_tuning tuning_of(const struct config *config)
{
    return (struct source_tuning){
        .reconnect_delay_seconds = (uint32_t)config->jetstream.reconnect_delay_seconds,
        .max_reconnect_attempts = (uint32_t)config->jetstream.max_reconnect_attempts};
}

static enum rc open_all(struct part *part, struct err *err)
{
    struct firehose *firehose = (struct firehose *)part;
    const struct config *config = firehose->env->config;
    firehose->workers = worker_pool_new(firehose->env->loop, 1, FILE_JOBS_MAX);
    firehose->tuning = tuning_of(config);
    dictionary_files_init(&firehose->dictionaries, config->jetstream.dictionary_file,
                          firehose->env->folder, firehose->workers);
    enum rc rc =
        cursor_file_init(&firehose->cursor_file, config->jetstream.cursor_file,
                         config->jetstream.cursor_save_interval_seconds, firehose->workers, err);
    if (rc != RC_OK)
        return rc;
    cursor_file_know(&firehose->cursor_file, firehose->stored_us);
    return make_source(firehose, err);
}

static void start(struct part *part)
{
    struct firehose *firehose = (struct firehose *)part;
    firehose->source->ops->start(firehose->source);
}

/* ---- while it runs ---- */

/* A source counts from its own beginning; people see what was counted since the start. */
static void view_source(const struct firehose *firehose, struct source_view *view)
{
    const struct source_view *before = &firehose->before;
    firehose->source->ops->view(firehose->source, view);
    view->events += before->events;
    view->records += before->records;
    view->rejected += before->rejected;
    view->reconnects += before->reconnects;
    view->bytes += before->bytes;
    view->filtered += before->filtered;
    view->left_out += before->left_out;
    view->ahead += before->ahead;
}

static void measure(struct rate *rate, uint64_t events, int64_t now_us)
{
    if (now_us - rate->since_us < RATE_US)
        return;
    if (rate->since_us > 0 && events >= rate->events)
        rate->value = (double)(events - rate->events) * 1e6 / (double)(now_us - rate->since_us);
    rate->since_us = now_us;
    rate->events = events;
}

static void look(struct part *part, int64_t now_us, const struct daemon_view *view)
{
    struct firehose *firehose = (struct firehose *)part;
    struct source_view shown = {0};
    (void)view;
    view_source(firehose, &shown);
    measure(&firehose->rate, shown.events, now_us);
    uptime_tell(&firehose->uptime, shown.state == SOURCE_LIVE, shown.bytes, now_us);
    if (firehose->stopping)
        return;
    cursor_file_look(&firehose->cursor_file, shown.committed_us, now_us);
    daemon_providers_look(&firehose->providers, firehose->source->ops->name, &shown,
                          clock_wall_us(), &firehose->env->source);
}

static void show(struct part *part, struct daemon_view *view)
{
    struct firehose *firehose = (struct firehose *)part;
    if (firehose->source == NULL)
        return;
    view->has_source = true;
    view->source_name = firehose->source->ops->name;
    view->rate = firehose->rate.value;
    view->connected_percent = uptime_percent(&firehose->uptime);
    view->down_us = uptime_down_us(&firehose->uptime, clock_mono_us());
    view->day_bytes = uptime_day_bytes(&firehose->uptime);
    view->everybody = firehose->env->config->bluesky.actors.count == 0;
    view_source(firehose, &view->source);
}

static void heed(struct part *part, unsigned news)
{
    struct firehose *firehose = (struct firehose *)part;
    if ((news & (PART_NEWS_FOLLOWS | PART_NEWS_RELOAD)) != 0)
        follows_refresh(&firehose->follows);
}

static bool hears(struct part *part, struct bytes did)
{
    struct firehose *firehose = (struct firehose *)part;
    if (firehose->source == NULL || firehose->stopping)
        return false;
    bool heard = jetstream_hears(firehose->source, did);
    if (!heard)
        follows_expect(&firehose->follows, did);
    return heard;
}

static void reload(struct part *part, const struct config *fresh)
{
    struct firehose *firehose = (struct firehose *)part;
    firehose->tuning = tuning_of(fresh);
    firehose->source->ops->tune(firehose->source, &firehose->tuning);
    firehose->cursor_file.every_us = fresh->jetstream.cursor_save_interval_seconds * SECOND_US;
}

/* ---- stopping ---- */

static void stop(struct part *part)
{
    struct firehose *firehose = (struct firehose *)part;
    if (!firehose->stopping && firehose->source != NULL) /* NULL: it could not be restarted */
        firehose->source->ops->stop(firehose->source);
    firehose->stopping = true;
}

static bool stopped(const struct part *part)
{
    const struct firehose *firehose = (const struct firehose *)part;
    if (firehose->source != NULL && !firehose->source->ops->stopped(firehose->source))
        return false;
    /* A position on its way into the file would outlive a reset. */
    if (!firehose->cursor_file.writing)
        return true;
    log_event_limited(LOG_DEBUG, "jetstream", "cursor_file_awaited", (struct log_field[]){LOG_END});
    return false;
}

static enum rc restart(struct part *part, struct err *err)
{
    struct firehose *firehose = (struct firehose *)part;
    struct source_view counted = {0};
    struct store *store = NULL;
    view_source(firehose, &counted);
    firehose->before = counted;
    firehose->source->ops->free(firehose->source);
    firehose->source = firehose->follows.source = NULL;
    firehose->stopping = false;
    firehose->rate = (struct rate){.value = -1};
    cursor_file_forget(&firehose->cursor_file);
    /* Nothing is followed now, so the loop may wait for the store. */
    enum rc rc = store_open(firehose->env->config->store.url, STORE_READ, &store, err);
    if (rc == RC_OK)
        rc = load_place(firehose, store, err);
    if (store != NULL)
        store_close(store);
    if (rc == RC_OK)
        rc = make_source(firehose, err);
    if (rc == RC_OK)
        start(part);
    return rc;
}

/* What was committed is down: the last word goes into the file. */
static void free_all(struct part *part)
{
    struct firehose *firehose = (struct firehose *)part;
    struct source_view view = {0};
    if (firehose->workers != NULL)
        worker_pool_free(firehose->workers);
    if (firehose->source != NULL) {
        firehose->source->ops->view(firehose->source, &view);
        firehose->source->ops->free(firehose->source);
    }
    if (firehose->cursor_file.path != NULL)
        cursor_file_finish(&firehose->cursor_file, view.committed_us);
    dictionary_files_deinit(&firehose->dictionaries);
    follows_deinit(&firehose->follows);
    text_free(&firehose->cursor);
    free(firehose);
}

enum rc firehose_part_hand_in(struct part *part, struct bytes message, struct batch *batch,
                              struct err *err)
{
    struct firehose *firehose = (struct firehose *)part;
    if (firehose->source == NULL || firehose->stopping)
        return err_set(err, RC_RETRY, "the firehose is being stopped: try again");
    return jetstream_hand_in(firehose->source, message, batch, err);
}

static const struct part_ops firehose_ops = {
    .load = load,
    .open = open_all,
    .start = start,
    .look = look,
    .heed = heed,
    .hears = hears,
    .reload = reload,
    .view = show,
    .stop = stop,
    .stopped = stopped,
    .free = free_all,
    .source = "jetstream",
    .restart = restart,
};

struct part *firehose_part_new(const struct part_env *env)
{
    if (!config_has_firehose(env->config))
        return NULL;
    struct firehose *firehose = memory_new_zeroed(1, sizeof *firehose);
    firehose->part.ops = &firehose_ops;
    firehose->env = env;
    firehose->rate.value = -1;
    follows_init(&firehose->follows, &env->source, env->runtime->ops->random(env->runtime));
    return &firehose->part;
}
