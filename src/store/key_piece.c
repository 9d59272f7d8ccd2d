/* SPDX-License-Identifier: Apache-2.0 */
#include "store/key_piece.h"

#include <assert.h>
#include <string.h>

struct key_piece key_piece_all(void)
{
    return (struct key_piece){.bits = KEY_PIECE_BITS};
}

void key_piece_halve(struct key_piece *piece)
{
    piece->bits -= piece->bits > 0;
}

/* 0: it reaches to the last key. */
static uint64_t find_end(const struct key_piece *piece)
{
    assert(piece->bits <= KEY_PIECE_BITS);
    return piece->bits == KEY_PIECE_BITS ? 0 : piece->from + (UINT64_C(1) << piece->bits);
}

bool key_piece_next(struct key_piece *piece)
{
    uint64_t end = find_end(piece);
    if (end == 0)
        return false;
    piece->from = end;
    piece->bits += (end >> piece->bits & 1) == 0; /* it was a second half */
    return true;
}

static struct bytes write_key(uint64_t head, char room[KEY_PIECE_KEY_MAX])
{
    for (size_t i = 0; i < sizeof head; i++)
        room[i] = (char)(uint8_t)(head >> (56 - 8 * i));
    return bytes_make(room, sizeof head);
}

struct bytes key_piece_first(const struct key_piece *piece, char room[KEY_PIECE_KEY_MAX])
{
    return write_key(piece->from, room);
}

struct bytes key_piece_end(const struct key_piece *piece, char room[KEY_PIECE_KEY_MAX])
{
    uint64_t end = find_end(piece);
    if (end != 0)
        return write_key(end, room);
    memset(room, 0xff, KEY_PIECE_KEY_MAX);
    return bytes_make(room, KEY_PIECE_KEY_MAX);
}
