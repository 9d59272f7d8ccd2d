/* SPDX-License-Identifier: Apache-2.0
 *
 * digest.h - SHA-256, the 16 bytes of it that name an event, and the hash that names a key. */
#ifndef BASE_DIGEST_H
#define BASE_DIGEST_H

#include "base/bytes.h"

#define DIGEST_SIZE     32
#define DIGEST_HEX_SIZE (DIGEST_SIZE * 2 + 1)
#define EVENT_ID_SIZE   16
#define DIGEST_160_SIZE 20

void digest_sha256(struct bytes input, uint8_t out[DIGEST_SIZE]);
/* RIPEMD-160 of SHA-256. */
void digest_hash160(struct bytes input, uint8_t out[DIGEST_160_SIZE]);
/* Lowercase hexadecimal with a NUL. */
void digest_hex(const uint8_t digest[DIGEST_SIZE], char out[DIGEST_HEX_SIZE]);
/* 64 hexadecimal digits of either case; false when it is anything else. */
bool digest_parse_hex(struct bytes hex, uint8_t out[DIGEST_SIZE]);
/* In a time that does not depend on where the two differ. */
bool digest_equal(const uint8_t a[DIGEST_SIZE], const uint8_t b[DIGEST_SIZE]);

#endif
