/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/socket_wait.h"

#include "sys/clock.h"

#include <errno.h>
#include <poll.h>

bool socket_wait_readable(int fd, int64_t wait_us)
{
    int64_t end = clock_mono_us() + wait_us;
    for (;;) {
        struct pollfd one = {.fd = fd, .events = POLLIN};
        int64_t left_ms = (end - clock_mono_us() + 999) / 1000;
        int ready = poll(&one, 1, left_ms < 0 ? 0 : (int)left_ms);
        if (ready > 0 || (ready < 0 && errno != EINTR))
            return true;
        if (ready == 0)
            return false;
    }
}
