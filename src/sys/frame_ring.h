/* SPDX-License-Identifier: Apache-2.0
 *
 * frame_ring.h - raw messages between a websocket and whoever is slower than it.
 *
 * A fixed block of memory. Each frame lies in one piece with ARENA_PAD readable bytes behind it, in
 * the order of arrival. When a frame does not fit, it is refused and the ring stays as it was: the
 * reader goes on answering pings, and its owner decides how long to wait before it hangs up.
 *
 * Owner: one source.  Thread: its loop's only. */
#ifndef SYS_FRAME_RING_H
#define SYS_FRAME_RING_H

#include "base/bytes.h"
#include "base/rc.h"

#define FRAME_RING_BYTES_DEFAULT (16u * 1024 * 1024)

struct frame_ring {
    char *block;
    size_t size;
    size_t head, tail; /* where the oldest frame lies, where the next will */
    size_t used;       /* bytes of frames and of the gap left at the block's end */
    size_t count;
};

struct frame {
    struct bytes payload; /* lies in the ring until it is popped */
    bool binary;
    int64_t received_us;
};

/* `size` 0: the default. */
void frame_ring_init(struct frame_ring *ring, size_t size);
void frame_ring_deinit(struct frame_ring *ring);

/* RC_AGAIN: full for now. RC_REJECT: larger than the whole ring. */
must_check enum rc frame_ring_push(struct frame_ring *ring, struct bytes payload, bool binary,
                                   int64_t received_us);
/* The oldest frame; false when there is none. It stays until frame_ring_pop(). */
bool frame_ring_peek(const struct frame_ring *ring, struct frame *out);
void frame_ring_pop(struct frame_ring *ring);
/* Forgets every frame. */
void frame_ring_clear(struct frame_ring *ring);

size_t frame_ring_fill(const struct frame_ring *ring); /* bytes in use, of `size` */
bool frame_ring_quarter_free(const struct frame_ring *ring);

#endif
