/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/intake.h"

#include "sys/crashpoint.h"

#include <assert.h>

#define WATERMARK_UNITS 1024
#define CURSOR_EVERY_US 1000000
#define CURSOR_ROOM     16384 /* kept free in a batch for its cursor row and for gaps, ... */
#define CURSOR_RECORDS  32    /* ... and as many places: one event may bring a lot of records */

static int64_t now_mono(const struct intake *intake)
{
    return intake->runtime->ops->mono_us(intake->runtime);
}

static void check(const struct intake *intake)
{
    assert(intake->committed <= intake->staged && intake->staged <= intake->received); /* I1 */
    assert(intake->filling_events <= INTAKE_UNIT_EVENTS_MAX);
}

static void flush_late(void *arg)
{
    intake_pump(arg);
}

void intake_init(struct intake *intake, const struct intake_ops *ops, void *arg,
                 struct runtime *runtime, struct batch_pool *pool, const char *source,
                 size_t ring_bytes)
{
    assert(ops != NULL && runtime != NULL && pool != NULL);
    *intake = (struct intake){.ops = ops, .arg = arg, .runtime = runtime, .pool = pool};
    intake->ring = frame_ring_new(ring_bytes);
    read_ahead_init(&intake->ahead, runtime, ring_bytes, ops->hold, arg);
    intake->flush = (struct timer){.fn = flush_late, .arg = intake};
    watermark_init(&intake->watermark, WATERMARK_UNITS);
    quarantine_init(&intake->quarantine, source);
    check(intake);
}

void intake_deinit(struct intake *intake)
{
    assert(intake->under_way == 0);
    intake->runtime->ops->timer_disarm(intake->runtime, &intake->flush);
    read_ahead_deinit(&intake->ahead);
    if (intake->filling != NULL)
        batch_give_back(intake->filling);
    watermark_deinit(&intake->watermark);
    frame_ring_free(intake->ring);
}

void intake_resume(struct intake *intake, int64_t position)
{
    assert(intake->events == 0 && position >= 0);
    intake->received = intake->staged = intake->committed = position;
    check(intake);
}

void intake_begin_at(struct intake *intake, int64_t position)
{
    assert(position >= intake->received);
    intake->received = position;
    check(intake);
}

static enum rc push(struct intake *intake, struct frame *frame)
{
    assert(frame->payload.data != NULL && frame->received_us == 0);
    frame->received_us = intake->runtime->ops->wall_us(intake->runtime);
    enum rc rc =
        intake->stopping || intake->failed ? RC_AGAIN : frame_ring_push(intake->ring, frame);
    intake->refused |= rc != RC_OK;
    intake->bytes += frame->payload.len + frame->skipped;
    intake->last_event_us = frame->received_us;
    return rc;
}

enum rc intake_take(struct intake *intake, struct bytes payload, bool binary)
{
    return push(intake, &(struct frame){.payload = payload, .binary = binary});
}

enum rc intake_take_skipped(struct intake *intake, uint64_t bytes)
{
    assert(bytes > 0);
    return push(intake, &(struct frame){.payload = bytes_of(""), .skipped = bytes});
}

void intake_forget(struct intake *intake)
{
    frame_ring_clear(intake->ring);
    read_ahead_look(&intake->ahead, 0);
    check(intake);
}

bool intake_has_room(struct intake *intake)
{
    assert(!intake->stopping);
    bool room = frame_ring_has_room(intake->ring);
    intake->refused |= !room;
    return room;
}

static void answered(void *arg, struct batch *batch, enum rc rc)
{
    struct intake *intake = arg;
    assert(intake->under_way > 0);
    crashpoint(CRASH_UNIT_STORED);
    intake->under_way--;
    if (rc == RC_OK) {
        enum watermark_answer answer =
            watermark_finish(&intake->watermark, batch->ticket, batch->epoch);
        assert(answer == WATERMARK_FINISHED);
        if (watermark_stage(&intake->watermark)) {
            uint64_t upto = intake->watermark.staged;
            intake->committed = (int64_t)watermark_payload(&intake->watermark, upto - 1);
            bool moved = watermark_commit(&intake->watermark, upto, intake->watermark.epoch);
            assert(moved);
        }
        check(intake);
    } else if (!intake->failed) {
        intake->failed = true;
        intake->ops->failed(intake->arg);
    }
    batch_give_back(batch);
    intake_pump(intake);
}

/* Closes the unit: its cursor joins it and the batch goes to the writer. False: not now. */
static bool send_unit(struct intake *intake)
{
    struct batch *batch = intake->filling;
    assert(batch != NULL && intake->filling_events > 0);
    struct watermark_ticket ticket;
    if (watermark_lag(&intake->watermark) == WATERMARK_UNITS)
        return false;
    if (batch->answered == NULL) {
        enum rc rc = intake->ops->cursor(intake->arg, intake->received, batch);
        assert(rc == RC_OK); /* room for it was kept free */
        batch->answered = answered;
        batch->owner = intake;
    }
    enum rc admitted = watermark_admit(&intake->watermark, 1, (uint64_t)intake->received, &ticket);
    assert(admitted == RC_OK);
    batch->ticket = ticket.ord;
    batch->epoch = ticket.epoch;
    if (intake->ops->submit(intake->arg, batch) != RC_OK) {
        watermark_undo(&intake->watermark, ticket.ord);
        return false;
    }
    crashpoint(CRASH_UNIT_SENT);
    intake->filling = NULL;
    intake->filling_events = 0;
    intake->under_way++;
    intake->staged = intake->received;
    intake->cursor_due_us = now_mono(intake) + CURSOR_EVERY_US;
    check(intake);
    return true;
}

/* What the frame says, or the frame itself as one that says nothing, into what the cursor row
 * leaves of the batch. RC_AGAIN: there is no room. */
static enum rc fill_batch(struct intake *intake, const struct frame *frame, int64_t *position)
{
    struct err err;
    struct batch *batch = intake->filling;
    uint32_t before = batch->record_count;
    assert(arena_left(&batch->arena) >= CURSOR_ROOM);
    batch->arena.size -= CURSOR_ROOM;
    batch->kept_free = CURSOR_RECORDS;
    enum rc rc = intake->ops->decode(intake->arg, frame, batch, position, &err);
    if (rc == RC_AGAIN && before == 0)
        rc = err_set(&err, RC_REJECT, "event does not fit into an empty batch");
    assert(rc == RC_OK || batch->record_count == before);
    assert(frame->skipped == 0 || rc != RC_OK);
    struct bytes raw = frame->skipped > 0 ? bytes_of(err.text) : frame->payload;
    uint64_t size = frame->skipped > 0 ? frame->skipped : raw.len;
    if (rc == RC_REJECT && quarantine_add(&intake->quarantine, batch, intake->provider, raw, size,
                                          err.text, frame->received_us) != RC_OK)
        rc = RC_AGAIN;
    batch->arena.size += CURSOR_ROOM;
    batch->kept_free = 0;
    return rc;
}

/* One frame into the batch. RC_AGAIN: the batch must go first. RC_RETRY: the stream broke off. */
static enum rc decode_frame(struct intake *intake, const struct frame *frame)
{
    struct batch *batch = intake->filling;
    int64_t position = 0;
    uint32_t before = batch->record_count;
    assert(batch->answered == NULL);
    enum rc rc = fill_batch(intake, frame, &position);
    if (rc == RC_AGAIN || rc == RC_RETRY)
        return rc;
    if (rc == RC_REJECT) {
        intake->rejected++;
    } else if (position > intake->received) {
        intake->received = position;
    }
    if (before == 0 && batch->record_count > 0 && !intake->replaying)
        batch->received_us = frame->received_us;
    intake->filling_events++;
    intake->events++;
    intake->records += batch->record_count - before;
    return RC_OK;
}

static bool unit_is_full(const struct intake *intake)
{
    return intake->filling_events == INTAKE_UNIT_EVENTS_MAX || intake->filling->answered != NULL ||
           arena_left(&intake->filling->arena) < 2 * CURSOR_ROOM ||
           intake->filling->record_count + CURSOR_RECORDS >= BATCH_RECORDS_MAX;
}

/* Decodes frames until there are none, or no batch is to be had. */
static void decode_frames(struct intake *intake)
{
    struct frame frame;
    while (frame_ring_front(intake->ring, &frame)) {
        if (intake->filling == NULL)
            intake->filling = batch_take(intake->pool);
        if (intake->filling == NULL)
            return;
        enum rc rc = unit_is_full(intake) ? RC_AGAIN : decode_frame(intake, &frame);
        bool full = rc == RC_AGAIN;
        if (rc == RC_RETRY)
            intake_forget(intake);
        else if (!full)
            frame_ring_pop(intake->ring);
        if ((full || unit_is_full(intake)) && !send_unit(intake))
            return;
    }
}

static void send_rest(struct intake *intake)
{
    if (intake->filling == NULL || intake->filling_events == 0)
        return;
    int64_t now = now_mono(intake);
    bool due =
        intake->filling->record_count > 0 || intake->stopping || now >= intake->cursor_due_us;
    if (!due || !send_unit(intake))
        intake->runtime->ops->timer_arm(intake->runtime, &intake->flush,
                                        due ? CURSOR_EVERY_US : intake->cursor_due_us - now);
}

void intake_pump(struct intake *intake)
{
    assert(!intake->pumping);
    if (intake->failed)
        return;
    intake->pumping = true;
    decode_frames(intake);
    send_rest(intake);
    intake->pumping = false;
    read_ahead_look(&intake->ahead, frame_ring_used(intake->ring));
    if (intake->refused && frame_ring_has_room(intake->ring)) {
        intake->refused = false;
        intake->ops->relieved(intake->arg);
    }
    check(intake);
}

void intake_stop(struct intake *intake)
{
    assert(!intake->pumping);
    intake->stopping = true;
    intake->refused = false;
    intake_pump(intake);
}

bool intake_idle(const struct intake *intake)
{
    bool waiting = intake->filling != NULL && intake->filling_events > 0;
    return intake->under_way == 0 && (intake->failed || !waiting);
}
