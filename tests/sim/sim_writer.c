/* SPDX-License-Identifier: Apache-2.0 */
#include "sim_world.h"

#include <assert.h>
#include <string.h>

#define GATHER_US 20000

static void arm(struct sim_writer *writer, struct timer *timer, int64_t delay_us)
{
    timer_heap_arm(&writer->life->timers, timer, writer->life->world->now_us + delay_us);
}

static void answer_one(void *arg)
{
    struct sim_writer *writer = arg;
    struct batch *batch = writer->answers;
    assert(batch != NULL && writer->under_way > 0);
    writer->answers = batch->next;
    if (writer->answers == NULL)
        writer->answers_last = NULL;
    else
        arm(writer, &writer->answer, sim_between(&writer->life->world->swarm, 0, 3000));
    batch->next = NULL;
    writer->under_way--;
    sim_trace(writer->life->world, "answer %s", rc_name(batch->outcome));
    if (batch->outcome == RC_OK)
        sim_reader_answered(writer->life->world, batch);
    batch->answered(batch->owner, batch, batch->outcome);
}

static void answer_later(struct sim_writer *writer, struct batch *batches, enum rc rc)
{
    for (struct batch *batch = batches; batch != NULL; batch = batch->next) {
        batch->outcome = rc;
        batch->seq = writer->committer.position.commit_seq;
        if (writer->answers == NULL) {
            writer->answers = batch;
            arm(writer, &writer->answer, sim_between(&writer->life->world->swarm, 0, 20000));
        } else if (writer->answers_last->next != batch) {
            writer->answers_last->next = batch;
        }
        writer->answers_last = batch;
    }
}

/* Moves what waits into the commit. */
static void gather(struct sim_writer *writer)
{
    while (writer->queued > 0 && !writer->full && !writer->settling) {
        if (!committer_add(&writer->committer, writer->queue[0])) {
            writer->full = true;
            break;
        }
        writer->queued--;
        memmove(writer->queue, writer->queue + 1, writer->queued * sizeof writer->queue[0]);
        writer->full = committer_gathered(&writer->committer) >= COMMIT_RECORDS_GOAL;
    }
}

static void begin(struct sim_writer *writer)
{
    if (writer->busy || writer->queued == 0)
        return;
    writer->busy = true;
    writer->full = writer->settling = false;
    gather(writer);
    arm(writer, &writer->work, writer->full ? 0 : GATHER_US);
}

static void finish(struct sim_writer *writer, enum rc rc)
{
    writer->dead = writer->dead || rc != RC_OK;
    answer_later(writer, committer_take(&writer->committer), rc);
    writer->busy = writer->settling = false;
    begin(writer);
}

static void settle(void *arg)
{
    struct sim_writer *writer = arg;
    struct sim_world *world = writer->life->world;
    struct err err = {""};
    int64_t wait_us = 0;
    assert(writer->busy);
    writer->settling = true;
    if (writer->dead) {
        finish(writer, RC_FATAL);
        return;
    }
    if (world->stalled_until_us > world->now_us) {
        arm(writer, &writer->work, world->stalled_until_us - world->now_us);
        return;
    }
    enum rc rc =
        committer_step(&writer->committer, world->now_us + world->wall_offset_us, &wait_us, &err);
    sim_trace(world, "commit %s %s", rc_name(rc), err.text);
    if (writer->life->dying)
        return;
    if (rc == RC_RETRY)
        arm(writer, &writer->work, wait_us);
    else if (rc != RC_OK && writer->life == world->life)
        sim_fail(world, "I8: the one writer was told: %s", err.text);
    else
        finish(writer, rc);
}

void sim_writer_init(struct sim_writer *writer, struct sim_life *life,
                     struct store_position position)
{
    *writer = (struct sim_writer){.life = life,
                                  .batches_max = life->world->shape.writer_batches,
                                  .work = {.fn = settle, .arg = writer},
                                  .answer = {.fn = answer_one, .arg = writer}};
    assert(writer->batches_max <= SIM_WRITER_BATCHES_MAX);
    committer_init(&writer->committer, &life->store.base, position);
}

enum rc sim_writer_submit(struct sim_writer *writer, struct batch *batch)
{
    assert(batch->answered != NULL && batch->next == NULL);
    if (writer->under_way == writer->batches_max) {
        sim_saw(SIGHT_WRITER_FULL);
        return RC_AGAIN;
    }
    writer->under_way++;
    writer->queue[writer->queued++] = batch;
    if (writer->busy)
        gather(writer);
    else
        begin(writer);
    return RC_OK;
}

static void give_back(struct batch *batches)
{
    while (batches != NULL) {
        struct batch *batch = batches;
        batches = batch->next;
        batch->next = NULL;
        batch->answered(batch->owner, batch, RC_RETRY);
    }
}

void sim_writer_drop(struct sim_writer *writer)
{
    timer_heap_disarm(&writer->life->timers, &writer->work);
    timer_heap_disarm(&writer->life->timers, &writer->answer);
    give_back(writer->answers);
    give_back(committer_take(&writer->committer));
    for (unsigned i = 0; i < writer->queued; i++)
        give_back(writer->queue[i]);
    committer_deinit(&writer->committer);
}
