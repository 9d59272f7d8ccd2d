/* SPDX-License-Identifier: Apache-2.0
 *
 * listen_socket.h - a socket that others connect to.
 *
 * Non-blocking and closed on exec. A unix socket is made with mode 0600 from its first moment; a
 * file that a dead process left at its path is removed, a living one's is not.
 *
 * Owner: the caller, who closes the descriptor.  Thread: any; for start-up. */
#ifndef SYS_LISTEN_SOCKET_H
#define SYS_LISTEN_SOCKET_H

#include "base/err.h"

#include <stdbool.h>

/* `address` is HOST:PORT with a numeric host: "127.0.0.1:8080", "[::1]:8080". Port 0 takes a free
 * one; `port` tells which. RC_REJECT: not an address, or it is in use. */
must_check enum rc listen_socket_tcp(const char *address, int *fd, unsigned *port, struct err *err);
bool listen_socket_is_address(const char *address);
/* Whether other machines could connect there; false for what is no address. */
bool listen_socket_is_remote(const char *address);
/* RC_REJECT: the path is too long, something else lies there, or a living process listens. */
must_check enum rc listen_socket_unix(const char *path, int *fd, struct err *err);
/* Removes a unix socket's file, before its descriptor is closed. */
void listen_socket_remove(const char *path);

#endif
