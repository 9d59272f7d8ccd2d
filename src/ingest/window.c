/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/window.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static bool sane(const struct window *window)
{
    return window->size > 0 && window->count <= window->size &&
           window->count <= window->added; /* (I6) */
}

static uint32_t home_of(const struct window *window, const struct window_id *id)
{
    uint64_t high, low;
    memcpy(&high, id->byte, sizeof high);
    memcpy(&low, id->byte + sizeof high, sizeof low);
    uint64_t mixed = (high ^ low * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xd6e8feb86659fd93);
    return (uint32_t)(mixed >> 32) & window->mask;
}

static bool same(const struct window_id *a, const struct window_id *b)
{
    return memcmp(a->byte, b->byte, sizeof a->byte) == 0;
}

/* Where the id is, or the free place where it would go: the table is never more than half full. */
static uint32_t place_of(const struct window *window, const struct window_id *id)
{
    uint32_t at = home_of(window, id);
    while (window->table[at] != 0 && !same(&window->ring[window->table[at] - 1], id))
        at = (at + 1) & window->mask;
    return at;
}

/* Frees a place and moves up what was pushed past it, so that no search meets a false end. */
static void vacate(struct window *window, uint32_t hole)
{
    uint32_t mask = window->mask;
    assert(window->table[hole] != 0);
    assert(window->count > 0);
    for (uint32_t at = (hole + 1) & mask; window->table[at] != 0; at = (at + 1) & mask) {
        uint32_t home = home_of(window, &window->ring[window->table[at] - 1]);
        if (((at - home) & mask) < ((at - hole) & mask))
            continue; /* its search begins behind the hole */
        window->table[hole] = window->table[at];
        hole = at;
    }
    window->table[hole] = 0;
}

static void forget(struct window *window, uint64_t addition)
{
    const struct window_id *id = &window->ring[addition % window->size];
    uint32_t at = place_of(window, id);
    assert(window->table[at] == addition % window->size + 1);
    assert(window->count > 0);
    vacate(window, at);
    window->count--;
}

void window_init(struct window *window, uint32_t size)
{
    assert(size > 0);
    assert(size <= WINDOW_SIZE_MAX);
    uint32_t places = 2;
    while (places < size * 2)
        places *= 2;
    *window = (struct window){.size = size, .mask = places - 1};
    window->ring = memory_new_zeroed(size, sizeof *window->ring);
    window->table = memory_new_zeroed(places, sizeof *window->table);
}

void window_deinit(struct window *window)
{
    assert(sane(window));
    assert(window->ring != NULL && window->table != NULL);
    free(window->ring);
    free(window->table);
    *window = (struct window){0};
}

void window_clear(struct window *window)
{
    assert(sane(window));
    memset(window->table, 0, (window->mask + 1) * sizeof *window->table);
    window->count = 0;
    assert(sane(window));
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool window_seed(struct window *window, struct bytes last_transaction_id)
{
    struct window_id id;
    assert(sane(window));
    assert(last_transaction_id.data != NULL || last_transaction_id.len == 0);
    if (last_transaction_id.len != 2 * sizeof id.byte)
        return false;
    for (size_t i = 0; i < sizeof id.byte; i++) {
        int high = hex_digit(last_transaction_id.data[2 * i]);
        int low = hex_digit(last_transaction_id.data[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        id.byte[i] = (uint8_t)(high * 16 + low);
    }
    window_add(window, &id);
    return true;
}

bool window_add(struct window *window, const struct window_id *id)
{
    assert(sane(window));
    uint32_t at = place_of(window, id);
    if (window->table[at] != 0)
        return false;
    if (window->count == window->size) {
        forget(window, window->added - window->count);
        at = place_of(window, id); /* the shift may have opened a place nearer home */
    }
    assert(window->count < window->size);
    uint32_t index = (uint32_t)(window->added++ % window->size);
    window->ring[index] = *id;
    window->table[at] = (uint16_t)(index + 1);
    window->count++;
    return true;
}

bool window_contains(const struct window *window, const struct window_id *id)
{
    assert(sane(window));
    assert(id != NULL);
    return window->table[place_of(window, id)] != 0;
}

uint64_t window_mark(const struct window *window)
{
    assert(sane(window));
    assert(window->table != NULL);
    return window->added;
}

void window_rewind(struct window *window, uint64_t mark)
{
    assert(sane(window));
    assert(mark <= window->added);
    while (window->added > mark && window->count > 0) {
        forget(window, window->added - 1);
        window->added--;
    }
    if (window->added > mark) /* emptied: everything older was pushed out already */
        window->added = mark;
    assert(sane(window));
}
