/* SPDX-License-Identifier: Apache-2.0
 *
 * fd_watch.h - a loop that watches a descriptor somebody else owns.
 *
 * The function is called while the descriptor is ready, until the watch is freed or told to watch
 * for nothing. The descriptor must stay open as long as it is watched.
 *
 * Owner: whoever made it, who frees it before the loop.  Thread: the loop's. */
#ifndef SYS_FD_WATCH_H
#define SYS_FD_WATCH_H

#include "sys/loop.h"

#include <stdbool.h>

struct fd_watch;

typedef void fd_watch_fn(void *arg, bool readable, bool writable);

/* Watches for nothing at first. */
struct fd_watch *fd_watch_new(struct loop *loop, int fd, fd_watch_fn *fn, void *arg);
void fd_watch_set(struct fd_watch *watch, bool readable, bool writable);
/* Watches for one thing only: that the other end says no more. Told as readable; what it said
 * before may be unread. */
void fd_watch_set_hang_up(struct fd_watch *watch);
void fd_watch_free(struct fd_watch *watch);

#endif
