/* SPDX-License-Identifier: Apache-2.0
 *
 * lock_file.h - one process at a time.
 *
 * The lock is `flock` on PATH.lock, which holds the pid of its owner for people to read. The kernel
 * releases it however the process ends. */
#ifndef SYS_LOCK_FILE_H
#define SYS_LOCK_FILE_H

#include "base/bytes.h"
#include "base/err.h"

/* Locks `path`.lock, making missing folders. RC_REJECT: another process has it, or it cannot be
 * made; the sentence says which. */
must_check enum rc lock_file_take(const char *path, int *fd, struct err *err);
void lock_file_release(int fd); /* -1 is allowed */
/* Whether another process has the lock; appends its name ("pid 12") then. Taking a lock outlasts
 * such a look. */
bool lock_file_is_held(const char *path, struct text *owner);

#endif
