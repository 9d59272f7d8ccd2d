/* SPDX-License-Identifier: Apache-2.0
 *
 * socket_backlog.h - what a socket was given to send and its other end has not taken.
 *
 * The kernel takes what is sent long before the other end does; only this tells one from the
 * other. Any thread. */
#ifndef SYS_SOCKET_BACKLOG_H
#define SYS_SOCKET_BACKLOG_H

#include <stdint.h>

/* Bytes, or -1 when the kernel does not say. */
int64_t socket_backlog(int fd);

#endif
