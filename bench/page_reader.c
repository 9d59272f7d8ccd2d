/* SPDX-License-Identifier: Apache-2.0 */
#include "page_reader.h"

#include "stopwatch.h"

#include <assert.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void page_connection_set(struct page_connection *connection, const char *path, const char *body)
{
    int len = snprintf(connection->request, sizeof connection->request,
                       "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                       "Content-Length: %zu\r\n\r\n%s",
                       path, strlen(body), body);
    assert(len > 0 && (size_t)len < sizeof connection->request);
    connection->request_len = (size_t)len;
}

static void say(struct page_connection *connection)
{
    connection->len = connection->wanted = 0;
    ssize_t sent = send(connection->fd, connection->request, connection->request_len, 0);
    assert(sent == (ssize_t)connection->request_len);
    (void)sent;
}

/* True when the reply is whole. */
static bool hear(struct page_connection *connection)
{
    char *reply = connection->reply;
    ssize_t got = recv(connection->fd, reply + connection->len,
                       sizeof connection->reply - 1 - connection->len, 0);
    assert(got > 0);
    connection->len += (size_t)got;
    reply[connection->len] = '\0';
    if (connection->wanted == 0) {
        const char *end = strstr(reply, "\r\n\r\n");
        const char *length = strcasestr(reply, "content-length:");
        if (end == NULL)
            return false;
        assert(length != NULL && strncmp(reply, "HTTP/1.1 200", 12) == 0);
        connection->wanted = (size_t)(end + 4 - reply) + strtoull(length + 15, NULL, 10);
        assert(connection->wanted < sizeof connection->reply);
    }
    return connection->len == connection->wanted;
}

void page_connection_ask(struct page_connection *connection)
{
    say(connection);
    while (!hear(connection))
        ;
}

void page_reader_open(struct page_reader *reader, unsigned port, page_turn_fn *turn)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    reader->turn = turn;
    for (int i = 0; i < PAGE_READER_CONNECTIONS; i++) {
        struct page_connection *connection = &reader->connections[i];
        connection->fd = socket(AF_INET, SOCK_STREAM, 0);
        int result = connect(connection->fd, (struct sockaddr *)&address, sizeof address);
        assert(result == 0);
        (void)result;
        turn(connection);
    }
}

static void take_page(struct page_connection *connection, page_turn_fn *turn)
{
    assert(strstr(connection->reply + connection->len - 160, "\"hasMore\":true") != NULL);
    connection->page++;
    turn(connection);
}

double page_reader_run(struct page_reader *reader, double seconds)
{
    struct pollfd fds[PAGE_READER_CONNECTIONS];
    size_t pages = 0;
    double start = seconds_now(), end = start + seconds;
    for (int i = 0; i < PAGE_READER_CONNECTIONS; i++) {
        fds[i] = (struct pollfd){.fd = reader->connections[i].fd, .events = POLLIN};
        say(&reader->connections[i]);
    }
    for (int busy = PAGE_READER_CONNECTIONS; busy > 0;) {
        poll(fds, PAGE_READER_CONNECTIONS, -1);
        for (int i = 0; i < PAGE_READER_CONNECTIONS; i++) {
            struct page_connection *connection = &reader->connections[i];
            if ((fds[i].revents & POLLIN) == 0 || !hear(connection))
                continue;
            pages++;
            take_page(connection, reader->turn);
            if (seconds_now() < end)
                say(connection);
            else
                busy--;
        }
    }
    return (double)pages / (seconds_now() - start);
}

void page_reader_close(struct page_reader *reader)
{
    for (int i = 0; i < PAGE_READER_CONNECTIONS; i++)
        close(reader->connections[i].fd);
}
