/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/socket_backlog.h"

#include <sys/ioctl.h>

int64_t socket_backlog(int fd)
{
    int bytes;
    return ioctl(fd, TIOCOUTQ, &bytes) == 0 ? bytes : -1;
}
