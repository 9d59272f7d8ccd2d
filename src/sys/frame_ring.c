/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/frame_ring.h"

#include "base/arena.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FRAME_ALIGN 16
/* What is read is given back to the system in such pieces, of whole pages. */
#define PIECE_BYTES    ((size_t)1 << 20)
#define PAGE_BYTES_MAX ((size_t)1 << 16)

/* Lies before each frame's bytes. A `len` of SKIP sends the reader back to the beginning. */
struct head {
    uint64_t len;
    int64_t received_us;
    uint64_t binary, skipped;
    uint64_t span; /* bytes of the ring this frame takes, head and padding included */
};

#define SKIP UINT64_MAX

/* Frames lie in [read, write) or, once wrapped, in [read, end) and [0, write). `used` tells a full
 * ring from an empty one. */
struct frame_ring {
    char *block;
    size_t size, read, write, used;
};

struct frame_ring *frame_ring_new(size_t size)
{
    assert(size >= 4096 && size % FRAME_ALIGN == 0);
    struct frame_ring *ring = memory_new_zeroed(1, sizeof *ring);
    /* cppcheck-suppress invalidFunctionArg ; of no file */
    ring->block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert(ring->block != MAP_FAILED);
    ring->size = size;
    return ring;
}

void frame_ring_free(struct frame_ring *ring)
{
    munmap(ring->block, ring->size);
    free(ring);
}

static size_t span_of(size_t len)
{
    size_t whole = sizeof(struct head) + len + ARENA_PAD;
    return (whole + FRAME_ALIGN - 1) & ~(size_t)(FRAME_ALIGN - 1);
}

/* The system gets back the pieces that [from, to) lies in, all of which was read, but for what was
 * written there since: memory is taken for what waits, not for what once did. */
static void give_back(struct frame_ring *ring, size_t from, size_t to)
{
    from = from / PIECE_BYTES * PIECE_BYTES;
    if (ring->used > 0 && ring->write <= ring->read && ring->write > from)
        from = (ring->write + PAGE_BYTES_MAX - 1) / PAGE_BYTES_MAX * PAGE_BYTES_MAX;
    if (from >= to)
        return;
    int rc = madvise(ring->block + from, to - from, MADV_DONTNEED);
    assert(rc == 0);
}

/* Everything was read: the next frame lies at the beginning, which stays in memory. */
static void begin_anew(struct frame_ring *ring)
{
    assert(ring->used == 0);
    if (ring->read > PIECE_BYTES)
        give_back(ring, ring->read, ring->read);
    ring->read = ring->write = 0;
}

/* Makes room for `span` contiguous bytes at `write`, wrapping if that helps. */
static bool make_room(struct frame_ring *ring, size_t span)
{
    if (ring->used == 0)
        begin_anew(ring);
    if (ring->write >= ring->read && (ring->used == 0 || ring->write != ring->read)) {
        size_t tail = ring->size - ring->write;
        if (tail >= span)
            return true;
        if (ring->read < span)
            return false;
        if (tail >= sizeof(struct head))
            memcpy(ring->block + ring->write, &(struct head){.len = SKIP}, sizeof(struct head));
        ring->used += tail;
        ring->write = 0;
        return true;
    }
    return ring->read - ring->write >= span;
}

enum rc frame_ring_push(struct frame_ring *ring, const struct frame *frame)
{
    struct bytes payload = frame->payload;
    assert(ring->used <= ring->size && payload.data != NULL);
    if (payload.len > ring->size)
        return RC_AGAIN;
    size_t span = span_of(payload.len);
    if (span > ring->size - ring->used || !make_room(ring, span))
        return RC_AGAIN;
    struct head head = {payload.len, frame->received_us, frame->binary, frame->skipped, span};
    char *at = ring->block + ring->write;
    memcpy(at, &head, sizeof head);
    memcpy(at + sizeof head, payload.data, payload.len);
    memset(at + sizeof head + payload.len, 0, ARENA_PAD);
    ring->write = (ring->write + span) % ring->size;
    ring->used += span;
    assert(ring->used <= ring->size);
    return RC_OK;
}

/* Steps over what was left unused at the end of the block. */
static void skip_tail(struct frame_ring *ring)
{
    size_t tail = ring->size - ring->read;
    struct head head = {.len = SKIP};
    if (tail >= sizeof head)
        memcpy(&head, ring->block + ring->read, sizeof head);
    if (head.len != SKIP)
        return;
    assert(ring->used >= tail);
    ring->used -= tail;
    if (ring->size > PIECE_BYTES)
        give_back(ring, ring->read, ring->size);
    ring->read = 0;
}

bool frame_ring_front(struct frame_ring *ring, struct frame *frame)
{
    if (ring->used > 0)
        skip_tail(ring);
    if (ring->used == 0)
        return false;
    struct head head;
    const char *at = ring->block + ring->read;
    memcpy(&head, at, sizeof head);
    *frame = (struct frame){.payload = bytes_make(at + sizeof head, head.len),
                            .binary = head.binary != 0,
                            .received_us = head.received_us,
                            .skipped = head.skipped};
    return true;
}

void frame_ring_pop(struct frame_ring *ring)
{
    struct head head;
    assert(ring->used > 0);
    memcpy(&head, ring->block + ring->read, sizeof head);
    assert(head.len != SKIP && head.span <= ring->used);
    size_t end = ring->read + head.span;
    if (end / PIECE_BYTES > ring->read / PIECE_BYTES)
        give_back(ring, ring->read, end / PIECE_BYTES * PIECE_BYTES);
    ring->read = end % ring->size;
    ring->used -= head.span;
}

void frame_ring_clear(struct frame_ring *ring)
{
    ring->used = ring->read = ring->write = 0;
    give_back(ring, 0, ring->size);
}

size_t frame_ring_used(const struct frame_ring *ring)
{
    return ring->used;
}

bool frame_ring_has_room(const struct frame_ring *ring)
{
    return ring->used <= ring->size - ring->size / 4;
}
