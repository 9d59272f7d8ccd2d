/* SPDX-License-Identifier: Apache-2.0
 *
 * file_move.h - gives a file another name, on another disk if need be.
 *
 * Always holds: no file is overwritten, none of the new name is ever half there, and one that is
 * outlasts a power cut.
 *
 * Thread: any; the call blocks. */
#ifndef CLI_FILE_MOVE_H
#define CLI_FILE_MOVE_H

#include "base/err.h"

/* RC_REJECT: there is a file of that name, or none can be made; `from` is where it was. */
must_check enum rc file_move(const char *from, const char *to, struct err *err);
/* `to` is a whole path. RC_REJECT: file_move() to there would fail. */
must_check enum rc file_move_check(const char *to, struct err *err);

#endif
