/* SPDX-License-Identifier: Apache-2.0
 *
 * key_piece.h - all keys of a table, a piece at a time.
 *
 * A key is bytes, compared as bytes. A piece is what lies between two of them, the first included:
 * it begins as everything, is halved when it is too much, and is followed by the next one. Behind
 * the second half the next piece is as wide again as the whole of both: one slow moment does not
 * leave small pieces for ever.
 *
 * Always holds: the pieces of one round follow each other without a gap and without overlap, from
 * the first key to the last. They are cut at the first eight bytes, so keys that begin alike cannot
 * be told apart; those of a digest are spread evenly.
 *
 * Owner: whoever asks.  Thread: any.  Pure. */
#ifndef STORE_KEY_PIECE_H
#define STORE_KEY_PIECE_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stdint.h>

#define KEY_PIECE_BITS    64
#define KEY_PIECE_KEY_MAX 64 /* no key of a table is longer */

struct key_piece {
    uint64_t from; /* the first eight bytes of its first key */
    unsigned bits; /* it is 2^bits of them wide */
};

struct key_piece key_piece_all(void);
/* The first half of it; where it cannot be halved it stays. */
void key_piece_halve(struct key_piece *piece);
/* What comes behind it; false: nothing does. */
bool key_piece_next(struct key_piece *piece);
/* Its first key, and the first that it does not hold; written to `room`. */
struct bytes key_piece_first(const struct key_piece *piece, char room[KEY_PIECE_KEY_MAX]);
struct bytes key_piece_end(const struct key_piece *piece, char room[KEY_PIECE_KEY_MAX]);

#endif
