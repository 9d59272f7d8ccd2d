/* SPDX-License-Identifier: Apache-2.0
 *
 * murmur.h - the hash that spreads the names of a directory over its shards: murmur3, of the kind
 * for 64-bit machines, the first 64 of its 128 bits, seed 0. It guards nothing.
 *
 * Pure; any thread. */
#ifndef DECODE_MURMUR_H
#define DECODE_MURMUR_H

#include "base/bytes.h"

uint64_t murmur3_64(struct bytes text);

#endif
