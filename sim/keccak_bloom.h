/* SPDX-License-Identifier: Apache-2.0
 *
 * keccak_bloom.h - what a header says of the logs of its block, in 2,048 bits. */
#ifndef SIM_KECCAK_BLOOM_H
#define SIM_KECCAK_BLOOM_H

#include "base/bytes.h"

#define BLOOM_BYTES 256

/* Sets the three bits that an address or a topic has. */
void bloom_add(uint8_t bloom[BLOOM_BYTES], struct bytes name);

#endif
