/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/owed_table.h"

#include "base/hash.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define NO_PLACE UINT32_MAX

static bool sane(const struct owed *owed)
{
    return owed->count <= owed->settings.items_max && owed->running <= owed->count &&
           owed->waiting.count <= owed->count; /* (I6) */
}

static void never_called(void *arg)
{
    (void)arg; /* due items are taken by their owner */
}

void owed_table_init(struct owed *owed)
{
    uint32_t items = owed->settings.items_max, places = 2;
    assert(items > 0 && items <= OWED_ITEMS_MAX);
    while (places < items * 2)
        places *= 2;
    owed->mask = places - 1;
    owed->table = memory_new_zeroed(places, sizeof *owed->table);
    owed->items = memory_new_zeroed(items, sizeof *owed->items);
    for (uint32_t i = 0; i < items; i++)
        owed->items[i].next_free = i + 1 < items ? i + 1 : NO_PLACE;
    assert(sane(owed));
}

void owed_table_deinit(struct owed *owed)
{
    assert(owed->items != NULL && owed->table != NULL);
    assert(sane(owed));
    while (owed->waiting.count > 0)
        timer_heap_disarm(&owed->waiting, owed->waiting.items[owed->waiting.count - 1]);
    timer_heap_deinit(&owed->waiting);
    free(owed->items);
    free(owed->table);
}

uint32_t owed_table_index(const struct owed *owed, const struct owed_item *item)
{
    assert(item >= owed->items);
    assert(item < owed->items + owed->settings.items_max);
    return (uint32_t)(item - owed->items);
}

static struct bytes name_of(const struct owed_item *item)
{
    return bytes_of(item->item);
}

static uint32_t home_of(const struct owed *owed, struct bytes name)
{
    return (uint32_t)hash_bytes(name, owed->settings.seed) & owed->mask;
}

static uint32_t place_of(const struct owed *owed, struct bytes name)
{
    uint32_t at = home_of(owed, name);
    while (owed->table[at] != 0 && !bytes_equal(name_of(&owed->items[owed->table[at] - 1]), name))
        at = (at + 1) & owed->mask;
    return at;
}

bool owed_table_accepts(struct bytes name)
{
    return name.data != NULL && name.len > 0 && name.len <= OWED_ITEM_MAX &&
           memchr(name.data, '\0', name.len) == NULL;
}

struct owed_item *owed_table_find(const struct owed *owed, struct bytes name)
{
    assert(name.len > 0 && name.len <= OWED_ITEM_MAX);
    uint32_t at = place_of(owed, name);
    assert(owed->table[at] <= owed->settings.items_max);
    return owed->table[at] == 0 ? NULL : &owed->items[owed->table[at] - 1];
}

struct owed_item *owed_table_add_if_free(struct owed *owed, struct bytes name)
{
    assert(sane(owed) && owed_table_find(owed, name) == NULL);
    assert(memchr(name.data, '\0', name.len) == NULL);
    if (owed->free == NO_PLACE)
        return NULL;
    uint32_t index = owed->free;
    struct owed_item *item = &owed->items[index];
    uint32_t generation = item->generation + 1;
    assert(item->place == OWED_FREE);
    owed->free = item->next_free;
    *item = (struct owed_item){.generation = generation, .due = {.fn = never_called}};
    memcpy(item->item, name.data, name.len);
    owed->table[place_of(owed, name)] = (uint16_t)(index + 1);
    owed->count++;
    return item;
}

struct owed_item *owed_table_add(struct owed *owed, struct bytes name)
{
    assert(sane(owed));
    struct owed_item *item = owed_table_add_if_free(owed, name);
    if (item != NULL)
        return item;
    /* While the store is being read nothing is forgotten, so leaving makes no room. */
    if (owed->waiting.count == 0 || owed->loading)
        return NULL;
    /* The last of the heap is a leaf: others are due before it. */
    owed_table_leave(owed, (struct owed_item *)owed->waiting.items[owed->waiting.count - 1]);
    item = owed_table_add_if_free(owed, name);
    assert(item != NULL);
    return item;
}

/* Takes the name out of the table and moves up what was pushed past it. */
static void vacate(struct owed *owed, uint32_t hole)
{
    uint32_t mask = owed->mask;
    assert(owed->table[hole] != 0);
    assert(owed->count > 0);
    for (uint32_t at = (hole + 1) & mask; owed->table[at] != 0; at = (at + 1) & mask) {
        uint32_t home = home_of(owed, name_of(&owed->items[owed->table[at] - 1]));
        if (((at - home) & mask) < ((at - hole) & mask))
            continue; /* its search begins behind the hole */
        owed->table[hole] = owed->table[at];
        hole = at;
    }
    owed->table[hole] = 0;
}

static void unlink_staged(struct owed *owed, struct owed_item *item)
{
    assert(item->batch != NULL);
    assert(item->previous_staged != NULL || owed->staged == item);
    if (item->previous_staged == NULL)
        owed->staged = item->next_staged;
    else
        item->previous_staged->next_staged = item->next_staged;
    if (item->next_staged != NULL)
        item->next_staged->previous_staged = item->previous_staged;
    item->next_staged = item->previous_staged = NULL;
}

/* Out of whatever list its place has it in. */
static void detach(struct owed *owed, struct owed_item *item)
{
    assert(item->batch == NULL || item->place == OWED_PUTTING || item->place == OWED_ENDING);
    timer_heap_disarm(&owed->waiting, &item->due);
    if (item->batch != NULL)
        unlink_staged(owed, item);
    item->batch = NULL;
    if (item->place == OWED_RUNNING) {
        assert(owed->running > 0);
        owed->running--;
    }
}

static void release_place(struct owed *owed, struct owed_item *item)
{
    uint32_t index = owed_table_index(owed, item);
    uint32_t at = place_of(owed, name_of(item));
    assert(owed->table[at] == index + 1);
    vacate(owed, at);
    item->place = OWED_FREE;
    item->next_free = owed->free;
    owed->free = index;
    owed->count--;
    assert(sane(owed));
}

void owed_table_remove(struct owed *owed, struct owed_item *item)
{
    assert(item->place != OWED_FREE);
    detach(owed, item);
    assert(item->batch == NULL && item->due.index == 0);
    if (owed->loading)
        item->place = OWED_GONE;
    else
        release_place(owed, item);
}

void owed_table_leave(struct owed *owed, struct owed_item *item)
{
    assert(item->place != OWED_RUNNING);
    assert(item->durable || item->batch != NULL);
    owed->more = true;
    owed->spilled |= owed->loading;
    owed_table_remove(owed, item);
}

void owed_table_sweep(struct owed *owed)
{
    assert(!owed->loading);
    for (uint32_t i = 0; i < owed->settings.items_max; i++)
        if (owed->items[i].place == OWED_GONE)
            release_place(owed, &owed->items[i]);
    assert(sane(owed));
}

void owed_table_wait(struct owed *owed, struct owed_item *item, int64_t at_us)
{
    detach(owed, item);
    assert(item->durable);
    item->place = OWED_WAITING;
    timer_heap_arm(&owed->waiting, &item->due, at_us);
    assert(sane(owed));
}

void owed_table_stage(struct owed *owed, struct owed_item *item, const struct batch *batch,
                      enum owed_place place)
{
    assert(place == OWED_PUTTING || place == OWED_ENDING);
    detach(owed, item);
    item->place = place;
    item->batch = batch;
    item->next_staged = owed->staged;
    if (owed->staged != NULL)
        owed->staged->previous_staged = item;
    owed->staged = item;
    assert(batch != NULL);
}

void owed_table_run(struct owed *owed, struct owed_item *item)
{
    assert(item->place == OWED_WAITING && item->batch == NULL);
    timer_heap_disarm(&owed->waiting, &item->due);
    item->place = OWED_RUNNING;
    item->generation++; /* earlier tickets are used up */
    owed->running++;
    assert(sane(owed));
}
