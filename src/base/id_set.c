/* SPDX-License-Identifier: Apache-2.0 */
#include "base/id_set.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* The top four bits of `head` say what a slot holds; the other 60, and those of `tail`, are twelve
 * letters each of a did:plc:, or the id's hash and its place among the others. */
#define KIND_SHIFT 60
#define KIND_PLC   ((uint64_t)1)
#define KIND_OTHER ((uint64_t)2)

#define PLC_PREFIX     "did:plc:"
#define PLC_PREFIX_LEN 8
#define PLC_HALF       12
#define LETTER_BITS    5

#define CAP_FIRST ((size_t)16)
#define CAP_MAX   ((size_t)UINT32_MAX)
/* A compaction costs as much as it frees. */
#define WASTED_MIN ((size_t)4096)

/* What is looked for: a slot as it would stand in the table, and the id where it is an other. */
struct probe {
    struct id_slot slot;
    struct bytes other;
    uint32_t hash;
};

void id_set_init(struct id_set *set, uint64_t seed)
{
    *set = (struct id_set){.seed = seed};
}

void id_set_deinit(struct id_set *set)
{
    free(set->slots);
    text_free(&set->others);
    *set = (struct id_set){0};
}

void id_set_clear(struct id_set *set)
{
    uint64_t seed = set->seed;
    id_set_deinit(set);
    id_set_init(set, seed);
}

/* Twelve letters of a-z and 2-7 as 60 bits; false when one is another character. Letters and
 * digits come in no order a processor could guess, hence no branch in the loop. */
static bool pack_half(const char *letters, uint64_t *out)
{
    uint64_t packed = 0;
    unsigned bad = 0;
    for (int i = 0; i < PLC_HALF; i++) {
        unsigned letter = (unsigned)(unsigned char)letters[i] - 'a';
        unsigned digit = (unsigned)(unsigned char)letters[i] - '2';
        unsigned is_letter = letter < 26;
        bad |= (is_letter | (digit < 6)) ^ 1;
        packed = packed << LETTER_BITS | (is_letter != 0 ? letter : (digit + 26) & 31);
    }
    *out = packed;
    return bad == 0;
}

static void unpack_half(uint64_t packed, char *letters)
{
    for (int i = PLC_HALF; i-- > 0; packed >>= LETTER_BITS)
        letters[i] = "abcdefghijklmnopqrstuvwxyz234567"[packed & 31];
}

static uint64_t slot_kind(struct id_slot slot)
{
    return slot.head >> KIND_SHIFT;
}

/* The table is addressed by the upper half of a hash; an other keeps it in its slot. */
static uint32_t slot_hash(const struct id_set *set, struct id_slot slot)
{
    if (slot_kind(slot) == KIND_OTHER)
        return (uint32_t)slot.head;
    return (uint32_t)(XXH3_64bits_withSeed(&slot, sizeof slot, set->seed) >> 32);
}

static struct probe make_probe(const struct id_set *set, struct bytes id)
{
    struct probe probe = {.other = id};
    assert(id.data != NULL || id.len == 0);
    if (id.len == ID_SET_PLC_LEN && memcmp(id.data, PLC_PREFIX, PLC_PREFIX_LEN) == 0 &&
        pack_half(id.data + PLC_PREFIX_LEN, &probe.slot.head) &&
        pack_half(id.data + PLC_PREFIX_LEN + PLC_HALF, &probe.slot.tail)) {
        probe.slot.head |= KIND_PLC << KIND_SHIFT;
        probe.hash = slot_hash(set, probe.slot);
        return probe;
    }
    probe.hash = (uint32_t)(XXH3_64bits_withSeed(id.data, id.len, set->seed) >> 32);
    probe.slot = (struct id_slot){KIND_OTHER << KIND_SHIFT | probe.hash, 0};
    return probe;
}

static struct bytes other_at(const struct id_set *set, uint64_t at)
{
    uint32_t len;
    assert(at + sizeof len <= set->others.len);
    memcpy(&len, set->others.data + at, sizeof len);
    assert(len <= set->others.len - at - sizeof len);
    return bytes_make(set->others.data + at + sizeof len, len);
}

static uint64_t append_other(struct text *others, struct bytes id)
{
    uint32_t len = (uint32_t)id.len;
    uint64_t at = others->len;
    assert(id.len <= UINT32_MAX);
    text_append(others, &len, sizeof len);
    text_append(others, id.data, id.len);
    return at;
}

static bool slot_holds(const struct id_set *set, struct id_slot slot, const struct probe *probe)
{
    if (slot.head != probe->slot.head)
        return false;
    if (slot_kind(slot) == KIND_OTHER)
        return bytes_equal(other_at(set, slot.tail), probe->other);
    return slot.tail == probe->slot.tail;
}

static size_t home_of(uint32_t hash, size_t cap)
{
    return (size_t)((uint64_t)hash * cap >> 32);
}

static size_t place_after(size_t at, size_t cap)
{
    return at + 1 == cap ? 0 : at + 1;
}

/* The place of what is looked for, or the free place where it belongs. */
static size_t find_place(const struct id_set *set, const struct probe *probe)
{
    size_t at = home_of(probe->hash, set->cap);
    while (slot_kind(set->slots[at]) != 0 && !slot_holds(set, set->slots[at], probe))
        at = place_after(at, set->cap);
    return at;
}

bool id_set_contains(const struct id_set *set, struct bytes id)
{
    if (set->count == 0)
        return false;
    struct probe probe = make_probe(set, id);
    return slot_kind(set->slots[find_place(set, &probe)]) != 0;
}

static void grow(struct id_set *set)
{
    size_t cap = set->cap == 0 ? CAP_FIRST : set->cap + set->cap / 3;
    assert(cap <= CAP_MAX);
    struct id_slot *slots = memory_new_zeroed(cap, sizeof *slots);
    for (size_t i = 0; i < set->cap; i++) {
        if (slot_kind(set->slots[i]) == 0)
            continue;
        size_t at = home_of(slot_hash(set, set->slots[i]), cap);
        while (slot_kind(slots[at]) != 0)
            at = place_after(at, cap);
        slots[at] = set->slots[i];
    }
    free(set->slots);
    set->slots = slots;
    set->cap = cap;
}

bool id_set_add(struct id_set *set, struct bytes id)
{
    if (set->count >= set->cap / 4 * 3)
        grow(set);
    struct probe probe = make_probe(set, id);
    size_t at = find_place(set, &probe);
    if (slot_kind(set->slots[at]) != 0)
        return false;
    if (slot_kind(probe.slot) == KIND_OTHER)
        probe.slot.tail = append_other(&set->others, id);
    set->slots[at] = probe.slot;
    set->count++;
    return true;
}

static void compact_others(struct id_set *set)
{
    struct text kept = {0};
    for (size_t i = 0; i < set->cap; i++)
        if (slot_kind(set->slots[i]) == KIND_OTHER)
            set->slots[i].tail = append_other(&kept, other_at(set, set->slots[i].tail));
    text_free(&set->others);
    set->others = kept;
    set->others_wasted = 0;
}

/* Moves into the free place `hole` what would otherwise no longer be found behind it. */
static void close_gap(struct id_set *set, size_t hole)
{
    size_t at = hole;
    for (;;) {
        at = place_after(at, set->cap);
        if (slot_kind(set->slots[at]) == 0)
            break;
        size_t home = home_of(slot_hash(set, set->slots[at]), set->cap);
        /* An id whose home lies behind the hole is found without passing it. */
        bool behind = hole < at ? home > hole && home <= at : home > hole || home <= at;
        if (behind)
            continue;
        set->slots[hole] = set->slots[at];
        hole = at;
    }
    set->slots[hole] = (struct id_slot){0};
}

bool id_set_remove(struct id_set *set, struct bytes id)
{
    if (set->count == 0)
        return false;
    struct probe probe = make_probe(set, id);
    size_t at = find_place(set, &probe);
    if (slot_kind(set->slots[at]) == 0)
        return false;
    bool other = slot_kind(set->slots[at]) == KIND_OTHER;
    close_gap(set, at);
    set->count--;
    if (other)
        set->others_wasted += sizeof(uint32_t) + id.len;
    if (set->others_wasted > WASTED_MIN && set->others_wasted > set->others.len / 2)
        compact_others(set);
    return true;
}

size_t id_set_count(const struct id_set *set)
{
    return set->count;
}

size_t id_set_memory(const struct id_set *set)
{
    return set->cap * sizeof *set->slots + set->others.cap;
}

struct id_set_walk id_set_walk(const struct id_set *set)
{
    return (struct id_set_walk){.set = set};
}

bool id_set_walk_next(struct id_set_walk *walk, struct bytes *id)
{
    const struct id_set *set = walk->set;
    while (walk->at < set->cap && slot_kind(set->slots[walk->at]) == 0)
        walk->at++;
    if (walk->at >= set->cap)
        return false;
    struct id_slot slot = set->slots[walk->at++];
    if (slot_kind(slot) == KIND_OTHER) {
        *id = other_at(set, slot.tail);
        return true;
    }
    memcpy(walk->plc, PLC_PREFIX, PLC_PREFIX_LEN);
    unpack_half(slot.head, walk->plc + PLC_PREFIX_LEN);
    unpack_half(slot.tail, walk->plc + PLC_PREFIX_LEN + PLC_HALF);
    *id = bytes_make(walk->plc, ID_SET_PLC_LEN);
    return true;
}
