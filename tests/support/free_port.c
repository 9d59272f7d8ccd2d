/* SPDX-License-Identifier: Apache-2.0 */
#include "free_port.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define LOWEST    10240u
#define SPAN_MIN  1000u
#define TRIES_MAX 1000

/* How many ports there are between ours and those of outgoing connections. */
static unsigned span(void)
{
    unsigned outgoing = 0;
    FILE *file = fopen("/proc/sys/net/ipv4/ip_local_port_range", "r");
    if (file != NULL) {
        if (fscanf(file, "%u", &outgoing) != 1)
            outgoing = 0;
        fclose(file);
    }
    return outgoing < LOWEST + SPAN_MIN ? SPAN_MIN : outgoing - LOWEST;
}

static bool is_free(unsigned port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((in_port_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    bool bound = bind(fd, (const struct sockaddr *)&address, sizeof address) == 0;
    close(fd);
    return bound;
}

unsigned free_port(void)
{
    unsigned width = span();
    for (int i = 0; i < TRIES_MAX; i++) {
        unsigned chance;
        if (getrandom(&chance, sizeof chance, 0) != (ssize_t)sizeof chance)
            return 0;
        if (is_free(LOWEST + chance % width))
            return LOWEST + chance % width;
    }
    return 0;
}
