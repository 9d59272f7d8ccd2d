/* SPDX-License-Identifier: Apache-2.0
 *
 * secp256k1.h - points of the curve on which Bitcoin's keys lie, in their compressed form.
 *
 * Only public keys: nothing here is secret, and nothing takes care to be quick or slow alike.
 *
 * Thread: any.  Pure. */
#ifndef BASE_SECP256K1_H
#define BASE_SECP256K1_H

#include "base/bytes.h"

#define SECP256K1_POINT_SIZE  33
#define SECP256K1_SCALAR_SIZE 32

/* out = point + scalar * G. false: `point` is none, the scalar is not below the curve's order, or
 * the sum is at infinity. */
bool secp256k1_add_base(const uint8_t point[SECP256K1_POINT_SIZE],
                        const uint8_t scalar[SECP256K1_SCALAR_SIZE],
                        uint8_t out[SECP256K1_POINT_SIZE]);
bool secp256k1_is_point(const uint8_t point[SECP256K1_POINT_SIZE]);

#endif
