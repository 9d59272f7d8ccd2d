/* SPDX-License-Identifier: Apache-2.0 */
#include "http_peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

static void connect_to(struct http_peer *peer, const struct sockaddr *to, socklen_t size)
{
    const struct timeval limit = {.tv_sec = 60};
    *peer = (struct http_peer){.fd = socket(to->sa_family, SOCK_STREAM, 0)};
    setsockopt(peer->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(peer->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (connect(peer->fd, to, size) != 0) {
        perror("http_peer: connect");
        abort();
    }
}

void http_peer_connect(struct http_peer *peer, unsigned port)
{
    const struct sockaddr_in to = {.sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    connect_to(peer, (const struct sockaddr *)&to, sizeof to);
}

void http_peer_connect_unix(struct http_peer *peer, const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    snprintf(to.sun_path, sizeof to.sun_path, "%s", path);
    connect_to(peer, (const struct sockaddr *)&to, sizeof to);
}

void http_peer_close(struct http_peer *peer)
{
    close(peer->fd);
    text_free(&peer->in);
}

void http_peer_send(struct http_peer *peer, const void *data, size_t len)
{
    const char *at = data;
    while (len > 0) {
        ssize_t sent = send(peer->fd, at, len, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return; /* the server hung up: what it said can still be read */
        at += sent;
        len -= (size_t)sent;
    }
}

void http_peer_say(struct http_peer *peer, const char *words)
{
    http_peer_send(peer, words, strlen(words));
}

void http_peer_ask(struct http_peer *peer, const char *path, const char *body)
{
    struct text out = {0};
    text_appendf(&out, "%s %s HTTP/1.1\r\nHost: localhost\r\n", body == NULL ? "GET" : "POST",
                 path);
    if (body != NULL)
        text_appendf(&out, "Content-Type: application/json\r\nContent-Length: %zu\r\n",
                     strlen(body));
    text_appendf(&out, "\r\n%s", body == NULL ? "" : body);
    http_peer_send(peer, out.data, out.len);
    text_free(&out);
}

ssize_t http_peer_receive(struct http_peer *peer, char *to, size_t len)
{
    ssize_t got;
    do {
        errno = 0;
        got = recv(peer->fd, to, len, 0);
    } while (got < 0 && errno == EINTR);
    return got;
}

static bool read_more(struct http_peer *peer)
{
    ssize_t got = http_peer_receive(peer, text_reserve(&peer->in, 65536), 65536);
    if (got > 0)
        peer->in.len += (size_t)got;
    return got > 0;
}

static void take(struct http_peer *peer, struct text *to, size_t len)
{
    text_append(to, peer->in.data, len);
    peer->in.len -= len;
    memmove(peer->in.data, peer->in.data + len, peer->in.len);
}

static size_t length_in(const char *head)
{
    const char *at = strcasestr(head, "\r\nContent-Length:");
    return at == NULL ? 0 : strtoul(at + 17, NULL, 10);
}

void http_peer_read(struct http_peer *peer, struct http_answer *answer, bool head_only)
{
    const char *end;
    text_clear(&answer->head);
    text_clear(&answer->body);
    answer->status = 0;
    while (peer->in.len < 4 || (end = memmem(peer->in.data, peer->in.len, "\r\n\r\n", 4)) == NULL)
        if (!read_more(peer))
            return;
    take(peer, &answer->head, (size_t)(end - peer->in.data) + 4);
    bool bodiless = head_only || strncmp(text_string(&answer->head), "HTTP/1.1 304 ", 13) == 0;
    size_t len = bodiless ? 0 : length_in(text_string(&answer->head));
    while (peer->in.len < len)
        if (!read_more(peer))
            return;
    take(peer, &answer->body, len);
    if (strncmp(answer->head.data, "HTTP/1.1 ", 9) == 0)
        answer->status = (int)strtol(answer->head.data + 9, NULL, 10);
}

bool http_peer_ended(struct http_peer *peer)
{
    while (read_more(peer))
        continue;
    bool timed_out = errno == EAGAIN || errno == EWOULDBLOCK;
    return !timed_out && memmem(peer->in.data, peer->in.len, "HTTP/", 5) == NULL;
}

void http_answer_free(struct http_answer *answer)
{
    text_free(&answer->head);
    text_free(&answer->body);
}
