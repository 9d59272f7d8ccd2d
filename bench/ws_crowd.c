/* SPDX-License-Identifier: Apache-2.0 */
#include "ws_crowd.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS_MAX  256
#define CHUNK_BYTES 65536
#define OPCODE_TEXT 0x1
#define OPCODE_PING 0x9
#define OPCODE_PONG 0xa
#define FINAL       0x80
#define MASKED      0x80
#define HEADER_MAX  14
#define CONTROL_MAX 125

struct client {
    int fd;
    struct text heard; /* what is left of the last frame */
};

struct ws_crowd {
    ws_heard_fn *heard;
    void *arg;
    int epoll;
    size_t count, pings;
    struct client clients[];
};

static void fail(const char *what)
{
    fprintf(stderr, "ws_crowd: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

/* ---- the beginning ---- */

static void send_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t sent = send(fd, data, len, MSG_NOSIGNAL);
        if (sent <= 0)
            fail("a client cannot send");
        data += sent;
        len -= (size_t)sent;
    }
}

/* The server sends nothing by itself before it is asked, so the answer ends where it says. */
static void upgrade(int fd)
{
    static const char request[] =
        "GET /api/ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
    char answer[1024] = "";
    size_t len = 0;
    send_all(fd, request, sizeof request - 1);
    while (strstr(answer, "\r\n\r\n") == NULL) {
        ssize_t got = recv(fd, answer + len, sizeof answer - 1 - len, 0);
        if (got <= 0)
            fail("a client was not let in");
        len += (size_t)got;
        answer[len] = '\0';
    }
    if (strncmp(answer, "HTTP/1.1 101 ", 13) != 0)
        fail("a client was refused");
}

static int dial(unsigned port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
        fail("a client cannot connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    upgrade(fd);
    return fd;
}

struct ws_crowd *ws_crowd_open(unsigned port, size_t count, ws_heard_fn *heard, void *arg)
{
    struct ws_crowd *crowd = memory_new_zeroed(1, sizeof *crowd + count * sizeof(struct client));
    crowd->heard = heard;
    crowd->arg = arg;
    crowd->count = count;
    crowd->epoll = epoll_create1(EPOLL_CLOEXEC);
    for (size_t i = 0; i < count; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.u64 = i};
        crowd->clients[i].fd = dial(port);
        if (epoll_ctl(crowd->epoll, EPOLL_CTL_ADD, crowd->clients[i].fd, &event) != 0)
            fail("epoll");
    }
    return crowd;
}

/* ---- frames ---- */

/* The mask is zero: the bytes stay what they are. */
static void send_frame(int fd, unsigned opcode, struct bytes payload)
{
    struct text frame = {0};
    unsigned char head[HEADER_MAX] = {(unsigned char)(FINAL | opcode)};
    size_t len = 2;
    assert(payload.len <= UINT16_MAX);
    if (payload.len <= CONTROL_MAX) {
        head[1] = (unsigned char)(MASKED | payload.len);
    } else {
        head[1] = MASKED | (CONTROL_MAX + 1);
        head[2] = (unsigned char)(payload.len >> 8);
        head[3] = (unsigned char)payload.len;
        len = 4;
    }
    text_append(&frame, head, len + 4);
    text_append(&frame, payload.data, payload.len);
    send_all(fd, frame.data, frame.len);
    text_free(&frame);
}

void ws_crowd_say(struct ws_crowd *crowd, size_t client, struct bytes message)
{
    assert(client < crowd->count);
    send_frame(crowd->clients[client].fd, OPCODE_TEXT, message);
}

/* The length of the frame's head; 0: there is not enough of it. */
static size_t read_head(struct bytes bytes, size_t *payload)
{
    const unsigned char *at = (const unsigned char *)bytes.data;
    size_t more = bytes.len < 2 ? 0 : at[1] <= CONTROL_MAX ? 0 : at[1] == CONTROL_MAX + 1 ? 2 : 8;
    if (bytes.len < 2 + more)
        return 0;
    *payload = more == 0 ? at[1] : 0;
    for (size_t i = 0; i < more; i++)
        *payload = *payload << 8 | at[2 + i];
    return 2 + more;
}

static void take_frame(struct ws_crowd *crowd, size_t client, unsigned opcode, struct bytes payload)
{
    if (opcode == OPCODE_PING) {
        crowd->pings++;
        send_frame(crowd->clients[client].fd, OPCODE_PONG, payload);
    } else if (opcode == OPCODE_TEXT) {
        crowd->heard(crowd->arg, client, payload);
    } else {
        fail("a client was sent away");
    }
}

static void take_frames(struct ws_crowd *crowd, size_t client)
{
    struct text *heard = &crowd->clients[client].heard;
    size_t at = 0, payload, head;
    while ((head = read_head(bytes_make(heard->data + at, heard->len - at), &payload)) > 0 &&
           heard->len - at - head >= payload) {
        unsigned first = (unsigned char)heard->data[at];
        assert((first & FINAL) != 0);
        take_frame(crowd, client, first & 0xf, bytes_make(heard->data + at + head, payload));
        at += head + payload;
    }
    heard->len -= at;
    if (heard->len > 0)
        memmove(heard->data, heard->data + at, heard->len);
    else
        text_free(heard);
}

static void hear_one(struct ws_crowd *crowd, size_t client)
{
    struct text *heard = &crowd->clients[client].heard;
    char chunk[CHUNK_BYTES];
    ssize_t got = recv(crowd->clients[client].fd, chunk, sizeof chunk, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN)
        return;
    if (got <= 0)
        fail("a client was cut off");
    text_append(heard, chunk, (size_t)got);
    take_frames(crowd, client);
}

void ws_crowd_hear(struct ws_crowd *crowd, int wait_ms)
{
    struct epoll_event events[EVENTS_MAX];
    int count = epoll_wait(crowd->epoll, events, EVENTS_MAX, wait_ms);
    for (int i = 0; i < count; i++)
        hear_one(crowd, (size_t)events[i].data.u64);
}

size_t ws_crowd_pings(const struct ws_crowd *crowd)
{
    return crowd->pings;
}

void ws_crowd_close(struct ws_crowd *crowd)
{
    for (size_t i = 0; i < crowd->count; i++) {
        close(crowd->clients[i].fd);
        text_free(&crowd->clients[i].heard);
    }
    close(crowd->epoll);
    free(crowd);
}
