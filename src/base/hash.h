/* SPDX-License-Identifier: Apache-2.0
 *
 * hash.h - a fast hash for tables in memory; never stored, never sent. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "base/bytes.h"

/* With a secret seed where a stranger picks the keys. */
uint64_t hash_bytes(struct bytes input, uint64_t seed);

#endif
