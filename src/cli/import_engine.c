/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/import_engine.h"

#include "cli/connector_folder.h"
#include "store/outbox.h"
#include "store/writer.h"
#include "sys/clock.h"
#include "sys/network.h"
#include "sys/small_file.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BATCHES_MAX 24
#define BATCH_BYTES ((size_t)2 << 20)
#define ASKS_MAX    64
#define RUNNING_MAX 4
#define FILE_PREFIX "csv:"
#define LOOK_US     INT64_C(200000)

struct import_engine {
    struct store *store; /* until the writer owns it */
    struct store_position position;
    struct loop *loop;
    struct network *network;
    struct writer *writer;
    struct outbox *outbox;
    struct lookup *lookup;
    struct batch_pool *pool;
    struct source_env env;
    struct ledger_providers *providers;
    struct ledger_account *accounts[IMPORT_ACCOUNTS_MAX];
    size_t count, started, ended;
    struct timer look, next;
    struct import_watch watch;
    bool ready; /* the store is ours and the writer runs */
    bool interrupted;
    bool failed;
    struct err why;
};

/* ---- what the ledger is given ---- */

/* At the end an account may still be told something and want to go on: both are gone by then. */
static enum rc submit(void *arg, struct batch *batch)
{
    struct import_engine *engine = arg;
    return engine->outbox == NULL ? RC_REJECT : outbox_submit(engine->outbox, batch);
}

static enum rc ask_steadily(void *arg, const struct lookup_question *question, lookup_fn *fn,
                            void *fn_arg)
{
    struct import_engine *engine = arg;
    if (engine->lookup == NULL)
        return RC_AGAIN;
    return lookup_ask_steadily(engine->lookup, question, fn, fn_arg);
}

static void fail_stop(void *arg)
{
    struct import_engine *engine = arg;
    engine->failed = true;
    loop_stop(engine->loop);
}

/* Writer's thread. */
static void on_fatal(void *arg, const struct err *err)
{
    struct import_engine *engine = arg;
    engine->why = *err;
    if (loop_post(engine->loop, fail_stop, engine) != RC_OK)
        abort();
}

/* ---- accounts ---- */

/* One account is imported once at a time, whatever it is imported from. */
static bool may_start(const struct import_engine *engine, size_t number)
{
    struct ledger_account_view next, other;
    ledger_account_look(engine->accounts[number], &next);
    for (size_t i = 0; i < engine->started; i++) {
        ledger_account_look(engine->accounts[i], &other);
        if (other.outcome == LEDGER_UNDECIDED && strcmp(other.name, next.name) == 0)
            return false;
    }
    return engine->started - engine->ended < RUNNING_MAX && !engine->interrupted;
}

/* In a turn of its own: an account that ends is in the midst of something. */
static void start_next(void *arg)
{
    struct import_engine *engine = arg;
    bool idle = engine->started == engine->ended;
    if (idle && (engine->started == engine->count || engine->interrupted)) {
        loop_stop(engine->loop);
        return;
    }
    while (engine->started < engine->count && may_start(engine, engine->started))
        ledger_account_start(engine->accounts[engine->started++]);
}

static void on_ended(void *arg, struct ledger_account *account)
{
    struct import_engine *engine = arg;
    (void)account;
    engine->ended++;
    engine->env.runtime->ops->timer_arm(engine->env.runtime, &engine->next, 0);
}

static enum rc add_file(struct import_engine *engine, const char *path,
                        const struct ledger_account_options *options, struct err *err)
{
    struct text content = {0};
    struct ledger_file *file;
    enum rc rc = small_file_check_plain(path, err);
    if (rc == RC_OK)
        rc = small_file_read(path, LEDGER_FILE_MAX, &content, err);
    if (rc == RC_OK)
        rc = ledger_file_open(engine->providers, &content, &file, err);
    text_free(&content);
    if (rc == RC_OK)
        rc = ledger_account_new_file(&engine->env, engine->providers, file, options, on_ended,
                                     engine, &engine->accounts[engine->count], err);
    return rc == RC_OK ? RC_OK : err_wrap(err, RC_REJECT, "%s", path);
}

enum rc import_engine_add(struct import_engine *engine, const char *name,
                          const struct ledger_account_options *options, struct err *err)
{
    if (engine->count == IMPORT_ACCOUNTS_MAX)
        return err_set(err, RC_REJECT, "at most %d accounts at a time", IMPORT_ACCOUNTS_MAX);
    bool is_file = strncmp(name, FILE_PREFIX, strlen(FILE_PREFIX)) == 0;
    enum rc rc = is_file
                     ? add_file(engine, name + strlen(FILE_PREFIX), options, err)
                     : ledger_account_new(&engine->env, engine->providers, bytes_of(name), options,
                                          on_ended, engine, &engine->accounts[engine->count], err);
    engine->count += rc == RC_OK;
    return rc;
}

static void interrupt(void *arg)
{
    struct import_engine *engine = arg;
    if (engine->interrupted) {
        loop_stop(engine->loop); /* asked twice: what is stored is stored */
        return;
    }
    engine->interrupted = true;
    for (size_t i = 0; i < engine->started; i++)
        ledger_account_stop(engine->accounts[i]);
    engine->env.runtime->ops->timer_arm(engine->env.runtime, &engine->next, 0);
}

/* ---- life ---- */

static enum rc open_store(struct import_engine *engine, const struct config *config,
                          struct err *err)
{
    char holder[64];
    unsigned applied;
    enum rc rc = store_open(config->store.url, STORE_WRITE, &engine->store, err);
    if (rc == RC_OK)
        rc = store_migrate(engine->store, &applied, err);
    if (rc != RC_OK)
        return rc;
    snprintf(holder, sizeof holder, "import, pid %ld", (long)getpid());
    return store_claim(engine->store, holder, NULL, clock_wall_us(), &engine->position, err);
}

static void make(struct import_engine *engine, const struct config *config)
{
    const char *ca_file = config->fetch.ca_file;
    const struct network_options network = {.ca_file = ca_file[0] == '\0' ? NULL : ca_file,
                                            .allow_private = config->fetch.allow_private};
    const struct writer_options writer = {
        .batches_max = BATCHES_MAX * 2, .fatal = on_fatal, .arg = engine};
    engine->network = network_new(engine->loop, &network);
    engine->pool = batch_pool_new(BATCHES_MAX, BATCH_BYTES);
    engine->writer = writer_start(engine->store, engine->position, &writer);
    engine->store = NULL;
    engine->outbox = outbox_new(engine->loop, engine->writer, BATCHES_MAX);
    engine->lookup = lookup_new(engine->loop, config->store.url, ASKS_MAX);
    engine->env = (struct source_env){.runtime = loop_runtime(engine->loop),
                                      .pool = engine->pool,
                                      .submit = submit,
                                      .submit_arg = engine,
                                      .ask_steadily = ask_steadily,
                                      .ask_arg = engine};
    engine->ready = true;
}

enum rc import_engine_open(const struct config *config, struct import_engine **out, struct err *err)
{
    struct import_engine *engine = memory_new_zeroed(1, sizeof *engine);
    engine->loop = loop_new();
    engine->env.runtime = loop_runtime(engine->loop);
    engine->next = (struct timer){.fn = start_next, .arg = engine};
    /* Before anything is begun that a signal should not break off. */
    loop_on_signal(engine->loop, SIGINT, interrupt, engine);
    loop_on_signal(engine->loop, SIGTERM, interrupt, engine);
    engine->providers = ledger_providers_new();
    enum rc rc = connector_folder_read(config, engine->providers, clock_mono_us(), err);
    if (rc != RC_OK) {
        import_engine_close(engine);
        return rc;
    }
    *out = engine;
    return RC_OK;
}

enum rc import_engine_start(struct import_engine *engine, const struct config *config,
                            struct err *err)
{
    assert(!engine->ready);
    enum rc rc = open_store(engine, config, err);
    if (rc == RC_OK)
        make(engine, config);
    return rc;
}

static void look(void *arg)
{
    struct import_engine *engine = arg;
    engine->watch.look(engine->watch.arg, engine);
    engine->env.runtime->ops->timer_arm(engine->env.runtime, &engine->look, LOOK_US);
}

enum rc import_engine_run(struct import_engine *engine, const struct import_watch *watch,
                          struct err *err)
{
    assert(engine->ready);
    engine->watch = *watch;
    engine->look = (struct timer){.fn = look, .arg = engine};
    engine->env.runtime->ops->timer_arm(engine->env.runtime, &engine->next, 0);
    look(engine);
    loop_run(engine->loop);
    engine->env.runtime->ops->timer_disarm(engine->env.runtime, &engine->look);
    engine->env.runtime->ops->timer_disarm(engine->env.runtime, &engine->next);
    watch->look(watch->arg, engine);
    if (!engine->failed)
        return RC_OK;
    *err = engine->why;
    return err_wrap(err, RC_FATAL, "the store failed");
}

size_t import_engine_count(const struct import_engine *engine)
{
    return engine->count;
}

const struct ledger_account *import_engine_account(const struct import_engine *engine,
                                                   size_t number)
{
    assert(number < engine->count);
    return engine->accounts[number];
}

bool import_engine_interrupted(const struct import_engine *engine)
{
    return engine->interrupted;
}

int64_t import_engine_mono(const struct import_engine *engine)
{
    return engine->env.runtime->ops->mono_us(engine->env.runtime);
}

/* Nothing of it is there before the store is ours. */
static void unmake(struct import_engine *engine)
{
    struct err ignored; /* what it could not store was answered so */
    (void)writer_stop(engine->writer, &ignored);
    outbox_free(engine->outbox);
    engine->outbox = NULL;
    lookup_free(engine->lookup);
    engine->lookup = NULL;
}

void import_engine_close(struct import_engine *engine)
{
    store_close(engine->store);
    if (engine->ready)
        unmake(engine);
    for (size_t i = 0; i < engine->count; i++)
        ledger_account_free(engine->accounts[i]);
    if (engine->ready)
        network_free(engine->network);
    engine->env.runtime->ops->timer_disarm(engine->env.runtime, &engine->next);
    loop_free(engine->loop);
    if (engine->ready)
        batch_pool_free(engine->pool);
    ledger_providers_free(engine->providers);
    free(engine);
}
