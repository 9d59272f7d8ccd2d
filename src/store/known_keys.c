/* SPDX-License-Identifier: Apache-2.0 */
#include "store/known_keys.h"

#include "base/hash.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define KEY_MAX 39   /* a DID of the usual kind has 32 */
#define GROUPS  8192 /* a power of two; three times the people a filter of the firehose names */
#define WAYS    4    /* places a key may have */

struct known_key {
    uint8_t len; /* 0: nobody's place */
    char key[KEY_MAX];
};

void known_keys_deinit(struct known_keys *keys)
{
    free(keys->places);
    keys->places = NULL;
}

void known_keys_clear(struct known_keys *keys)
{
    known_keys_deinit(keys);
    assert(keys->places == NULL);
}

/* A stranger who picks keys for one group has them forgotten, nothing else. */
static size_t first_place(struct bytes key)
{
    return (size_t)(hash_bytes(key, 0) & (GROUPS - 1)) * WAYS;
}

static bool is_key(const struct known_key *place, struct bytes key)
{
    return place->len == key.len && memcmp(place->key, key.data, key.len) == 0;
}

bool known_keys_hold(const struct known_keys *keys, struct bytes key)
{
    if (keys->places == NULL || key.len == 0 || key.len > KEY_MAX)
        return false;
    const struct known_key *group = &keys->places[first_place(key)];
    for (size_t i = 0; i < WAYS; i++)
        if (is_key(&group[i], key))
            return true;
    return false;
}

/* The newest comes first, the oldest of a full group goes. */
void known_keys_add(struct known_keys *keys, struct bytes key)
{
    if (key.len == 0 || key.len > KEY_MAX || known_keys_hold(keys, key))
        return;
    if (keys->places == NULL)
        keys->places = memory_new_zeroed((size_t)GROUPS * WAYS, sizeof *keys->places);
    struct known_key *group = &keys->places[first_place(key)];
    memmove(&group[1], &group[0], (WAYS - 1) * sizeof group[0]);
    group[0].len = (uint8_t)key.len;
    memcpy(group[0].key, key.data, key.len);
    assert(known_keys_hold(keys, key));
}
