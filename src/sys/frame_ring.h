/* SPDX-License-Identifier: Apache-2.0
 *
 * frame_ring.h - raw frames waiting to be decoded.
 *
 * A server drops a client whose pong is late, so a connection is drained into this ring even while
 * nobody decodes. Always holds: frames come out whole, in order, followed by ARENA_PAD readable
 * bytes; the bytes held never exceed the size given (I6). Full is an answer, not a wait. Memory is
 * taken for what waits, and a little more; what was read is given back to the system.
 *
 * Owner: one source.  Thread: the owner's. */
#ifndef SYS_FRAME_RING_H
#define SYS_FRAME_RING_H

#include "base/bytes.h"
#include "base/rc.h"

struct frame_ring;

struct frame {
    struct bytes payload;
    bool binary;
    int64_t received_us; /* wall time it came off the wire */
    uint64_t skipped;    /* bytes of a message too large to be held, in its place; 0: it is here */
};

struct frame_ring *frame_ring_new(size_t size);
void frame_ring_free(struct frame_ring *ring);
/* Copies the frame in; RC_AGAIN when it does not fit now. */
must_check enum rc frame_ring_push(struct frame_ring *ring, const struct frame *frame);
/* The oldest frame, borrowed until it is popped; false when there is none. */
bool frame_ring_front(struct frame_ring *ring, struct frame *frame);
void frame_ring_pop(struct frame_ring *ring);
void frame_ring_clear(struct frame_ring *ring);
size_t frame_ring_used(const struct frame_ring *ring);
/* A quarter is free: it is worth connecting again. */
bool frame_ring_has_room(const struct frame_ring *ring);

#endif
