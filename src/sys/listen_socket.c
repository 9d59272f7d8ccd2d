/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/listen_socket.h"

#include "base/bytes.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 512

struct address {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    };
    socklen_t size;
};

static bool parse_address(const char *text, struct address *out)
{
    const char *colon = strrchr(text, ':');
    char host[64];
    uint64_t port;
    size_t len = colon == NULL ? 0 : (size_t)(colon - text);
    if (len == 0 || len >= sizeof host || !bytes_to_u64(bytes_of(colon + 1), &port) || port > 65535)
        return false;
    bool bracketed = text[0] == '[' && text[len - 1] == ']';
    snprintf(host, sizeof host, "%.*s", (int)(bracketed ? len - 2 : len), text + bracketed);
    memset(out, 0, sizeof *out);
    if (bracketed) {
        out->size = sizeof out->v6;
        out->v6.sin6_family = AF_INET6;
        out->v6.sin6_port = htons((uint16_t)port);
        return inet_pton(AF_INET6, host, &out->v6.sin6_addr) == 1;
    }
    out->size = sizeof out->v4;
    out->v4.sin_family = AF_INET;
    out->v4.sin_port = htons((uint16_t)port);
    return inet_pton(AF_INET, host, &out->v4.sin_addr) == 1;
}

bool listen_socket_is_address(const char *address)
{
    struct address to;
    return parse_address(address, &to);
}

bool listen_socket_is_remote(const char *address)
{
    struct address to;
    if (!parse_address(address, &to))
        return false;
    if (to.any.sa_family == AF_INET6)
        return !IN6_IS_ADDR_LOOPBACK(&to.v6.sin6_addr);
    return ntohl(to.v4.sin_addr.s_addr) >> 24 != IN_LOOPBACKNET;
}

enum rc listen_socket_tcp(const char *address, int *fd, unsigned *port, struct err *err)
{
    struct address to;
    const int one = 1;
    assert(address != NULL && fd != NULL && port != NULL);
    *fd = -1;
    if (!parse_address(address, &to))
        return err_set(err, RC_REJECT,
                       "\"%.80s\" is no address to listen on: write HOST:PORT with a numeric host, "
                       "127.0.0.1:8080 or [::1]:8080",
                       address);
    int made = socket(to.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (made >= 0)
        setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (made < 0 || bind(made, &to.any, to.size) != 0 || listen(made, BACKLOG) != 0 ||
        getsockname(made, &to.any, &to.size) != 0) {
        int why = errno;
        if (made >= 0)
            close(made);
        return err_set(err, RC_REJECT, "cannot listen on %s: %s", address, strerror(why));
    }
    *port = ntohs(to.any.sa_family == AF_INET ? to.v4.sin_port : to.v6.sin6_port);
    *fd = made;
    return RC_OK;
}

/* Somebody answers there. */
static bool is_alive(const struct sockaddr_un *at)
{
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    bool alive = probe >= 0 &&
                 (connect(probe, (const struct sockaddr *)at, sizeof *at) == 0 || errno == EAGAIN);
    if (probe >= 0)
        close(probe);
    return alive;
}

static enum rc clear_place(const struct sockaddr_un *at, struct err *err)
{
    struct stat found;
    if (lstat(at->sun_path, &found) != 0)
        return RC_OK;
    if (!S_ISSOCK(found.st_mode))
        return err_set(err, RC_REJECT, "cannot listen on %s: a file that is no socket lies there",
                       at->sun_path);
    if (is_alive(at))
        return err_set(err, RC_REJECT, "cannot listen on %s: a running tidemark listens there",
                       at->sun_path);
    unlink(at->sun_path);
    return RC_OK;
}

/* If it cannot be made, listening says why. */
static void make_folder(const char *path)
{
    struct text folder = {0};
    const char *slash = strrchr(path, '/');
    if (slash != NULL && slash != path) {
        text_append(&folder, path, (size_t)(slash - path));
        mkdir(folder.data, 0700);
    }
    text_free(&folder);
}

enum rc listen_socket_unix(const char *path, int *fd, struct err *err)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    assert(path != NULL && fd != NULL);
    *fd = -1;
    if (strlen(path) >= sizeof to.sun_path)
        return err_set(err, RC_REJECT,
                       "cannot listen on %.160s: the path has %zu bytes and a socket's may have "
                       "%zu; choose a shorter data directory",
                       path, strlen(path), sizeof to.sun_path - 1);
    memcpy(to.sun_path, path, strlen(path) + 1);
    make_folder(path);
    enum rc rc = clear_place(&to, err);
    if (rc != RC_OK)
        return rc;
    int made = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    /* On Linux the file takes the descriptor's mode: it is never open to others. */
    if (made < 0 || fchmod(made, 0600) != 0 || bind(made, (struct sockaddr *)&to, sizeof to) != 0 ||
        chmod(path, 0600) != 0 || listen(made, BACKLOG) != 0) {
        int why = errno;
        if (made >= 0)
            close(made);
        return err_set(err, RC_REJECT, "cannot listen on %s: %s", path, strerror(why));
    }
    *fd = made;
    return RC_OK;
}

void listen_socket_remove(const char *path)
{
    unlink(path);
}
