/* SPDX-License-Identifier: Apache-2.0
 *
 * socket_wait.h - waiting for a socket, with an end. For drivers that have a thread of their
 * own. */
#ifndef SYS_SOCKET_WAIT_H
#define SYS_SOCKET_WAIT_H

#include <stdbool.h>
#include <stdint.h>

/* True once there is something to read, or an end to be found out by reading; false when nothing
 * came for `wait_us`. */
bool socket_wait_readable(int fd, int64_t wait_us);

#endif
