/* SPDX-License-Identifier: Apache-2.0 */
#include "source/due.h"

#include "sys/crashpoint.h"

#include <assert.h>
#include <stdlib.h>

#define LOOK_US INT64_C(1000000)

enum { COLUMN_ITEM, COLUMN_ATTEMPTS, COLUMN_SINCE_US, COLUMN_ADDRESS, COLUMN_FLAGS, COLUMNS };

static int64_t wall(const struct due *due)
{
    return due->env.runtime->ops->wall_us(due->env.runtime);
}

/* The latest that anything can have been put off to. */
static int64_t latest(const struct due *due)
{
    return wall(due) + retry_longest(&due->options.schedule);
}

/* ---- places ---- */

static struct due_item *find_item(struct due *due, struct bytes name)
{
    for (size_t i = 0; i < due->options.items_max; i++)
        if (due->items[i].place != DUE_FREE && bytes_equal(text_bytes(&due->items[i].item), name))
            return &due->items[i];
    return NULL;
}

static struct due_item *find_free(struct due *due)
{
    for (size_t i = 0; i < due->options.items_max; i++)
        if (due->items[i].place == DUE_FREE)
            return &due->items[i];
    return NULL;
}

/* What was settled is out of the table for whoever asks from now on. */
static size_t free_settled(struct due *due)
{
    size_t free_count = 0;
    for (size_t i = 0; i < due->options.items_max; i++) {
        struct due_item *item = &due->items[i];
        if (item->place == DUE_SETTLED)
            item->place = DUE_FREE;
        free_count += item->place == DUE_FREE;
    }
    return free_count;
}

static void set_text(struct text *text, const struct field *column)
{
    text_clear(text);
    if (!column->null)
        text_append(text, column->b.data, column->b.len);
}

static int64_t read_int(const struct field *column)
{
    return column->null ? 0 : column->i;
}

static bool take_row(struct due *due, const struct field *columns)
{
    if (columns[COLUMN_ITEM].null || find_item(due, columns[COLUMN_ITEM].b) != NULL)
        return true;
    struct due_item *item = find_free(due);
    if (item == NULL)
        return false;
    int64_t attempts = read_int(&columns[COLUMN_ATTEMPTS]);
    set_text(&item->item, &columns[COLUMN_ITEM]);
    set_text(&item->address, &columns[COLUMN_ADDRESS]);
    item->attempts = attempts < 0 ? 0 : attempts > INT32_MAX ? INT32_MAX : (uint32_t)attempts;
    item->since_us = read_int(&columns[COLUMN_SINCE_US]);
    item->flags = read_int(&columns[COLUMN_FLAGS]);
    item->alone = false;
    item->batch = NULL;
    item->turn = due->turns++;
    item->place = DUE_READY;
    due->counts.ready++;
    return true;
}

/* ---- asking ---- */

static void take_answer(void *arg, const struct lookup_answer *answer)
{
    struct due *due = arg;
    assert(due->asking && (answer->rc != RC_OK || answer->rows == 0 || answer->columns == COLUMNS));
    due->asking = false;
    if (answer->rc != RC_OK || due->stopping)
        return; /* the next look asks again */
    due->more = answer->rows >= due->options.items_max;
    for (size_t i = 0; i < answer->rows; i++)
        if (!take_row(due, answer->fields + i * COLUMNS))
            break;
    due->options.work(due->options.arg);
}

static void ask(struct due *due)
{
    if (due->asking || due->stopping || free_settled(due) == 0)
        return;
    struct field params[] = {field_text(bytes_of(due->options.source)),
                             field_text(bytes_of(due->options.stream)), field_int(wall(due)),
                             field_int((int64_t)due->options.items_max), field_int(latest(due))};
    due->asking = due->env.ask(due->env.ask_arg, due->options.sql, params,
                               sizeof params / sizeof params[0], take_answer, due) == RC_OK;
}

static void look(void *arg)
{
    struct due *due = arg;
    due_send(due);
    ask(due);
    due->options.work(due->options.arg);
    due->env.runtime->ops->timer_arm(due->env.runtime, &due->look, LOOK_US);
}

/* ---- answering ---- */

/* Committed or not: what its rows say now, only the table knows. */
static void answered(void *arg, struct batch *batch, enum rc rc)
{
    struct due *due = arg;
    (void)rc;
    assert(batch == due->under_way);
    crashpoint(CRASH_DEBT_SETTLED);
    due->under_way = NULL;
    for (size_t i = 0; i < due->options.items_max; i++) {
        struct due_item *item = &due->items[i];
        if (item->place == DUE_STAGED && item->batch == batch)
            item->place = DUE_SETTLED;
    }
    batch_give_back(batch);
    due_send(due);
    if (due->stopping)
        return;
    if (due->more && due->counts.ready == 0)
        ask(due);
    due->options.work(due->options.arg);
}

struct batch *due_batch(struct due *due)
{
    if (due->filling == NULL)
        due->filling = batch_take(due->env.pool);
    return due->filling;
}

void due_send(struct due *due)
{
    struct batch *batch = due->filling;
    if (batch == NULL || batch->record_count == 0 || due->under_way != NULL)
        return;
    batch->answered = answered;
    batch->owner = due;
    if (due->env.submit(due->env.submit_arg, batch) != RC_OK)
        return; /* the next look tries again */
    crashpoint(CRASH_DEBT_SENT);
    due->under_way = batch;
    due->filling = NULL;
}

static enum rc stage(struct due *due, struct due_item *item, const char *state, const char *reason,
                     uint32_t attempts, int64_t next_us)
{
    struct batch *batch = due->filling;
    assert(item->place == DUE_RUNNING && batch != NULL);
    struct batch_mark mark = batch_mark(batch);
    struct record *row = batch_add(batch, RECORD_OWED);
    if (row == NULL || !batch_set_text(batch, row, OWED_SOURCE, bytes_of(due->options.source)) ||
        !batch_set_text(batch, row, OWED_STREAM, bytes_of(due->options.stream)) ||
        !batch_set_text(batch, row, OWED_ITEM, text_bytes(&item->item)) ||
        !batch_set_text(batch, row, OWED_STATE, bytes_of(state)) ||
        !batch_set_text(batch, row, OWED_REASON, bytes_of(reason))) {
        batch_undo(batch, mark);
        return RC_AGAIN;
    }
    batch_set_int(row, OWED_ATTEMPTS, attempts);
    batch_set_int(row, OWED_AT_US, item->since_us);
    if (next_us >= 0)
        batch_set_int(row, OWED_NEXT_US, next_us);
    item->place = DUE_STAGED;
    item->batch = batch;
    due->counts.running--;
    return RC_OK;
}

enum rc due_done(struct due *due, struct due_item *item)
{
    enum rc rc = stage(due, item, "done", NULL, item->attempts, -1);
    due->counts.done += rc == RC_OK;
    return rc;
}

enum rc due_postpone(struct due *due, struct due_item *item, int64_t next_us)
{
    int64_t latest_us = latest(due);
    return stage(due, item, "owed", NULL, item->attempts,
                 next_us < latest_us ? next_us : latest_us);
}

enum rc due_failed(struct due *due, struct due_item *item, enum retry_class class,
                   const char *reason, int64_t retry_after_us, bool *dead)
{
    struct runtime *runtime = due->env.runtime;
    const struct retry_schedule *schedule = &due->options.schedule;
    uint32_t attempts = item->attempts + 1;
    int64_t wait_us =
        retry_delay(schedule, attempts, retry_after_us, runtime->ops->random(runtime));
    *dead = class == RETRY_PERMANENT || class == RETRY_AUTH ||
            (schedule->attempts_max > 0 && attempts >= schedule->attempts_max);
    enum rc rc = stage(due, item, *dead ? "dead" : "owed", reason, attempts,
                       *dead ? -1 : wall(due) + wait_us);
    due->counts.failed += rc == RC_OK;
    due->counts.dead += rc == RC_OK && *dead;
    return rc;
}

/* ---- working ---- */

struct due_item *due_next(struct due *due)
{
    struct due_item *first = NULL;
    for (size_t i = 0; i < due->options.items_max && due->counts.ready > 0; i++) {
        struct due_item *item = &due->items[i];
        if (item->place == DUE_READY && (first == NULL || item->turn < first->turn))
            first = item;
    }
    if (first == NULL || due->stopping)
        return NULL;
    first->place = DUE_RUNNING;
    due->counts.ready--;
    due->counts.running++;
    return first;
}

void due_put_back(struct due *due, struct due_item *item)
{
    assert(item->place == DUE_RUNNING && due->counts.running > 0);
    item->place = DUE_READY;
    due->counts.running--;
    due->counts.ready++;
}

void due_init(struct due *due, const struct source_env *env, const struct due_options *options)
{
    assert(options->items_max > 0 && options->sql != NULL && env->ask != NULL);
    *due = (struct due){.env = *env, .options = *options};
    due->items = memory_new_zeroed(options->items_max, sizeof *due->items);
    due->look = (struct timer){.fn = look, .arg = due};
}

void due_deinit(struct due *due)
{
    assert(due->under_way == NULL && !due->asking);
    if (due->filling != NULL)
        batch_give_back(due->filling);
    for (size_t i = 0; i < due->options.items_max; i++) {
        text_free(&due->items[i].item);
        text_free(&due->items[i].address);
    }
    free(due->items);
}

void due_start(struct due *due)
{
    due->env.runtime->ops->timer_arm(due->env.runtime, &due->look, 0);
}

void due_stop(struct due *due)
{
    due->stopping = true;
    due->env.runtime->ops->timer_disarm(due->env.runtime, &due->look);
    due_send(due);
}

bool due_stopped(const struct due *due)
{
    return due->under_way == NULL && !due->asking;
}
