/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/frame_ring.h"

#include "base/arena.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define ALIGN 16

struct header {
    uint32_t len;
    uint8_t binary;
    uint8_t gap; /* no frame here: the next one lies at the block's beginning */
    int64_t received_us;
};

_Static_assert(sizeof(struct header) == ALIGN, "a gap of one unit has room for a header");

static size_t space_for(size_t len)
{
    return (sizeof(struct header) + len + ARENA_PAD + ALIGN - 1) / ALIGN * ALIGN;
}

void frame_ring_init(struct frame_ring *ring, size_t size)
{
    size = size == 0 ? FRAME_RING_BYTES_DEFAULT : size / ALIGN * ALIGN;
    assert(size >= space_for(0) && size <= UINT32_MAX);
    *ring = (struct frame_ring){.block = memory_new(size), .size = size};
}

void frame_ring_deinit(struct frame_ring *ring)
{
    free(ring->block);
    *ring = (struct frame_ring){0};
}

/* Where `space` bytes can go in one piece, with the bytes lost on the way there in `*gap`. */
static bool find_place(const struct frame_ring *ring, size_t space, size_t *at, size_t *gap)
{
    bool wrapped = ring->count > 0 && ring->tail <= ring->head;
    size_t ahead = (wrapped ? ring->head : ring->size) - ring->tail;
    *gap = 0;
    *at = ring->tail;
    if (space <= ahead)
        return true;
    *gap = ahead;
    *at = 0;
    return !wrapped && space <= ring->head;
}

enum rc frame_ring_push(struct frame_ring *ring, struct bytes payload, bool binary,
                        int64_t received_us)
{
    size_t at, gap;
    if (payload.len > ring->size || space_for(payload.len) > ring->size)
        return RC_REJECT;
    size_t space = space_for(payload.len);
    if (!find_place(ring, space, &at, &gap))
        return RC_AGAIN;
    if (gap > 0) {
        struct header mark = {.gap = 1};
        memcpy(ring->block + ring->tail, &mark, sizeof mark);
    }
    struct header header = {(uint32_t)payload.len, binary, 0, received_us};
    char *to = ring->block + at;
    memcpy(to, &header, sizeof header);
    if (payload.len > 0)
        memcpy(to + sizeof header, payload.data, payload.len);
    memset(to + sizeof header + payload.len, 0, ARENA_PAD);
    ring->tail = at + space;
    ring->used += gap + space;
    ring->count++;
    assert(ring->used <= ring->size);
    return RC_OK;
}

bool frame_ring_peek(const struct frame_ring *ring, struct frame *out)
{
    struct header header;
    if (ring->count == 0)
        return false;
    memcpy(&header, ring->block + ring->head, sizeof header);
    assert(header.gap == 0);
    *out = (struct frame){
        .payload = bytes_make(ring->block + ring->head + sizeof header, header.len),
        .binary = header.binary != 0,
        .received_us = header.received_us,
    };
    return true;
}

/* The head stands on a frame or the ring is empty. */
static void skip_gap(struct frame_ring *ring)
{
    struct header header;
    if (ring->head < ring->size) {
        memcpy(&header, ring->block + ring->head, sizeof header);
        if (header.gap == 0)
            return;
        ring->used -= ring->size - ring->head;
    }
    ring->head = 0;
}

void frame_ring_pop(struct frame_ring *ring)
{
    struct frame frame;
    bool any = frame_ring_peek(ring, &frame);
    assert(any);
    (void)any;
    size_t space = space_for(frame.payload.len);
    assert(ring->used >= space);
    ring->head += space;
    ring->used -= space;
    if (--ring->count == 0)
        frame_ring_clear(ring);
    else
        skip_gap(ring);
}

void frame_ring_clear(struct frame_ring *ring)
{
    ring->head = ring->tail = ring->used = ring->count = 0;
}

size_t frame_ring_fill(const struct frame_ring *ring)
{
    return ring->used;
}

bool frame_ring_quarter_free(const struct frame_ring *ring)
{
    return ring->used <= ring->size - ring->size / 4;
}
