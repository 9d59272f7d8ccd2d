/* SPDX-License-Identifier: Apache-2.0 */
#include "store/writer.h"

#include "store/committer.h"
#include "store/log_mover.h"
#include "sys/bell.h"
#include "sys/clock.h"
#include "sys/crashpoint.h"
#include "sys/log.h"
#include "sys/metrics.h"
#include "sys/thread.h"
#include "sys/thread_queue.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define IDLE_US           1000000
#define STOPPING_RETRY_US 250000
#define GATHER_US_MAX     20000
#define GATHER_SHARE      4    /* of a commit's own time: writing takes a fifth of the thread's */
#define PACE_COMMITS      8    /* the average goes back about as many */
#define PACE_US_MIN       1000 /* so much is believed of any commit */

struct writer {
    struct store *store;
    struct writer_options options;
    struct queue *queue;
    struct thread *thread;
    struct log_mover *mover; /* NULL: none */
    struct latest *shown;
    struct writer_state state; /* the thread's own */
    struct committer committer;
    int64_t pace_us;    /* what a commit takes, on average */
    struct batch *held; /* popped, but the commit had no room for it */
    int64_t give_up_at; /* set when trouble meets a closed queue; one for all commits left */
    bool gave_up;       /* a commit; nothing is committed after it */
};

static void show(struct writer *writer)
{
    writer->state.position = writer->committer.position;
    writer->state.retries = writer->committer.retries;
    writer->state.refused = writer->committer.refused;
    latest_put(writer->shown, &writer->state);
}

static void observe_latency(struct writer *writer, const struct batch *batch)
{
    if (writer->options.latency_us == NULL || batch->received_us == 0)
        return;
    int64_t took_us = clock_wall_us() - batch->received_us;
    metric_observe(writer->options.latency_us, took_us > 0 ? (uint64_t)took_us : 0);
}

static void answer(struct writer *writer, struct batch *batches, enum rc rc)
{
    while (batches != NULL) {
        struct batch *next = batches->next;
        batches->next = NULL;
        enum rc mine = rc == RC_OK && batches->refused ? RC_REJECT : rc;
        writer->state.records += mine == RC_OK ? batches->record_count : 0;
        batches->seq = writer->committer.position.commit_seq;
        if (mine == RC_OK)
            observe_latency(writer, batches);
        batches->committed(batches->courier, batches, mine);
        batches = next;
    }
}

/* The first position that the commit moves, and how many it moves; NULL: none. */
static const struct record *find_cursor(const struct commit *commit, int64_t *count)
{
    const struct record *found = NULL;
    *count = 0;
    for (const struct batch *batch = commit->first; batch != NULL; batch = batch->next)
        for (const struct record *row = batch->first[RECORD_CURSOR]; row != NULL; row = row->next) {
            found = found == NULL ? row : found;
            ++*count;
        }
    return found;
}

/* Where streams stand is part of the commit (I2): what could not be written names it. */
static void say_trouble(const struct writer *writer, const struct err *err)
{
    int64_t cursors;
    const struct record *cursor = find_cursor(writer->committer.commit, &cursors);
    const struct log_field reason = log_string("reason", err->text);
    if (cursor == NULL)
        log_event(LOG_ERROR, "store", "not_written", (struct log_field[]){reason, LOG_END});
    else
        log_event(LOG_ERROR, "store", "not_written",
                  (struct log_field[]){log_text("source", cursor->fields[CURSOR_ROW_SOURCE].b),
                                       log_text("stream", cursor->fields[CURSOR_ROW_STREAM].b),
                                       log_int("cursor", cursor->fields[CURSOR_ROW_POSITION].i),
                                       log_int("cursors", cursors), reason, LOG_END});
}

static void note_trouble(struct writer *writer, const struct err *err)
{
    if (!writer->state.in_trouble && !writer->state.dead)
        say_trouble(writer, err);
    if (!writer->state.in_trouble)
        writer->state.trouble_since_us = clock_wall_us();
    writer->state.in_trouble = true;
    memcpy(writer->state.trouble, err->text, sizeof err->text);
    show(writer);
}

int64_t writer_gather_us(int64_t pace_us)
{
    assert(pace_us >= 0);
    return pace_us < GATHER_US_MAX / GATHER_SHARE ? GATHER_SHARE * pace_us : GATHER_US_MAX;
}

int64_t writer_pace_us(int64_t pace_us, int64_t took_us)
{
    assert(pace_us >= 0 && took_us >= 0);
    int64_t believed_us = pace_us < PACE_US_MIN / 2 ? PACE_US_MIN : 2 * pace_us;
    return pace_us + ((took_us < believed_us ? took_us : believed_us) - pace_us) / PACE_COMMITS;
}

/* Fills the commit: until 1,000 records are there, or its time is up; with an urgent batch among
 * them only with what is there already. */
static void gather(struct writer *writer, struct batch *first)
{
    int64_t wait_us = writer->options.gather_us;
    int64_t deadline =
        clock_mono_us() + (wait_us > 0 ? wait_us : writer_gather_us(writer->pace_us));
    bool fits = committer_add(&writer->committer, first), urgent = first->urgent;
    assert(fits && writer->held == NULL);
    while (committer_gathered(&writer->committer) < COMMIT_RECORDS_GOAL) {
        struct batch *batch = queue_pop(writer->queue, urgent ? 0 : deadline - clock_mono_us());
        if (batch == NULL)
            return;
        urgent |= batch->urgent;
        if (batch->errand != NULL || !committer_add(&writer->committer, batch)) {
            writer->held = batch;
            return;
        }
    }
}

/* Waits before the next try; false when the writer is to stop and has tried long enough. */
static bool wait_a_little(struct writer *writer, int64_t wait_us)
{
    if (!queue_wait_closed(writer->queue, wait_us))
        return true;
    int64_t now = clock_mono_us();
    if (writer->give_up_at == 0)
        writer->give_up_at = now + writer->options.give_up_us;
    if (now >= writer->give_up_at)
        return false;
    queue_rest(writer->queue, STOPPING_RETRY_US);
    return true;
}

/* Commits until it is known to be durable, or hopeless. */
static enum rc settle(struct writer *writer, struct err *err)
{
    int64_t wait_us;
    for (;;) {
        enum rc rc = committer_step(&writer->committer, clock_wall_us(), &wait_us, err);
        if (rc != RC_RETRY)
            return rc;
        note_trouble(writer, err);
        if (!wait_a_little(writer, wait_us))
            return RC_RETRY;
    }
}

static void die(struct writer *writer, const struct err *err)
{
    writer->state.dead = true;
    note_trouble(writer, err);
    if (writer->options.fatal != NULL)
        writer->options.fatal(writer->options.arg, err);
}

static void commit_gathered(struct writer *writer)
{
    struct err err;
    /* Cursors cover the batches handed over before theirs: after one that was given up none may be
     * committed (I2). */
    int64_t began_us = clock_mono_us();
    enum rc rc = writer->state.dead ? RC_FATAL : writer->gave_up ? RC_RETRY : settle(writer, &err);
    writer->pace_us = writer_pace_us(writer->pace_us, clock_mono_us() - began_us);
    bool full = committer_gathered(&writer->committer) >= COMMIT_RECORDS_GOAL;
    struct batch *batches = committer_take(&writer->committer);
    if (rc == RC_OK) {
        crashpoint(CRASH_BEFORE_ACK);
        writer->state.commits++;
        writer->state.last_commit_us = clock_wall_us();
        if (writer->state.in_trouble)
            log_event(LOG_INFO, "store", "written_again", NULL);
        writer->state.in_trouble = false;
        writer->state.trouble[0] = '\0';
    } else if (rc != RC_RETRY && !writer->state.dead) {
        die(writer, &err);
    }
    writer->gave_up |= rc == RC_RETRY;
    answer(writer, batches, rc);
    show(writer);
    if (rc == RC_OK && writer->options.bell != NULL)
        bell_ring(writer->options.bell);
    /* Where commits are full it is speed that counts: one who moves beside us takes from it. */
    if (rc == RC_OK && writer->mover != NULL && !full &&
        writer->store->ops->log_is_due(writer->store))
        log_mover_wake(writer->mover);
}

/* It fails for itself: what it needs of the store it says to its owner, not to the writer. But no
 * commit is there to find out that the connection was lost, or the store (I8). */
static void run_errand(struct writer *writer, struct batch *batch)
{
    enum rc rc = writer->state.dead ? RC_FATAL : RC_RETRY;
    assert(batch->record_count == 0);
    if (!writer->state.dead && !writer->gave_up) {
        rc = committer_look(&writer->committer, &batch->why);
        if (rc == RC_FATAL)
            die(writer, &batch->why);
        else if (rc == RC_OK)
            rc = batch->errand(batch->owner, writer->store, &batch->why);
    }
    batch->committed(batch->courier, batch, rc);
}

static void write_until_closed(void *arg)
{
    struct writer *writer = arg;
    for (;;) {
        struct batch *batch = writer->held;
        writer->held = NULL;
        if (batch == NULL)
            batch = queue_pop(writer->queue, IDLE_US);
        if (batch != NULL && batch->errand != NULL) {
            run_errand(writer, batch);
        } else if (batch != NULL) {
            gather(writer, batch);
            commit_gathered(writer);
        } else if (queue_is_closed(writer->queue) && queue_count(writer->queue) == 0) {
            return;
        }
    }
}

struct writer *writer_start(struct store *store, struct store_position position,
                            const struct writer_options *options)
{
    assert(store != NULL && options != NULL && position.next_n > 0);
    struct writer *writer = memory_new_zeroed(1, sizeof *writer);
    writer->store = store;
    writer->options = *options;
    if (writer->options.batches_max == 0)
        writer->options.batches_max = 64;
    if (writer->options.give_up_us == 0)
        writer->options.give_up_us = 5000000;
    writer->queue = queue_new(writer->options.batches_max);
    writer->shown = latest_new(sizeof writer->state);
    writer->mover = log_mover_start(store);
    committer_init(&writer->committer, store, position);
    if (options->retry_us_min > 0)
        writer->committer.delay_us_min = writer->committer.delay_us = options->retry_us_min;
    show(writer);
    writer->thread = thread_start("writer", write_until_closed, writer);
    return writer;
}

enum rc writer_submit(struct writer *writer, struct batch *batch)
{
    assert(batch->committed != NULL && batch->next == NULL);
    return queue_push(writer->queue, batch);
}

void writer_state(struct writer *writer, struct writer_state *state)
{
    latest_get(writer->shown, state);
}

unsigned writer_queued(struct writer *writer)
{
    return queue_count(writer->queue);
}

enum rc writer_stop(struct writer *writer, struct err *err)
{
    queue_close(writer->queue);
    thread_join(writer->thread);
    enum rc rc = writer->state.dead ? RC_FATAL : writer->gave_up ? RC_RETRY : RC_OK;
    if (rc != RC_OK)
        err_set(err, rc, "%s", writer->state.trouble);
    committer_deinit(&writer->committer);
    queue_free(writer->queue);
    latest_free(writer->shown);
    log_mover_stop(writer->mover);
    store_close(writer->store);
    free(writer);
    return rc;
}
