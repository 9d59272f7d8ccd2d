/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <xxhash.h>

uint64_t hash_bytes(struct bytes input, uint64_t seed)
{
    return XXH3_64bits_withSeed(input.data == NULL ? "" : input.data, input.len, seed);
}
