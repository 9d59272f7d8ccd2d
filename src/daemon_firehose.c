/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_firehose.h"

#include <string.h>

#define FILE_JOBS_MAX   4
#define COLLECTIONS_MAX 100 /* as many as a host takes */
#define SECOND_US       INT64_C(1000000)

void firehose_init(struct firehose *firehose, const struct config *config, uint64_t seed)
{
    *firehose = (struct firehose){.config = config};
    follows_init(&firehose->follows, config->store.url, seed);
}

enum rc firehose_load(struct firehose *firehose, struct store *store, struct err *err)
{
    if (firehose->config->bluesky.actors.count == 0)
        return RC_OK;
    return follows_load(&firehose->follows, store, err);
}

enum rc firehose_open(struct firehose *firehose, struct loop *loop, struct bytes folder,
                      struct err *err)
{
    const struct config *config = firehose->config;
    firehose->workers = worker_pool_new(loop, 1, FILE_JOBS_MAX);
    dictionary_files_init(&firehose->dictionaries, config->jetstream.dictionary_file, folder,
                          firehose->workers);
    return cursor_file_init(&firehose->cursor_file, config->jetstream.cursor_file,
                            config->jetstream.cursor_save_interval_seconds, firehose->workers, err);
}

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

/* "" is how the configuration says "none". */
static const char *or_none(const char *address)
{
    return *address == '\0' ? NULL : address;
}

enum rc firehose_make(struct firehose *firehose, const struct source_env *env,
                      struct jetstream_options *options, struct source **source, struct err *err)
{
    const struct config *config = firehose->config;
    const char *collections[COLLECTIONS_MAX];
    options->endpoints[0] = config->jetstream.endpoint;
    options->endpoints[1] = or_none(config->jetstream.fallback_endpoint);
    options->collections = collections;
    options->collection_count = list_collections(config, collections);
    options->start_us = cursor_file_read(&firehose->cursor_file);
    options->only_followed = config->bluesky.actors.count > 0;
    options->compress = config->jetstream.compress;
    options->dictionary_v1 = text_bytes(&firehose->dictionaries.v1);
    options->dictionary_v2 = text_bytes(&firehose->dictionaries.v2);
    options->keep_dictionary = dictionary_files_keep;
    options->keep_arg = &firehose->dictionaries;
    enum rc rc = jetstream_new(env, options, source, err);
    if (rc == RC_OK && options->only_followed)
        follows_tell(&firehose->follows, *source, firehose->workers);
    return rc;
}

void firehose_look(struct firehose *firehose, int64_t committed, int64_t now_us)
{
    cursor_file_look(&firehose->cursor_file, committed, now_us);
}

void firehose_tune(struct firehose *firehose, const struct config *fresh)
{
    firehose->cursor_file.every_us = fresh->jetstream.cursor_save_interval_seconds * SECOND_US;
}

void firehose_refresh(struct firehose *firehose)
{
    follows_refresh(&firehose->follows);
}

void firehose_forget(struct firehose *firehose)
{
    cursor_file_forget(&firehose->cursor_file);
}

void firehose_stop(struct firehose *firehose)
{
    if (firehose->workers != NULL)
        worker_pool_free(firehose->workers);
    firehose->workers = NULL;
}

void firehose_close(struct firehose *firehose, int64_t committed)
{
    if (firehose->cursor_file.path != NULL)
        cursor_file_finish(&firehose->cursor_file, committed);
    dictionary_files_deinit(&firehose->dictionaries);
    follows_deinit(&firehose->follows);
}
