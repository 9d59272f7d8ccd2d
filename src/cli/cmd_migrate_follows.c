/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "base/json_write.h"
#include "cli/account_lookup.h"
#include "cli/progress.h"
#include "cli/target.h"
#include "source/feed_rows.h"
#include "store/commit.h"
#include "sys/batch_pool.h"
#include "sys/clock.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_BYTES ((size_t)512 << 10)
#define HOUR_US     INT64_C(3600000000)
#define OWNER       "poll_state" /* whose list the migrated follows are, until ours were read */

static const char usage[] =
    "usage: tidemark migrate-follows [--rollback | --truncate] [--json] [-c FILE]\n"
    "                                [--set PATH=VALUE]...\n"
    "Moves from polling to the firehose, and back; no daemon may run meanwhile. Without a flag "
    "every\n"
    "handle in poll_state becomes a row of follows: its account is asked of the AppView, 25 at a "
    "time.\n"
    "poll_state stays as it is, and what nobody knows is named. The lists of bluesky.actors take "
    "over\n"
    "when the daemon has read them.\n"
    "  --rollback   every row of follows gets its row in poll_state, with the position that is "
    "known\n"
    "  --truncate   empties poll_state, once bluesky.mode is firehose\n"
    "  --json       the outcome as one JSON object\n"
    "Exit code: 0 done, 1 failed, 2 wrong usage.\n";

struct choice {
    bool rollback, truncate, json;
};

struct names {
    struct account_name *items;
    size_t count, cap;
};

/* ---- what is stored ---- */

static char *copy(const struct field *field)
{
    if (field->null)
        return NULL;
    char *text = memory_new(field->b.len + 1);
    memcpy(text, field->b.data, field->b.len);
    text[field->b.len] = '\0';
    return text;
}

static bool take_name(void *arg, const struct field *columns, size_t count)
{
    struct names *names = arg;
    assert(count == 3);
    if (names->count == names->cap) {
        names->cap = names->cap == 0 ? 64 : names->cap * 2;
        names->items = memory_resize(names->items, names->cap * sizeof *names->items);
    }
    names->items[names->count++] =
        (struct account_name){copy(&columns[0]), copy(&columns[1]), copy(&columns[2])};
    return true;
}

static void free_names(struct names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        free(names->items[i].handle);
        free(names->items[i].did);
        free(names->items[i].display_name);
    }
    free(names->items);
}

/* ---- writing ---- */

struct writing {
    struct target *target;
    struct store_position position;
    struct commit *commit;
    struct batch_pool *pool;
    struct batch *batch;
    int64_t now_us;
    struct err *err;
};

static enum rc begin(struct writing *writing, struct target *target, struct err *err)
{
    *writing = (struct writing){.target = target, .now_us = clock_wall_us(), .err = err};
    enum rc rc = target_claim(target, &writing->position, err);
    writing->commit = commit_new();
    writing->pool = batch_pool_new(1, BATCH_BYTES);
    writing->batch = batch_take(writing->pool);
    return rc;
}

static enum rc write_out(struct writing *writing)
{
    bool fits = commit_add(writing->commit, writing->batch);
    assert(fits);
    enum rc rc = commit_write(writing->commit, writing->target->store, &writing->position,
                              writing->now_us, writing->err);
    commit_take_batches(writing->commit);
    batch_give_back(writing->batch);
    writing->batch = batch_take(writing->pool);
    return rc;
}

static void finish(struct writing *writing)
{
    batch_give_back(writing->batch);
    commit_free(writing->commit);
    batch_pool_free(writing->pool);
}

/* ---- from polling to the firehose ---- */

static bool add_follow(struct writing *writing, const struct account_name *name)
{
    struct batch *batch = writing->batch;
    struct batch_mark mark = batch_mark(batch);
    struct record *record = batch_add(batch, RECORD_FOLLOW);
    bool whole = record != NULL && batch_set_text(batch, record, FOLLOW_OWNER, bytes_of(OWNER)) &&
                 batch_set_text(batch, record, FOLLOW_DID, bytes_of(name->did)) &&
                 batch_set_text(batch, record, FOLLOW_HANDLE, bytes_of(name->handle)) &&
                 batch_set_text(batch, record, FOLLOW_DISPLAY_NAME, bytes_of(name->display_name));
    if (whole)
        batch_set_int(record, FOLLOW_LISTING, writing->now_us);
    else
        batch_undo(batch, mark);
    return whole;
}

static enum rc add_end(struct writing *writing, const struct config *config, int64_t entries)
{
    struct batch *batch = writing->batch;
    struct record *record = batch_add(batch, RECORD_LISTING);
    assert(record != NULL);
    batch_set_int(record, LISTING_ID, writing->now_us);
    batch_set_int(record, LISTING_AT_US, writing->now_us);
    batch_set_int(record, LISTING_DEGREE, 1);
    batch_set_int(record, LISTING_ENTRIES, entries);
    batch_set_int(record, LISTING_ACTORS, INT64_MAX); /* it takes nobody away */
    batch_set_int(record, LISTING_PRIORITY, BACKFILL_FOR_START);
    if (config->did_manager.backfill_enabled)
        batch_set_int(record, LISTING_SINCE_US,
                      writing->now_us - config->did_manager.backfill_lookback_hours * HOUR_US);
    bool whole = batch_set_text(batch, record, LISTING_OWNER, bytes_of(OWNER)) &&
                 batch_set_text(batch, record, LISTING_ACTOR, bytes_of(OWNER));
    assert(whole);
    return write_out(writing);
}

static int compare_dids(const void *a, const void *b)
{
    const char *x = ((const struct account_name *)a)->did,
               *y = ((const struct account_name *)b)->did;
    return strcmp(x == NULL ? "" : x, y == NULL ? "" : y);
}

/* Two handles of one account are one line. */
static enum rc write_follows(struct writing *writing, struct names *names)
{
    int64_t entries = 0;
    enum rc rc = RC_OK;
    qsort(names->items, names->count, sizeof *names->items, compare_dids);
    for (size_t i = 0; i < names->count && rc == RC_OK; i++) {
        const struct account_name *name = &names->items[i];
        if (name->did == NULL || (i > 0 && compare_dids(name, name - 1) == 0))
            continue;
        entries++;
        if (!add_follow(writing, name)) {
            rc = write_out(writing);
            bool fits = rc != RC_OK || add_follow(writing, name);
            assert(fits);
        }
    }
    if (rc == RC_OK)
        rc = write_out(writing);
    return rc == RC_OK ? add_end(writing, &writing->target->settings.config, entries) : rc;
}

static int report(const struct names *names, const char *what, bool json)
{
    struct text out = {0};
    struct json_writer writer;
    size_t known = 0;
    for (size_t i = 0; i < names->count; i++)
        known += names->items[i].did != NULL;
    json_writer_init(&writer, &out);
    json_begin_object(&writer);
    json_key(&writer, what);
    json_put_u64(&writer, known);
    json_key(&writer, "unresolved");
    json_begin_array(&writer);
    for (size_t i = 0; i < names->count; i++) {
        if (names->items[i].did != NULL)
            continue;
        json_put_cstring(&writer, names->items[i].handle);
        if (!json)
            fprintf(stderr, "nobody is called %s: it stays in poll_state only\n",
                    names->items[i].handle);
    }
    json_end_array(&writer);
    json_end_object(&writer);
    text_append_char(&out, '\n');
    if (!json)
        fprintf(stderr, "%s: %zu of %zu\n", what, known, names->count);
    int code = json ? target_put(&out) : EXIT_DONE;
    text_free(&out);
    return code;
}

static void show_lookup(void *arg, size_t done, size_t count)
{
    if (count > 0)
        progress_show(arg, (int64_t)done, (int64_t)count, NULL, clock_mono_us());
}

static enum rc look_up(struct target *target, struct names *names, bool quiet, struct err *err)
{
    struct progress progress;
    progress_init(&progress, "accounts", (struct progress_unit){"handles", 1},
                  live_lines_possible(), quiet);
    enum rc rc = account_lookup(&target->settings.config, names->items, names->count, show_lookup,
                                &progress, err);
    progress_deinit(&progress);
    return rc;
}

static enum rc migrate(struct target *target, struct names *names, bool quiet, struct err *err)
{
    struct writing writing;
    enum rc rc = store_query(target->store,
                             "SELECT coalesce(f.handle, p.user_handle), f.did, f.display_name "
                             "FROM poll_state p "
                             "LEFT JOIN follows f ON " FEED_NAME_SQL " = p.user_handle ORDER BY 1",
                             NULL, 0, take_name, names, err);
    if (rc == RC_OK)
        rc = look_up(target, names, quiet, err);
    if (rc != RC_OK)
        return rc;
    rc = begin(&writing, target, err);
    if (rc == RC_OK)
        rc = write_follows(&writing, names);
    finish(&writing);
    return rc;
}

/* ---- and back ---- */

struct rollback {
    struct writing writing;
    struct names names; /* display_name holds the newest post's time */
    int64_t gap_us;     /* what comes after it may be incomplete; 0: nothing is */
};

static enum rc write_polls(struct rollback *rollback)
{
    struct writing *writing = &rollback->writing;
    enum rc rc = RC_OK;
    for (size_t i = 0; i < rollback->names.count && rc == RC_OK; i++) {
        const struct account_name *name = &rollback->names.items[i];
        int64_t mark_us = 0;
        if (name->display_name != NULL)
            (void)bytes_to_i64(bytes_of(name->display_name), &mark_us);
        if (rollback->gap_us > 0 && mark_us > rollback->gap_us)
            mark_us = rollback->gap_us;
        struct bytes handle = bytes_of(name->handle);
        struct batch_mark mark = batch_mark(writing->batch);
        if (feed_rows_poll(writing->batch, handle, BYTES_ABSENT, mark_us, 0, writing->now_us) ==
            RC_OK)
            continue;
        batch_undo(writing->batch, mark);
        rc = write_out(writing);
        if (rc == RC_OK)
            rc = feed_rows_poll(writing->batch, handle, BYTES_ABSENT, mark_us, 0, writing->now_us);
    }
    return rc == RC_OK ? write_out(writing) : rc;
}

static enum rc roll_back(struct target *target, struct rollback *rollback, struct err *err)
{
    enum rc rc =
        store_query_int(target->store, "SELECT min(from_us) FROM gaps WHERE closed_us IS NULL", 0,
                        &rollback->gap_us, err);
    if (rc == RC_OK)
        rc = store_query(target->store,
                         "SELECT " FEED_NAME_SQL ", f.did, (SELECT CAST(max(p.shared_us) AS TEXT) "
                         "FROM post p JOIN actors a ON a.id = p.actor "
                         "WHERE a.did = f.did AND p.kind < 2) FROM follows f ORDER BY 1",
                         NULL, 0, take_name, &rollback->names, err);
    if (rc != RC_OK)
        return rc;
    rc = begin(&rollback->writing, target, err);
    if (rc == RC_OK)
        rc = write_polls(rollback);
    finish(&rollback->writing);
    return rc;
}

static enum rc truncate_polls(struct target *target, int64_t *rows, struct err *err)
{
    struct store_position position;
    if (target->settings.config.bluesky.mode != CONFIG_MODE_FIREHOSE)
        return err_set(err, RC_REJECT,
                       "poll_state is in use: bluesky.mode is not firehose; nothing was emptied");
    enum rc rc = target_claim(target, &position, err);
    if (rc == RC_OK)
        rc = store_query_int(target->store, "SELECT count(*) FROM poll_state", 0, rows, err);
    return rc == RC_OK ? target->store->ops->script(target->store, "DELETE FROM poll_state", err)
                       : rc;
}

static int report_emptied(int64_t rows, bool json)
{
    struct text out = {0};
    if (!json) {
        fprintf(stderr, "poll_state: %" PRId64 " %s removed\n", rows, rows == 1 ? "row" : "rows");
        return EXIT_DONE;
    }
    text_appendf(&out, "{\"removed\":%" PRId64 "}\n", rows);
    int code = target_put(&out);
    text_free(&out);
    return code;
}

/* ---- the command ---- */

static enum rc run(struct target *target, const struct choice *choice, int *code, struct err *err)
{
    struct rollback rollback = {.gap_us = 0};
    int64_t rows = 0;
    enum rc rc = target_open(target, err);
    if (rc == RC_OK && target->store == NULL)
        rc = err_set(err, RC_REJECT, "a daemon is running on this store: stop it first");
    if (rc == RC_OK && choice->truncate)
        rc = truncate_polls(target, &rows, err);
    else if (rc == RC_OK && choice->rollback)
        rc = roll_back(target, &rollback, err);
    else if (rc == RC_OK)
        rc = migrate(target, &rollback.names, choice->json, err);
    if (rc == RC_OK && choice->truncate)
        *code = report_emptied(rows, choice->json);
    else if (rc == RC_OK)
        *code = report(&rollback.names, choice->rollback ? "polled" : "followed", choice->json);
    free_names(&rollback.names);
    return rc;
}

int cmd_migrate_follows(int argc, char **argv)
{
    static const struct settings_flag flags[] = {
        {.name = "rollback", .at = offsetof(struct choice, rollback)},
        {.name = "truncate", .at = offsetof(struct choice, truncate)},
        {.name = "json", .at = offsetof(struct choice, json)},
        {0}};
    struct choice choice = {false, false, false};
    const struct target_words words = {.usage = usage, .flags = flags, .arg = &choice};
    struct target target;
    struct err err;
    int first, code;
    if (!target_begin(&target, &words, argc, argv, &first, &code))
        return code;
    code = EXIT_DONE;
    if (choice.rollback && choice.truncate) {
        fputs("tidemark: --rollback and --truncate are opposites\n", stderr);
        code = EXIT_USAGE;
    } else if (run(&target, &choice, &code, &err) != RC_OK) {
        code = target_fail(&err);
    }
    target_free(&target);
    return code;
}
