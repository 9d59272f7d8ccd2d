/* SPDX-License-Identifier: Apache-2.0
 *
 * As little as a websocket server can do: waits until so many clients have come, then has wslay
 * send each of them the same message, at a rate, and stays until it is ended.
 *
 *   bare_pusher CLIENTS MESSAGES PER_SECOND BYTES
 *
 * Prints its port first. */
#include <assert.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <wslay/wslay.h>

struct client {
    int fd;
    wslay_event_context_ptr wire;
};

static ssize_t send_some(wslay_event_context_ptr wire, const uint8_t *data, size_t len, int flags,
                         void *arg)
{
    const struct client *client = arg;
    (void)flags;
    ssize_t sent = send(client->fd, data, len, MSG_NOSIGNAL);
    if (sent < 0)
        wslay_event_set_error(wire, WSLAY_ERR_CALLBACK_FAILURE);
    return sent;
}

static int open_listener(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) != 0 || listen(fd, 128) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        exit(EXIT_FAILURE);
    printf("%u\n", ntohs(address.sin_port));
    fflush(stdout);
    return fd;
}

/* The clients do not look at the key. */
static void let_in(int listener, struct client *client)
{
    static const struct wslay_event_callbacks callbacks = {.send_callback = send_some};
    static const char answer[] = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                                 "Connection: Upgrade\r\n\r\n";
    const int at_once = 1;
    char heard[4096] = "";
    size_t len = 0;
    client->fd = accept(listener, NULL, NULL);
    setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
    while (strstr(heard, "\r\n\r\n") == NULL) {
        ssize_t got = recv(client->fd, heard + len, sizeof heard - 1 - len, 0);
        if (got <= 0)
            exit(EXIT_FAILURE);
        len += (size_t)got;
    }
    if (send(client->fd, answer, sizeof answer - 1, MSG_NOSIGNAL) < 0 ||
        wslay_event_context_server_init(&client->wire, &callbacks, client) != 0)
        exit(EXIT_FAILURE);
}

static void wait_turn(const struct timespec *begin, long number, long per_second)
{
    struct timespec due = *begin, now, left;
    due.tv_sec += number / per_second;
    due.tv_nsec += number % per_second * (1000000000 / per_second);
    due.tv_sec += due.tv_nsec / 1000000000;
    due.tv_nsec %= 1000000000;
    clock_gettime(CLOCK_MONOTONIC, &now);
    left.tv_sec = due.tv_sec - now.tv_sec;
    left.tv_nsec = due.tv_nsec - now.tv_nsec;
    if (left.tv_nsec < 0) {
        left.tv_nsec += 1000000000;
        left.tv_sec--;
    }
    if (left.tv_sec >= 0)
        ppoll(NULL, 0, &left, NULL);
}

int main(int argc, char **argv)
{
    assert(argc == 5);
    const size_t count = strtoul(argv[1], NULL, 10), bytes = strtoul(argv[4], NULL, 10);
    const long messages = strtol(argv[2], NULL, 10), per_second = strtol(argv[3], NULL, 10);
    struct client *clients = calloc(count, sizeof clients[0]);
    uint8_t *words = malloc(bytes);
    struct timespec begin;
    assert(clients != NULL && words != NULL && per_second > 0);
    memset(words, 'x', bytes);
    int listener = open_listener();
    for (size_t i = 0; i < count; i++)
        let_in(listener, &clients[i]);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    const struct wslay_event_msg message = {WSLAY_TEXT_FRAME, words, bytes};
    for (long number = 0; number < messages; number++) {
        wait_turn(&begin, number, per_second);
        for (size_t i = 0; i < count; i++)
            if (wslay_event_queue_msg(clients[i].wire, &message) != 0 ||
                wslay_event_send(clients[i].wire) != 0)
                return EXIT_FAILURE;
    }
    pause();
    return EXIT_SUCCESS;
}
