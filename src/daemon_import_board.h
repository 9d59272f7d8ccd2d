/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_import_board.h - where the imports of a running daemon are shown to whoever follows them.
 *
 * The last import of each of some accounts, under way or over; the one that ended first makes room.
 * Where all places are taken by imports under way, a further one is not shown.
 *
 * Owner: the daemon's ledger.  Thread: put on the ingest loop, get anywhere. */
#ifndef DAEMON_IMPORT_BOARD_H
#define DAEMON_IMPORT_BOARD_H

#include "cli/import_progress.h"

struct import_board;

struct import_board *import_board_new(void);
void import_board_free(struct import_board *board);
void import_board_put(struct import_board *board, const struct import_progress *progress);
/* false: nothing is known of it. */
bool import_board_get(struct import_board *board, const char *account,
                      struct import_progress *progress);

#endif
