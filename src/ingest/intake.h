/* SPDX-License-Identifier: Apache-2.0
 *
 * intake.h - frames in, units out: the way of a message stream from the wire to the writer.
 *
 * Frames go into a bounded ring as they come, so that the connection stays alive while the writer
 * stalls. From there they are decoded, in order, into batches; at most 256 events are one unit,
 * whose batch carries the cursor of its last event (I2). Three positions, always in this order
 * (I1):   received   of the last event decoded
 *   staged     of the last unit handed to the writer
 *   committed  of the last unit that is durable
 * A frame that cannot be decoded goes into quarantine and the stream goes on (I7). Without a free
 * batch nothing is decoded; the source is then told to leave the wire alone for a while. Without
 * room in the ring nothing is taken (I6): the source closes its connection and comes back when a
 * quarter is free.
 *
 * Units whose events gave no record still move the cursor, at most once a second.
 *
 * Owner: a source.  Thread: the ingest loop. */
#ifndef INGEST_INTAKE_H
#define INGEST_INTAKE_H

#include "ingest/quarantine.h"
#include "ingest/read_ahead.h"
#include "ingest/watermark.h"
#include "sys/batch_pool.h"
#include "sys/frame_ring.h"
#include "sys/runtime.h"

#define INTAKE_UNIT_EVENTS_MAX 256

struct intake_ops {
    /* One frame into `batch`. RC_OK: `position` is the event's. RC_AGAIN: the batch is full.
     * RC_REJECT: unusable; of a frame that was skipped the sentence is kept. RC_RETRY: it has to
     * be sent again: it and all that waits behind it is forgotten, and the source sees to it that
     * it comes again. */
    enum rc (*decode)(void *arg, const struct frame *frame, struct batch *batch, int64_t *position,
                      struct err *err);
    /* Adds the cursor row that stands at `position`, or none while it may not pass what is still to
     * be written; RC_AGAIN when it does not fit. */
    enum rc (*cursor)(void *arg, int64_t position, struct batch *batch);
    enum rc (*submit)(void *arg, struct batch *batch);
    /* Whether the wire is to be left alone: enough waits for now. */
    void (*hold)(void *arg, bool on);
    /* There is room again after there was none. */
    void (*relieved)(void *arg);
    /* The writer will not take anything any more. */
    void (*failed)(void *arg);
};

struct intake {
    const struct intake_ops *ops;
    void *arg; /* for `ops` */
    struct runtime *runtime;
    struct batch_pool *pool;
    struct frame_ring *ring;
    struct read_ahead ahead;
    struct watermark watermark;
    struct quarantine quarantine;
    const char *provider;  /* who sent what is decoded now; shown in quarantine */
    struct batch *filling; /* NULL: none yet */
    uint32_t filling_events;
    bool pumping, refused, stopping, failed;
    bool replaying; /* the source's: what is decoded now happened before; it is not timed */
    int64_t received, staged, committed;
    int64_t cursor_due_us; /* monotonic: a unit without records may go */
    struct timer flush;
    unsigned under_way; /* batches at the writer */
    uint64_t events, records, rejected, bytes;
    int64_t last_event_us;
};

void intake_init(struct intake *intake, const struct intake_ops *ops, void *arg,
                 struct runtime *runtime, struct batch_pool *pool, const char *source,
                 size_t ring_bytes);
/* What was not handed over is forgotten, as in a crash: it will be asked for again. */
void intake_deinit(struct intake *intake);
/* Where the store says the stream stands; before the first frame. */
void intake_resume(struct intake *intake, int64_t position);
/* The stream begins here, though nothing that came says so: the next unit's cursor does. */
void intake_begin_at(struct intake *intake, int64_t position);
/* Takes a frame; RC_AGAIN when the ring is full. */
must_check enum rc intake_take(struct intake *intake, struct bytes payload, bool binary);
/* In the place of a frame that was too large to be taken. */
must_check enum rc intake_take_skipped(struct intake *intake, uint64_t bytes);
/* Whether it is worth connecting; if not, `relieved` is called once it is. */
bool intake_has_room(struct intake *intake);
/* Forgets the frames that were not decoded yet: they will come again. */
void intake_forget(struct intake *intake);
/* Decodes what can be decoded; called again whenever a batch comes free. */
void intake_pump(struct intake *intake);
/* Hands over what is there and takes nothing more. */
void intake_stop(struct intake *intake);
bool intake_idle(const struct intake *intake);

#endif
