/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_pictures.h"

#include "daemon_view.h"
#include "source/pictures.h"
#include "sys/thread.h"
#include "sys/thread_queue.h"

#include <assert.h>
#include <stdlib.h>

#define BATCHES  2
#define WISHES   32
#define MEBIBYTE INT64_C(1048576)

struct wish {
    int64_t link;
    struct text name, url;
};

struct pictures_part {
    struct part part;
    const struct part_env *env;
    struct batch_pool *pool; /* of its own: pictures are large */
    struct source_env source;
    struct pictures *pictures; /* NULL before it is opened */
    struct wish wishes[WISHES];
    struct queue *idle, *uttered; /* of wishes: who pops one owns it */
    struct loop_waker *waker;
    struct latest *enabled;
};

static struct pictures_settings settings_of(const struct config *config)
{
    return (struct pictures_settings){.enabled = config->page.images,
                                      .keep_bytes = config->page.images_mb * MEBIBYTE,
                                      .cdn = config->page.images_cdn};
}

/* ---- wishes ---- */

static void give_back(struct queue *queue, struct wish *wish)
{
    enum rc rc = queue_push(queue, wish);
    assert(rc == RC_OK); /* there is room for all of them */
}

static void hear(void *arg)
{
    struct pictures_part *part = arg;
    struct wish *wish;
    while ((wish = queue_pop(part->uttered, 0)) != NULL) {
        pictures_want(part->pictures, text_bytes(&wish->name), wish->link, text_bytes(&wish->url));
        give_back(part->idle, wish);
    }
}

/* Any thread. */
static bool want(void *arg, struct bytes name, int64_t link, struct bytes url)
{
    struct pictures_part *part = arg;
    struct wish *wish = queue_pop(part->idle, 0);
    if (wish == NULL)
        return false;
    wish->link = link;
    text_clear(&wish->name);
    text_append(&wish->name, name.data, name.len);
    text_clear(&wish->url);
    text_append(&wish->url, url.data, url.len);
    give_back(part->uttered, wish);
    loop_waker_wake(part->waker);
    return true;
}

/* Any thread. */
static bool enabled(void *arg)
{
    struct pictures_part *part = arg;
    bool value;
    latest_get(part->enabled, &value);
    return value;
}

struct server_pictures pictures_part_desk(struct part *part)
{
    return (struct server_pictures){.enabled = enabled, .want = want, .arg = part};
}

/* ---- its life ---- */

static enum rc open_pictures(struct part *base, struct err *err)
{
    struct pictures_part *part = (struct pictures_part *)base;
    struct pictures_settings settings = settings_of(part->env->config);
    (void)err;
    part->pool = batch_pool_new(BATCHES, PICTURE_BATCH_BYTES);
    part->source = part->env->source;
    part->source.pool = part->pool;
    part->pictures = pictures_new(&part->source, &settings);
    part->waker = loop_waker_new(part->env->loop, hear, part);
    return RC_OK;
}

static void reload(struct part *base, const struct config *fresh)
{
    struct pictures_part *part = (struct pictures_part *)base;
    struct pictures_settings settings = settings_of(fresh);
    pictures_tune(part->pictures, &settings);
    latest_put(part->enabled, &settings.enabled);
}

static void show(struct part *part, struct daemon_view *view)
{
    view->pictures = pictures_counts(((struct pictures_part *)part)->pictures);
}

static void stop(struct part *part)
{
    pictures_stop(((struct pictures_part *)part)->pictures);
}

static bool stopped(const struct part *part)
{
    return pictures_stopped(((const struct pictures_part *)part)->pictures);
}

static void free_wishes(struct pictures_part *part)
{
    while (queue_pop(part->uttered, 0) != NULL)
        ;
    while (queue_pop(part->idle, 0) != NULL)
        ;
    queue_free(part->uttered);
    queue_free(part->idle);
    for (size_t i = 0; i < WISHES; i++) {
        text_free(&part->wishes[i].name);
        text_free(&part->wishes[i].url);
    }
}

static void free_all(struct part *base)
{
    struct pictures_part *part = (struct pictures_part *)base;
    if (part->pictures != NULL) {
        pictures_free(part->pictures);
        batch_pool_free(part->pool);
        loop_waker_free(part->waker);
    }
    free_wishes(part);
    latest_free(part->enabled);
    free(part);
}

static const struct part_ops pictures_ops = {
    .open = open_pictures,
    .reload = reload,
    .view = show,
    .stop = stop,
    .stopped = stopped,
    .free = free_all,
};

bool pictures_part_is(const struct part *part)
{
    return part->ops == &pictures_ops;
}

struct part *pictures_part_new(const struct part_env *env)
{
    struct pictures_part *part = memory_new_zeroed(1, sizeof *part);
    part->part.ops = &pictures_ops;
    part->env = env;
    part->idle = queue_new(WISHES);
    part->uttered = queue_new(WISHES);
    part->enabled = latest_new(sizeof(bool));
    latest_put(part->enabled, &env->config->page.images);
    for (size_t i = 0; i < WISHES; i++)
        give_back(part->idle, &part->wishes[i]);
    return &part->part;
}
