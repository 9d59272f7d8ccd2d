/* SPDX-License-Identifier: Apache-2.0
 *
 * base58.h - bytes as people copy them: without letters that look alike, and with a checksum.
 *
 * The checksum is the first four bytes of SHA-256 applied twice (Base58Check); leading zero bytes
 * are leading ones.
 *
 * Thread: any.  Pure. */
#ifndef BASE_BASE58_H
#define BASE_BASE58_H

#include "base/bytes.h"

#define BASE58_CHECK_MAX 96 /* bytes of a payload */

/* Appends the payload with its checksum. */
void base58_check_encode(struct bytes payload, struct text *out);
/* Exactly `size` bytes of payload; false: another alphabet, length or checksum. */
bool base58_check_decode(struct bytes text, uint8_t *payload, size_t size);

#endif
