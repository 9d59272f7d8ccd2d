/* SPDX-License-Identifier: Apache-2.0
 *
 * name_board.h - the names that one thread has under way, for others to look at.
 *
 * A fixed number of places (I6); a place has one name or none, and what is kept of a name is a
 * secret hash of it. Whoever looks never waits and never holds the writer up: a name that is put up
 * before the look began, and not taken down before it ended, is found; one that never stood there
 * is not.
 *
 * Owner: its writer.  Thread: one writes, any may look. */
#ifndef SYS_NAME_BOARD_H
#define SYS_NAME_BOARD_H

#include "base/bytes.h"

struct name_board;

struct name_board *name_board_new(uint32_t places, uint64_t seed);
void name_board_free(struct name_board *board); /* NULL is allowed */
void name_board_put(struct name_board *board, uint32_t place, struct bytes name);
void name_board_clear(struct name_board *board, uint32_t place);
/* Any thread. */
bool name_board_has(const struct name_board *board, struct bytes name);

#endif
