/* SPDX-License-Identifier: Apache-2.0
 *
 * arena.h - memory that is given back all at once.
 *
 * Always holds: used <= size, and every pointer handed out stays valid and unmoved until the next
 * reset. The block is taken once; a full arena answers NULL and its owner treats that as "batch
 * full", never as a failure. Every copy of bytes is followed by ARENA_PAD readable bytes, which a
 * SIMD parser may touch.
 *
 * Owner: whoever holds the pointer; not shared between threads. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/bytes.h"

#define ARENA_PAD 64

struct arena {
    char *block;
    size_t used, size;
};

void arena_init(struct arena *arena, size_t size);
void arena_deinit(struct arena *arena);
void arena_reset(struct arena *arena);
/* 16-byte aligned, not zeroed; NULL when it does not fit. */
void *arena_take(struct arena *arena, size_t size);
/* A copy of `from` inside the arena; absent when it does not fit or `from` is absent. */
struct bytes arena_copy(struct arena *arena, struct bytes from);
size_t arena_left(const struct arena *arena);

#endif
