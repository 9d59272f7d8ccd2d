/* SPDX-License-Identifier: Apache-2.0
 *
 * bitcoin_address.h - the address at which a public key is paid on Bitcoin's main chain.
 *
 * Pure; any thread. */
#ifndef DECODE_BITCOIN_ADDRESS_H
#define DECODE_BITCOIN_ADDRESS_H

#include "base/secp256k1.h"

enum bitcoin_form {
    BITCOIN_LEGACY,        /* "1...": pays to the key's hash (P2PKH) */
    BITCOIN_NESTED_SEGWIT, /* "3...": the same by a witness, inside a script (P2SH-P2WPKH) */
    BITCOIN_SEGWIT,        /* "bc1q...": by a witness (P2WPKH) */
};

/* Appends the address. */
void bitcoin_address(enum bitcoin_form form, const uint8_t point[SECP256K1_POINT_SIZE],
                     struct text *out);

#endif
