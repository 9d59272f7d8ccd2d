/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_collections.h"

#include "query/collections.h"
#include "store/row_schema.h"
#include "sys/batch_pool.h"
#include "sys/log.h"
#include "sys/thread.h"
#include "sys/worker.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_US INT64_C(1000000)

struct collections_part {
    struct part part;
    const struct part_env *env;
    struct row_tables tables;        /* the writer's, once it runs */
    struct collections_draft *draft; /* what the store is being grown to */
    struct collections_draft *next;  /* what was declared meanwhile */
    struct text ready;
    struct row_index index; /* being built */
    char last[ROW_TABLE_NAME_MAX];
    unsigned changes;
    bool beside;  /* indexes are built beside the writer */
    bool busy;    /* with the writer or a worker */
    bool growing; /* and it is the draft that is to be done; else the index */
    bool unsure;  /* an index has ended, and what is next could not be read */
    bool waiting; /* for the store, and that was said */
    bool stopping;
    struct timer again;
    struct worker_pool *worker;
    struct worker_job job;
    enum rc built;       /* of the last one, and ... */
    struct err err;      /* ... why not */
    struct latest *stop; /* bool: the worker is to give up */
};

static struct collections_part *of(struct part *part)
{
    return (struct collections_part *)part;
}

static void take_step(struct collections_part *self);

static void say(enum log_level level, const char *event, const char *name, const char *reason)
{
    log_event(
        level, "collections", event,
        (struct log_field[]){log_string("index", name), log_string("reason", reason), LOG_END});
}

static void try_again(struct collections_part *self)
{
    struct runtime *runtime = self->env->runtime;
    self->busy = false;
    if (!self->stopping)
        runtime->ops->timer_arm(runtime, &self->again, RETRY_US);
}

/* ---- with the store that writes ---- */

/* What can be used now, and what is to be built next. */
static enum rc look_around(struct collections_part *self, struct store *store, struct err *err)
{
    text_clear(&self->ready);
    enum rc rc = row_schema_ready(store, &self->ready, err);
    return rc == RC_OK ? row_schema_next_index(store, &self->index, err) : rc;
}

static enum rc grow(void *arg, struct store *store, struct err *err)
{
    struct collections_part *self = arg;
    size_t count;
    const struct config_collection *list = collections_draft_list(self->draft, &count);
    enum rc rc = row_schema_grow(store, list, count, &self->changes, err);
    if (rc == RC_OK) {
        row_index_free(&self->index); /* from the first on */
        rc = look_around(self, store, err);
    }
    if (rc == RC_OK)
        rc = collections_draft_teach(self->draft, store, &self->tables, err);
    return rc;
}

static enum rc look_again(void *arg, struct store *store, struct err *err)
{
    struct collections_part *self = arg;
    enum rc rc = look_around(self, store, err);
    self->unsure = rc == RC_RETRY;
    return rc;
}

static enum rc end_index(void *arg, struct store *store, struct err *err)
{
    struct collections_part *self = arg;
    enum rc rc = self->built;
    if (rc == RC_OK)
        rc = row_schema_index_done(store, &self->index, !self->beside, err);
    else
        *err = self->err;
    if (rc == RC_RETRY || rc == RC_AGAIN)
        return RC_RETRY;
    self->built = rc;
    self->err = *err;
    memcpy(self->last, self->index.name, sizeof self->last);
    return look_again(self, store, err);
}

static void install(struct collections_part *self)
{
    collections_install(self->env->collections, self->draft, text_bytes(&self->ready));
    self->draft = NULL;
    if (self->changes > 0)
        log_event(LOG_INFO, "collections", "grown",
                  (struct log_field[]){log_int("changes", self->changes), LOG_END});
}

/* ---- on the loop ---- */

static void show_index(struct collections_part *self)
{
    collections_set_ready(self->env->collections, text_bytes(&self->ready));
    if (self->built == RC_OK)
        say(LOG_INFO, "index_built", self->last, "it can be used now");
    else
        say(LOG_ERROR, "index_not_built", self->last, self->err.text);
}

static void on_answer(void *owner, struct batch *batch, enum rc rc)
{
    struct collections_part *self = owner;
    struct err err = batch->why;
    bool grew = self->growing;
    batch_give_back(batch);
    self->busy = false;
    if (rc == RC_RETRY) {
        if (!self->waiting)
            say(LOG_WARN, grew ? "declaration_waits" : "index_waits", self->index.name, err.text);
        self->waiting = true;
        try_again(self);
        return;
    }
    self->waiting = false;
    if (grew && rc == RC_OK) {
        install(self);
    } else if (grew) {
        say(LOG_ERROR, "declaration_refused", "", err.text);
        collections_draft_free(self->draft);
        self->draft = NULL;
    } else if (rc == RC_OK) {
        show_index(self);
    } else {
        say(LOG_ERROR, "indexes_not_built", self->index.name, err.text);
        row_index_free(&self->index);
    }
    take_step(self);
}

static void run_errand(struct collections_part *self, batch_errand_fn *errand)
{
    struct batch *batch = batch_take(self->env->source.pool);
    if (batch != NULL) {
        batch->errand = errand;
        batch->answered = on_answer;
        batch->owner = self;
        self->busy = true;
        if (self->env->source.submit(self->env->source.submit_arg, batch) == RC_OK)
            return;
        batch_give_back(batch);
    }
    try_again(self);
}

static bool is_stopping(void *arg)
{
    bool stop;
    latest_get(arg, &stop);
    return stop;
}

/* Worker's thread. What an earlier try left unfinished goes first. */
static void build_beside(struct worker_job *job, unsigned thread)
{
    struct collections_part *self =
        (struct collections_part *)((char *)job - offsetof(struct collections_part, job));
    struct store *store;
    struct text drop = {0};
    (void)thread;
    self->built = store_open(self->env->config->store.url, STORE_BUILD, &store, &self->err);
    if (self->built != RC_OK)
        return;
    store->patient = true;
    store->stop = is_stopping;
    store->stop_arg = self->stop;
    text_appendf(&drop, "DROP INDEX CONCURRENTLY IF EXISTS \"%s\"", self->index.name);
    self->built = store->ops->build(store, text_string(&drop), &self->err);
    if (self->built == RC_OK)
        self->built = store->ops->build(store, text_string(&self->index.build_apart), &self->err);
    text_free(&drop);
    store_close(store);
}

static void on_built(struct worker_job *job)
{
    struct collections_part *self =
        (struct collections_part *)((char *)job - offsetof(struct collections_part, job));
    self->busy = false;
    if (!self->stopping)
        run_errand(self, end_index);
}

/* A declaration goes before indexes: those it no longer names are not built. */
static void take_step(struct collections_part *self)
{
    if (self->busy || self->stopping)
        return;
    if (self->draft == NULL) {
        self->draft = self->next;
        self->next = NULL;
    }
    self->growing = self->draft != NULL;
    if (self->growing) {
        run_errand(self, grow);
    } else if (self->unsure) {
        run_errand(self, look_again);
    } else if (self->index.name[0] != '\0' && self->beside) {
        self->job = (struct worker_job){.run = build_beside, .done = on_built};
        self->busy = worker_submit(self->worker, &self->job) == RC_OK;
    } else if (self->index.name[0] != '\0') {
        self->built = RC_OK;
        run_errand(self, end_index);
    }
}

static void on_timer(void *arg)
{
    take_step(arg);
}

/* ---- as a part ---- */

static enum rc load(struct part *part, struct store *store, struct err *err)
{
    struct collections_part *self = of(part);
    const struct config *config = self->env->config;
    enum rc rc = collections_draft_new(self->env->collections, config->collections,
                                       config->collection_count, &self->draft, err);
    if (rc != RC_OK)
        return rc;
    self->beside = store->ops->build != NULL;
    rc = grow(self, store, err);
    if (rc != RC_OK)
        return rc;
    store->declared = &self->tables;
    install(self);
    return RC_OK;
}

static void start(struct part *part)
{
    struct collections_part *self = of(part);
    self->worker = worker_pool_new(self->env->loop, 1, 1);
    take_step(self);
}

static void reload(struct part *part, const struct config *fresh)
{
    struct collections_part *self = of(part);
    struct err err;
    if (self->next != NULL)
        collections_draft_free(self->next);
    if (collections_draft_new(self->env->collections, fresh->collections, fresh->collection_count,
                              &self->next, &err) != RC_OK)
        say(LOG_ERROR, "declaration_refused", "", err.text);
    take_step(self);
}

static void stop(struct part *part)
{
    struct collections_part *self = of(part);
    struct runtime *runtime = self->env->runtime;
    const bool yes = true;
    self->stopping = true;
    latest_put(self->stop, &yes);
    runtime->ops->timer_disarm(runtime, &self->again);
}

static void free_part(struct part *part)
{
    struct collections_part *self = of(part);
    struct runtime *runtime = self->env->runtime;
    self->stopping = true;
    if (self->worker != NULL) {
        runtime->ops->timer_disarm(runtime, &self->again);
        worker_pool_free(self->worker);
    }
    if (self->draft != NULL)
        collections_draft_free(self->draft);
    if (self->next != NULL)
        collections_draft_free(self->next);
    latest_free(self->stop);
    row_index_free(&self->index);
    text_free(&self->ready);
    free(self);
}

static const struct part_ops ops = {
    .load = load,
    .start = start,
    .reload = reload,
    .stop = stop,
    .free = free_part,
};

struct part *collections_part_new(const struct part_env *env)
{
    struct collections_part *self = memory_new_zeroed(1, sizeof *self);
    self->part.ops = &ops;
    self->env = env;
    self->again = (struct timer){.fn = on_timer, .arg = self};
    self->stop = latest_new(sizeof(bool));
    return &self->part;
}
