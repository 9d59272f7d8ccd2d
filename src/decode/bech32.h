/* SPDX-License-Identifier: Apache-2.0
 *
 * bech32.h - the letters and the checksum of bech32 (BIP173, BIP350), and of Bitcoin Cash's
 * addresses, which have the same letters and a longer checksum.
 *
 * Pure; any thread. */
#ifndef DECODE_BECH32_H
#define DECODE_BECH32_H

#include "base/bytes.h"

#define BECH32_CHECK_WORDS 6

/* The letter of each word of five bits. */
extern const char bech32_letters[];

/* The remainder after the prefix. */
uint32_t bech32_begin(struct bytes prefix);
/* ... after one more word. */
uint32_t bech32_fold(uint32_t sum, unsigned word);
/* The whole address, in small letters, ends as its checksum says: that of BIP173 or of BIP350. */
bool bech32_is_right(struct bytes address);
/* The same of "prefix:letters". */
bool bech32_cash_is_right(struct bytes address);

#endif
