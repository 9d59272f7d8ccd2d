/* SPDX-License-Identifier: Apache-2.0
 *
 * digest.h - SHA-256, and the 16 bytes of it that name an event. */
#ifndef BASE_DIGEST_H
#define BASE_DIGEST_H

#include "base/bytes.h"

#define DIGEST_SIZE     32
#define DIGEST_HEX_SIZE (DIGEST_SIZE * 2 + 1)
#define EVENT_ID_SIZE   16

void digest_sha256(struct bytes input, uint8_t out[DIGEST_SIZE]);
/* Lowercase hexadecimal with a NUL. */
void digest_hex(const uint8_t digest[DIGEST_SIZE], char out[DIGEST_HEX_SIZE]);

#endif
