/* SPDX-License-Identifier: Apache-2.0
 *
 * uuid.h - random (version 4) UUIDs as text. The randomness comes from the caller. */
#ifndef BASE_UUID_H
#define BASE_UUID_H

#include "base/bytes.h"

#define UUID_TEXT_SIZE 37

/* Sets version and variant bits in `random` and writes 36 characters and a NUL. */
void uuid_format(const uint8_t random[16], char out[UUID_TEXT_SIZE]);
/* 32 hex digits of either case, with all four dashes at their places or with none; any version.
 * False otherwise, and `out` is then untouched. */
bool uuid_parse(struct bytes text, uint8_t out[16]);

#endif
