/* SPDX-License-Identifier: Apache-2.0 */
#include "loopback_http.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_BYTES 65536

int loopback_ask(unsigned port, const char *method, const char *target)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    char request[512];
    int len = snprintf(request, sizeof request,
                       "%s %s HTTP/1.1\r\nHost: sim\r\nContent-Length: 0\r\n"
                       "Connection: close\r\n\r\n",
                       method, target);
    int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection >= 0 &&
        (connect(connection, (const struct sockaddr *)&address, sizeof address) != 0 ||
         write(connection, request, (size_t)len) != len)) {
        close(connection);
        return -1;
    }
    return connection;
}

bool loopback_answer(int connection, struct text *body)
{
    struct text all = {0};
    ssize_t got;
    while ((got = read(connection, text_reserve(&all, READ_BYTES), READ_BYTES)) > 0)
        all.len += (size_t)got;
    close(connection);
    text_append_char(&all, '\0');
    const char *end = strstr(all.data, "\r\n\r\n");
    bool good = end != NULL && strncmp(all.data, "HTTP/1.1 200", 12) == 0;
    text_clear(body);
    if (good)
        text_append_string(body, end + 4);
    text_free(&all);
    return good;
}
