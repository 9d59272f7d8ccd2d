/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_ALIGN 16

void arena_init(struct arena *arena, size_t size)
{
    assert(size > 0);
    *arena = (struct arena){memory_new(size + ARENA_PAD), 0, size};
    memset(arena->block + size, 0, ARENA_PAD);
}

void arena_deinit(struct arena *arena)
{
    free(arena->block);
    *arena = (struct arena){0};
}

void arena_reset(struct arena *arena)
{
    assert(arena->block != NULL);
    arena->used = 0;
}

void *arena_take(struct arena *arena, size_t size)
{
    assert(arena->used <= arena->size);
    size_t start = (arena->used + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
    if (start > arena->size || arena->size - start < size)
        return NULL;
    arena->used = start + size;
    return arena->block + start;
}

struct bytes arena_copy(struct arena *arena, struct bytes from)
{
    if (from.data == NULL)
        return BYTES_ABSENT;
    char *to = arena_take(arena, from.len);
    if (to == NULL)
        return BYTES_ABSENT;
    if (from.len > 0)
        memcpy(to, from.data, from.len);
    return bytes_make(to, from.len);
}

size_t arena_left(const struct arena *arena)
{
    return arena->size - arena->used;
}
