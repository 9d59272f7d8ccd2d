/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "cli/progress.h"
#include "cli/target.h"
#include "sys/clock.h"
#include "sys/thread.h"
#include "sys/worker.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#define SECOND_US  INT64_C(1000000)
#define LOOK_US    INT64_C(200000)
#define NAME_BYTES 64 /* of a step */

static const char usage[] =
    "usage: tidemark migrate [--quiet] [-c FILE] [--set PATH=VALUE]...\n"
    "Brings the store's schema to this program's version, making the store if it is not there.\n"
    "Each step is one transaction; a store that is newer than the program is left alone. A "
    "running\n"
    "daemon has done it when it started: then the two versions are compared. While steps are "
    "applied,\n"
    "it is told how far they are.\n"
    "  --quiet           nothing but what went wrong\n"
    "Exit code: 0 done, 1 failed, 2 wrong usage.\n";

static enum rc compare_with_daemon(struct target *target, bool quiet, struct err *err)
{
    struct text reply = {0};
    struct json root;
    struct bytes kind;
    int64_t schema = 0;
    enum rc rc = target_ask(target, "GET", "/api/status", NULL, TARGET_SECONDS, NULL, &reply, err);
    if (rc == RC_OK)
        rc = target_parse(target, &reply, &root, err);
    text_free(&reply);
    if (rc != RC_OK)
        return rc;
    bool known = json_i64(json_pointer(root, "/store/schema"), &schema) &&
                 json_string(json_pointer(root, "/store/kind"), &kind);
    const struct store_ops *ops = known && bytes_equal_string(kind, store_sqlite_ops.name)
                                      ? &store_sqlite_ops
                                      : &store_postgres_ops;
    int newest = store_schema_newest(ops);
    if (!known || schema != newest)
        return err_set(err, RC_REJECT,
                       "the running daemon works with schema %" PRId64 ", this program with %d: "
                       "stop the daemon first",
                       schema, newest);
    if (!quiet)
        fprintf(stderr, "the running daemon keeps the schema at version %d: nothing to do\n",
                newest);
    return RC_OK;
}

/* ---- the steps, watched from the main thread ---- */

/* What the thread that applies them shows. */
struct standing {
    unsigned done, due;
    int64_t since_us;
    char name[NAME_BYTES];
};

struct migrating {
    struct worker_job job; /* first: the job is this */
    const char *url;
    struct latest *shown;
    struct loop *loop;
    struct timer again;
    struct progress progress;
    unsigned applied;
    int newest;
    enum rc rc;
    struct err *err;
};

static void show_step(void *arg, const struct migration *step, unsigned done, unsigned due)
{
    struct migrating *migrating = arg;
    struct standing standing = {.done = done, .due = due, .since_us = clock_mono_us()};
    snprintf(standing.name, sizeof standing.name, "%s", step->name);
    latest_put(migrating->shown, &standing);
}

static void apply(struct worker_job *job, unsigned thread)
{
    struct migrating *migrating = (struct migrating *)job;
    const struct migration_watch watch = {show_step, migrating};
    struct store *store = NULL;
    (void)thread;
    migrating->rc = store_open(migrating->url, STORE_WRITE, &store, migrating->err);
    if (migrating->rc == RC_OK) {
        migrating->newest = store_schema_newest(store->ops);
        migrating->rc = store_migrate_watched(store, &watch, &migrating->applied, migrating->err);
    }
    store_close(store);
}

static void look(void *arg)
{
    struct migrating *migrating = arg;
    struct runtime *runtime = loop_runtime(migrating->loop);
    struct standing standing;
    struct text note = {0};
    int64_t now_us = clock_mono_us();
    latest_get(migrating->shown, &standing);
    if (standing.due > 0) {
        text_appendf(&note, "%s, ", standing.name);
        progress_append_span(&note, (now_us - standing.since_us) / SECOND_US);
        progress_show(&migrating->progress, standing.done, standing.due, text_string(&note),
                      now_us);
    }
    text_free(&note);
    runtime->ops->timer_arm(runtime, &migrating->again, LOOK_US);
}

static void end(struct worker_job *job)
{
    struct migrating *migrating = (struct migrating *)job;
    struct runtime *runtime = loop_runtime(migrating->loop);
    /* A timer that is due now would still draw the last step over the end. */
    runtime->ops->timer_disarm(runtime, &migrating->again);
    if (migrating->rc == RC_OK && migrating->applied > 0)
        progress_show(&migrating->progress, migrating->applied, migrating->applied, NULL,
                      clock_mono_us());
    loop_stop(migrating->loop);
}

static enum rc migrate(struct target *target, bool quiet, struct err *err)
{
    struct migrating migrating = {.job = {.run = apply, .done = end},
                                  .url = target->settings.config.store.url,
                                  .shown = latest_new(sizeof(struct standing)),
                                  .loop = loop_new(),
                                  .err = err};
    struct runtime *runtime = loop_runtime(migrating.loop);
    struct worker_pool *pool = worker_pool_new(migrating.loop, 1, 1);
    migrating.again = (struct timer){.fn = look, .arg = &migrating};
    progress_init(&migrating.progress, "schema", (struct progress_unit){"steps", 1},
                  live_lines_possible(), quiet);
    enum rc rc = worker_submit(pool, &migrating.job);
    assert(rc == RC_OK);
    runtime->ops->timer_arm(runtime, &migrating.again, LOOK_US);
    loop_run(migrating.loop);
    worker_pool_free(pool);
    rc = migrating.rc;
    if (rc == RC_OK && !quiet)
        fprintf(stderr, "the schema is at version %d: %u step%s applied\n", migrating.newest,
                migrating.applied, migrating.applied == 1 ? "" : "s");
    progress_deinit(&migrating.progress);
    loop_free(migrating.loop);
    latest_free(migrating.shown);
    return rc;
}

/* ---- the command ---- */

int cmd_migrate(int argc, char **argv)
{
    static const struct settings_flag flags[] = {{.name = "quiet"}, {0}};
    bool quiet = false;
    const struct target_words words = {.usage = usage, .flags = flags, .arg = &quiet};
    struct target target;
    struct err err;
    int first, code;
    if (!target_begin(&target, &words, argc, argv, &first, &code))
        return code;
    enum rc rc = target_find(&target, &err);
    if (rc == RC_OK)
        rc = compare_with_daemon(&target, quiet, &err);
    else if (rc == RC_AGAIN)
        rc = migrate(&target, quiet, &err);
    code = rc == RC_OK ? EXIT_DONE : target_fail(&err);
    target_free(&target);
    return code;
}
