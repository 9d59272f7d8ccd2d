/* SPDX-License-Identifier: Apache-2.0 */
#include "store/writer.h"

#include "store/commit.h"
#include "sys/clock.h"
#include "sys/crashpoint.h"
#include "sys/queue.h"
#include "sys/thread.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define IDLE_US      1000000
#define RETRY_US_MIN 1000000
#define RETRY_US_MAX 30000000

struct writer {
    struct store *store;
    struct writer_options options;
    struct queue *queue;
    struct thread *thread;
    struct latest *shown;
    struct writer_state state; /* the thread's own */
    struct commit *commit;
    struct batch *held; /* popped, but the commit had no room for it */
    int64_t give_up_at; /* set when trouble meets a closed queue; one for all commits left */
};

static void show(struct writer *writer)
{
    latest_put(writer->shown, &writer->state);
}

static void answer(struct writer *writer, struct batch *batches, enum rc rc)
{
    while (batches != NULL) {
        struct batch *next = batches->next;
        batches->next = NULL;
        writer->state.records += rc == RC_OK ? batches->record_count : 0;
        batches->committed(batches->courier, batches, rc);
        batches = next;
    }
}

static void note_trouble(struct writer *writer, const struct err *err)
{
    if (!writer->state.in_trouble)
        writer->state.trouble_since_us = clock_wall_us();
    writer->state.in_trouble = true;
    memcpy(writer->state.trouble, err->text, sizeof err->text);
    show(writer);
}

/* Fills the commit: until 1,000 records are there, or 20 ms after its first batch. */
static void gather(struct writer *writer, struct batch *first)
{
    int64_t deadline = clock_mono_us() + writer->options.gather_us_max;
    bool fits = commit_add(writer->commit, first);
    assert(fits && writer->held == NULL);
    while (writer->commit->gathered < COMMIT_RECORDS_GOAL) {
        struct batch *batch = queue_pop(writer->queue, deadline - clock_mono_us());
        if (batch == NULL)
            return;
        if (!commit_add(writer->commit, batch)) {
            writer->held = batch;
            return;
        }
    }
}

/* After a failure whose outcome is unknown: did the commit arrive? RC_OK: it did. RC_AGAIN: it did
 * not, send it again. RC_RETRY: cannot tell yet. RC_FATAL: somebody else writes here now. */
static enum rc ask_outcome(struct writer *writer, struct err *err)
{
    struct store_position now, *mine = &writer->state.position;
    enum rc rc = writer->store->ops->position(writer->store, &now, err);
    if (rc != RC_OK)
        return rc == RC_FATAL ? RC_FATAL : RC_RETRY;
    if (now.epoch != mine->epoch || now.commit_seq < mine->commit_seq ||
        now.commit_seq > mine->commit_seq + 1)
        return err_set(err, RC_FATAL, "another process has taken this store over");
    if (now.commit_seq == mine->commit_seq)
        return RC_AGAIN;
    *mine = now;
    return RC_OK;
}

/* Waits before the next try; false when the writer is to stop and has tried long enough. */
static bool wait_a_little(struct writer *writer, int64_t *delay_us)
{
    bool stopping = queue_wait_closed(writer->queue, *delay_us);
    *delay_us = *delay_us * 2 > RETRY_US_MAX ? RETRY_US_MAX : *delay_us * 2;
    if (!stopping)
        return true;
    int64_t now = clock_mono_us();
    if (writer->give_up_at == 0)
        writer->give_up_at = now + writer->options.give_up_us;
    if (now >= writer->give_up_at)
        return false;
    queue_rest(writer->queue, writer->options.retry_us_min / 4);
    *delay_us = 1;
    return true;
}

/* Commits until it is known to be durable, or hopeless. */
static enum rc settle(struct writer *writer, struct err *err)
{
    int64_t delay_us = writer->options.retry_us_min;
    enum rc rc = RC_AGAIN;
    for (;;) {
        if (rc == RC_AGAIN)
            rc = commit_write(writer->commit, writer->store, &writer->state.position,
                              clock_wall_us(), err);
        if (rc != RC_RETRY)
            return rc;
        writer->state.retries++;
        note_trouble(writer, err);
        if (!wait_a_little(writer, &delay_us))
            return RC_RETRY;
        rc = ask_outcome(writer, err);
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
    enum rc rc = writer->state.dead ? RC_FATAL : settle(writer, &err);
    writer->state.refused += rc == RC_OK ? writer->commit->refused_count : 0;
    struct batch *batches = commit_take_batches(writer->commit);
    if (rc == RC_OK) {
        crashpoint(CRASH_BEFORE_ACK);
        writer->state.commits++;
        writer->state.last_commit_us = clock_wall_us();
        writer->state.in_trouble = false;
        writer->state.trouble[0] = '\0';
    } else if (rc != RC_RETRY && !writer->state.dead) {
        die(writer, &err);
    }
    answer(writer, batches, rc);
    show(writer);
}

static void write_until_closed(void *arg)
{
    struct writer *writer = arg;
    for (;;) {
        struct batch *batch = writer->held;
        writer->held = NULL;
        if (batch == NULL)
            batch = queue_pop(writer->queue, IDLE_US);
        if (batch != NULL) {
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
    if (writer->options.gather_us_max == 0)
        writer->options.gather_us_max = 20000;
    if (writer->options.give_up_us == 0)
        writer->options.give_up_us = 5000000;
    if (writer->options.retry_us_min == 0)
        writer->options.retry_us_min = RETRY_US_MIN;
    writer->state.position = position;
    writer->queue = queue_new(writer->options.batches_max);
    writer->shown = latest_new(sizeof writer->state);
    writer->commit = commit_new();
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

void writer_stop(struct writer *writer)
{
    queue_close(writer->queue);
    thread_join(writer->thread);
    commit_free(writer->commit);
    queue_free(writer->queue);
    latest_free(writer->shown);
    store_close(writer->store);
    free(writer);
}
