/* SPDX-License-Identifier: Apache-2.0
 *
 * sign.h - proving to an exchange that a request is ours.
 *
 * Keys are borrowed for the call and never appear in a sentence; what was derived from one is wiped
 * before its memory is given back.
 *
 * Thread: any.  Pure: time and chance are the caller's. */
#ifndef BASE_SIGN_H
#define BASE_SIGN_H

#include "base/bytes.h"
#include "base/err.h"

#define SIGN_HMAC_SIZE  64
#define SIGN_ES256_SIZE 64

/* Appends base64: with padding, or the URL's alphabet without. */
void sign_base64(struct bytes input, struct text *out);
void sign_base64_url(struct bytes input, struct text *out);
/* Appends what padded base64 stands for; false, and nothing appended, when it is none. */
must_check bool sign_base64_decode(struct bytes input, struct text *out);

void sign_hmac_sha512(struct bytes key, struct bytes input, uint8_t out[SIGN_HMAC_SIZE]);
/* ECDSA on P-256 over SHA-256 of `input`, as r || s. RC_REJECT: `pem` is no such private key (SEC1
 * or PKCS#8, without a password; line ends may be written as \n). */
must_check enum rc sign_es256(struct bytes pem, struct bytes input, uint8_t out[SIGN_ES256_SIZE],
                              struct err *err);

#endif
