/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/name_board.h"

#include "base/hash.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

#define EMPTY 0

struct name_board {
    uint64_t seed;
    uint32_t count;
    atomic_uint_least32_t end; /* places from it on never had a name */
    atomic_uint_least64_t *places;
};

static uint64_t mark_of(const struct name_board *board, struct bytes name)
{
    uint64_t mark = hash_bytes(name, board->seed);
    return mark == EMPTY ? 1 : mark;
}

struct name_board *name_board_new(uint32_t places, uint64_t seed)
{
    struct name_board *board = memory_new_zeroed(1, sizeof *board);
    assert(places > 0);
    board->seed = seed;
    board->count = places;
    board->places = memory_new_zeroed(places, sizeof *board->places);
    return board;
}

void name_board_free(struct name_board *board)
{
    if (board == NULL)
        return;
    free(board->places);
    free(board);
}

void name_board_put(struct name_board *board, uint32_t place, struct bytes name)
{
    assert(place < board->count);
    atomic_store_explicit(&board->places[place], mark_of(board, name), memory_order_release);
    if (place >= atomic_load_explicit(&board->end, memory_order_relaxed))
        atomic_store_explicit(&board->end, place + 1, memory_order_release);
}

void name_board_clear(struct name_board *board, uint32_t place)
{
    assert(place < board->count);
    atomic_store_explicit(&board->places[place], EMPTY, memory_order_release);
}

bool name_board_has(const struct name_board *board, struct bytes name)
{
    uint64_t mark = mark_of(board, name);
    uint32_t end = atomic_load_explicit(&board->end, memory_order_acquire);
    for (uint32_t i = 0; i < end; i++)
        if (atomic_load_explicit(&board->places[i], memory_order_acquire) == mark)
            return true;
    return false;
}
