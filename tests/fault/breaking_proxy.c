/* SPDX-License-Identifier: Apache-2.0 */
#include "breaking_proxy.h"

#include "base/bytes.h"

#include <arpa/inet.h>
#include <assert.h>
#include <endian.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINES_MAX 32

struct line {
    int fds[2];           /* by side; -1: closed */
    struct text heard[2]; /* of each side, not yet whole messages */
    bool greeted;         /* the client's first message, which has no type, has passed */
    bool stalled;
};

struct proxy {
    pthread_t thread;
    pthread_mutex_t lock;
    int listener, server_port, wake[2];
    char url[512];
    struct line lines[LINES_MAX];
    bool planned, struck, refusing, cutting, stopping;
    unsigned dialled;
    enum proxy_side side;
    enum proxy_fate fate;
    long left;
};

static void fail(const char *what)
{
    perror(what);
    abort();
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* The client sees the end at once; the server after it has read what was passed on. */
static void cut(struct line *line)
{
    close_fd(&line->fds[PROXY_CLIENT]);
    if (line->fds[PROXY_SERVER] >= 0)
        shutdown(line->fds[PROXY_SERVER], SHUT_WR);
}

static void forget(struct line *line)
{
    for (int side = 0; side < 2; side++) {
        close_fd(&line->fds[side]);
        text_free(&line->heard[side]);
    }
    *line = (struct line){.fds = {-1, -1}};
}

static void send_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t sent = send(fd, data, len, MSG_NOSIGNAL);
        if (sent <= 0)
            return; /* its end is seen by the next read */
        data += sent;
        len -= (size_t)sent;
    }
}

/* The length of the first whole message heard, 0 when there is none yet. */
static size_t message_length(const struct line *line, enum proxy_side side)
{
    const struct text *heard = &line->heard[side];
    size_t type = side == PROXY_CLIENT && !line->greeted ? 0 : 1;
    uint32_t size;
    if (heard->len < type + 4)
        return 0;
    memcpy(&size, heard->data + type, 4);
    size_t whole = type + be32toh(size);
    return heard->len < whole ? 0 : whole;
}

/* Whether the line is broken before this message of `side`. */
static bool strikes(struct proxy *proxy, enum proxy_side side)
{
    if (!proxy->planned || proxy->struck || proxy->side != side)
        return false;
    if (proxy->left-- > 0)
        return false;
    proxy->struck = true;
    return true;
}

static void pass_messages(struct proxy *proxy, struct line *line, enum proxy_side side)
{
    struct text *heard = &line->heard[side];
    for (size_t len; !line->stalled && (len = message_length(line, side)) > 0;) {
        if (strikes(proxy, side)) {
            if (proxy->fate != PROXY_STALL)
                cut(line);
            proxy->refusing = proxy->refusing || proxy->fate == PROXY_WALL;
            line->stalled = true;
            return;
        }
        if (line->fds[!side] >= 0)
            send_all(line->fds[!side], heard->data, len);
        line->greeted = line->greeted || side == PROXY_CLIENT;
        memmove(heard->data, heard->data + len, heard->len - len);
        heard->len -= len;
    }
}

static void read_side(struct proxy *proxy, struct line *line, enum proxy_side side)
{
    ssize_t got = recv(line->fds[side], text_reserve(&line->heard[side], 65536), 65536, 0);
    if (got > 0) {
        line->heard[side].len += (size_t)got;
        pass_messages(proxy, line, side);
    } else if (side == PROXY_CLIENT) {
        cut(line);
    } else {
        forget(line);
    }
}

static void accept_line(struct proxy *proxy)
{
    int client = accept(proxy->listener, NULL, NULL), on = 1;
    if (client < 0)
        return;
    proxy->dialled++;
    struct line *line = proxy->lines;
    while (line < proxy->lines + LINES_MAX && line->fds[PROXY_SERVER] >= 0)
        line++;
    if (proxy->refusing || line == proxy->lines + LINES_MAX) {
        close(client);
        return;
    }
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)proxy->server_port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(server, (struct sockaddr *)&to, sizeof to) != 0) {
        close(server);
        close(client);
        return;
    }
    setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    *line = (struct line){.fds = {client, server}};
}

static void obey(struct proxy *proxy)
{
    char bytes[64];
    if (read(proxy->wake[0], bytes, sizeof bytes) < 0)
        fail("proxy: wake");
    for (int i = 0; i < LINES_MAX && proxy->cutting; i++)
        if (proxy->lines[i].fds[PROXY_SERVER] >= 0)
            cut(&proxy->lines[i]);
    proxy->cutting = false;
}

static void *forward(void *arg)
{
    struct proxy *proxy = arg;
    for (;;) {
        struct pollfd polls[2 + LINES_MAX * 2] = {{.fd = proxy->wake[0], .events = POLLIN},
                                                  {.fd = proxy->listener, .events = POLLIN}};
        for (int i = 0; i < LINES_MAX * 2; i++)
            polls[2 + i] = (struct pollfd){.fd = proxy->lines[i / 2].fds[i % 2], .events = POLLIN};
        if (poll(polls, 2 + LINES_MAX * 2, -1) < 0)
            fail("proxy: poll");
        pthread_mutex_lock(&proxy->lock);
        if (polls[0].revents != 0)
            obey(proxy);
        bool stopping = proxy->stopping;
        for (int i = 0; i < LINES_MAX * 2 && !stopping; i++)
            if (polls[2 + i].revents != 0 && proxy->lines[i / 2].fds[i % 2] == polls[2 + i].fd)
                read_side(proxy, &proxy->lines[i / 2], (enum proxy_side)(i % 2));
        if (polls[1].revents != 0 && !stopping)
            accept_line(proxy);
        pthread_mutex_unlock(&proxy->lock);
        if (stopping)
            return NULL;
    }
}

struct proxy *proxy_start(const char *url)
{
    struct proxy *proxy = memory_new_zeroed(1, sizeof *proxy);
    const char *colon = strrchr(url, ':'), *slash = strrchr(url, '/');
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    assert(colon != NULL && slash != NULL && colon < slash);
    proxy->server_port = (int)strtol(colon + 1, NULL, 10);
    for (int i = 0; i < LINES_MAX; i++)
        proxy->lines[i].fds[0] = proxy->lines[i].fds[1] = -1;
    proxy->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(proxy->listener, (struct sockaddr *)&at, sizeof at) != 0 ||
        listen(proxy->listener, 16) != 0 ||
        getsockname(proxy->listener, (struct sockaddr *)&at, &size) != 0 || pipe(proxy->wake) != 0)
        fail("proxy");
    snprintf(proxy->url, sizeof proxy->url, "%.*s:%d%s?sslmode=disable&gssencmode=disable",
             (int)(colon - url), url, ntohs(at.sin_port), slash);
    pthread_mutex_init(&proxy->lock, NULL);
    if (pthread_create(&proxy->thread, NULL, forward, proxy) != 0)
        fail("proxy: thread");
    return proxy;
}

static void wake(struct proxy *proxy)
{
    if (write(proxy->wake[1], "", 1) != 1)
        fail("proxy: wake");
}

void proxy_stop(struct proxy *proxy)
{
    pthread_mutex_lock(&proxy->lock);
    proxy->stopping = true;
    pthread_mutex_unlock(&proxy->lock);
    wake(proxy);
    pthread_join(proxy->thread, NULL);
    for (int i = 0; i < LINES_MAX; i++)
        forget(&proxy->lines[i]);
    close(proxy->listener);
    close(proxy->wake[0]);
    close(proxy->wake[1]);
    pthread_mutex_destroy(&proxy->lock);
    free(proxy);
}

const char *proxy_url(const struct proxy *proxy)
{
    return proxy->url;
}

void proxy_break(struct proxy *proxy, enum proxy_side side, long after, enum proxy_fate fate)
{
    pthread_mutex_lock(&proxy->lock);
    proxy->planned = true;
    proxy->struck = false;
    proxy->side = side;
    proxy->left = after;
    proxy->fate = fate;
    pthread_mutex_unlock(&proxy->lock);
}

bool proxy_mend(struct proxy *proxy)
{
    pthread_mutex_lock(&proxy->lock);
    bool struck = proxy->struck;
    proxy->planned = proxy->struck = false;
    pthread_mutex_unlock(&proxy->lock);
    return struck;
}

bool proxy_has_struck(struct proxy *proxy)
{
    pthread_mutex_lock(&proxy->lock);
    bool struck = proxy->struck;
    pthread_mutex_unlock(&proxy->lock);
    return struck;
}

unsigned proxy_dialled(struct proxy *proxy)
{
    pthread_mutex_lock(&proxy->lock);
    unsigned dialled = proxy->dialled;
    pthread_mutex_unlock(&proxy->lock);
    return dialled;
}

void proxy_cut_all(struct proxy *proxy)
{
    pthread_mutex_lock(&proxy->lock);
    proxy->cutting = true;
    pthread_mutex_unlock(&proxy->lock);
    wake(proxy);
}

void proxy_refuse(struct proxy *proxy, bool refuse)
{
    pthread_mutex_lock(&proxy->lock);
    proxy->refusing = refuse;
    pthread_mutex_unlock(&proxy->lock);
}
