/* SPDX-License-Identifier: Apache-2.0
 *
 * secret.h - a key or password that must not be shown.
 *
 * Always holds: the bytes are a private copy, without a NUL after them, and are wiped before their
 * memory is given back. There is one way to read them, and its name says what it does, so that
 * every use can be found. No function here prints, compares or logs a secret.
 *
 * Owner: the struct that holds it.  Thread: any, once it is set. */
#ifndef BASE_SECRET_H
#define BASE_SECRET_H

#include "base/bytes.h"

/* What stands for a secret wherever one would be printed. */
#define SECRET_MASK "********"
/* Bytes from which on a word of an address may be a key; shorter ones are in many sentences. */
#define SECRET_WORD_MIN 8

struct secret {
    unsigned char *octets; /* NULL: not given */
    size_t len;
};

/* Takes a copy of `value`, wiping what was there; an absent or empty value clears it. */
void secret_set(struct secret *secret, struct bytes value);
void secret_clear(struct secret *secret);
bool secret_given(const struct secret *secret);
/* The secret itself, borrowed; absent when none was given. Only for the wire. */
struct bytes secret_reveal(const struct secret *secret);

#endif
