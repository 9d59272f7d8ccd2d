/* SPDX-License-Identifier: Apache-2.0
 *
 * keccak.h - Keccak-256, as Ethereum hashes names of events and addresses in blooms.
 *
 * The padding is Keccak's own, not that of SHA-3: the library at hand has only the latter. Pure;
 * any thread. */
#ifndef DECODE_KECCAK_H
#define DECODE_KECCAK_H

#include "base/bytes.h"

#define KECCAK_SIZE 32

void keccak_256(struct bytes input, uint8_t out[KECCAK_SIZE]);

#endif
