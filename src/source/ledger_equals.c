/* SPDX-License-Identifier: Apache-2.0 */
#include "source/ledger_equals.h"

#include "base/bytes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_MIN 64

void ledger_equals_init(struct ledger_equals *equals, size_t max)
{
    assert(max > 0);
    *equals = (struct ledger_equals){.block = INT64_MIN, .size = SLOTS_MIN, .max = max};
    equals->slots = memory_new_zeroed(SLOTS_MIN, sizeof *equals->slots);
}

void ledger_equals_deinit(struct ledger_equals *equals)
{
    free(equals->slots);
    *equals = (struct ledger_equals){0};
}

void ledger_equals_clear(struct ledger_equals *equals)
{
    if (equals->used > 0)
        memset(equals->slots, 0, equals->size * sizeof *equals->slots);
    equals->used = 0;
    equals->block = INT64_MIN;
}

/* The place of a key, or the free one where it belongs. Keys are digests: any part is a hash. */
static struct ledger_equal *find(struct ledger_equal *slots, size_t size,
                                 const uint8_t key[EVENT_ID_SIZE])
{
    uint64_t hash;
    memcpy(&hash, key, sizeof hash);
    size_t at = hash & (size - 1);
    while (slots[at].count > 0 && memcmp(slots[at].key, key, EVENT_ID_SIZE) != 0)
        at = (at + 1) & (size - 1);
    return &slots[at];
}

static void grow(struct ledger_equals *equals)
{
    size_t size = equals->size * 2;
    struct ledger_equal *slots = memory_new_zeroed(size, sizeof *slots);
    for (size_t i = 0; i < equals->size; i++)
        if (equals->slots[i].count > 0)
            *find(slots, size, equals->slots[i].key) = equals->slots[i];
    free(equals->slots);
    equals->slots = slots;
    equals->size = size;
}

enum rc ledger_equals_count(struct ledger_equals *equals, int64_t block,
                            const uint8_t key[EVENT_ID_SIZE], uint32_t *ordinal)
{
    if (equals->block != block) {
        ledger_equals_clear(equals);
        equals->block = block;
    }
    struct ledger_equal *slot = find(equals->slots, equals->size, key);
    if (slot->count == 0) {
        if (equals->used == equals->max)
            return RC_REJECT;
        if (equals->used * 2 >= equals->size) {
            grow(equals);
            slot = find(equals->slots, equals->size, key);
        }
        memcpy(slot->key, key, EVENT_ID_SIZE);
        equals->used++;
    }
    assert(equals->used <= equals->size / 2 + 1 && slot->count < UINT32_MAX);
    *ordinal = slot->count++;
    return RC_OK;
}
