/* SPDX-License-Identifier: Apache-2.0
 *
 * extended_key.h - a public key from which the addresses of a wallet are derived (BIP32).
 *
 * How it is spelt says what its addresses look like: xpub 1... (BIP44), ypub 3... (BIP49), zpub
 * bc1q... (BIP84). Below a wallet's key lie two chains, 0 for what others pay to and 1 for change,
 * and on each one the addresses by number.
 *
 * Never takes a private key: such a text is refused and appears in no sentence. Pure; any
 * thread. */
#ifndef DECODE_EXTENDED_KEY_H
#define DECODE_EXTENDED_KEY_H

#include "base/err.h"
#include "decode/bitcoin_address.h"

#define EXTENDED_KEY_PLATFORM "bitcoin"
#define EXTENDED_KEY_CHAINS   2
#define EXTENDED_KEY_NUMBERS  UINT32_C(0x80000000) /* from there on only a private key derives */

struct extended_key {
    enum bitcoin_form form;
    uint8_t chain_code[32];
    uint8_t point[SECP256K1_POINT_SIZE];
};

/* It is spelt like one, private ones included: by its length and its first letters. */
bool extended_key_is(struct bytes text);
/* RC_REJECT: it is private, of another chain, or mistyped. */
must_check enum rc extended_key_read(struct bytes text, struct extended_key *key, struct err *err);
/* false: this number has no key (one in 2^127); the next one has. */
bool extended_key_child(const struct extended_key *parent, uint32_t number,
                        struct extended_key *child);
/* Appends the address; false as above. */
bool extended_key_address(const struct extended_key *chain, uint32_t number, struct text *out);

#endif
