/* SPDX-License-Identifier: Apache-2.0
 *
 * id_set.h - a set of very many account ids.
 *
 * Always holds: the answer is exact, for any bytes whatsoever; the set is made for DIDs and merely
 * keeps those small. The 24 letters of a `did:plc:` id are 120 bits, which stand in the table
 * itself: 16 bytes a place. Any other id stands with its length in one run of bytes beside the
 * table. Once past its first size the table is between 9/16 and 3/4 full, so a `did:plc:` costs
 * less than 29 bytes in all; while it grows, the old and the new table are both there.
 *
 * Open addressing over a seeded XXH3, so nobody outside can choose ids that collide. Removal moves
 * the following ids up and leaves no marks, so lookups stay as fast as the count allows; the table
 * itself shrinks only when it is cleared.
 *
 * Owner: one thread, or many that only look. */
#ifndef BASE_ID_SET_H
#define BASE_ID_SET_H

#include "base/bytes.h"

/* Two words; only the set knows what they mean. All zero is a free place. */
struct id_slot {
    uint64_t head, tail;
};

struct id_set {
    struct id_slot *slots;
    size_t cap, count;
    uint64_t seed;
    struct text others;   /* ids that are no did:plc:, each after its length */
    size_t others_wasted; /* bytes of `others` whose id was removed */
};

/* Takes no memory. `seed` decides the order of walks. */
void id_set_init(struct id_set *set, uint64_t seed);
void id_set_deinit(struct id_set *set);
/* Forgets all ids and gives their memory back. */
void id_set_clear(struct id_set *set);
/* False when the id was there already. */
bool id_set_add(struct id_set *set, struct bytes id);
/* False when the id was not there. */
bool id_set_remove(struct id_set *set, struct bytes id);
bool id_set_contains(const struct id_set *set, struct bytes id);
size_t id_set_count(const struct id_set *set);
/* Bytes allocated for the table and the ids. */
size_t id_set_memory(const struct id_set *set);

#define ID_SET_PLC_LEN 32

/* Meets every id once, in no particular order. The set must not change meanwhile. */
struct id_set_walk {
    const struct id_set *set;
    size_t at;
    char plc[ID_SET_PLC_LEN];
};
struct id_set_walk id_set_walk(const struct id_set *set);
/* `id` is borrowed until the next step; false at the end. */
bool id_set_walk_next(struct id_set_walk *walk, struct bytes *id);

#endif
