/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/socket_client.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define HEAD_MAX  ((size_t)16 << 10)
#define CHUNK_MAX ((size_t)64 << 10)

static enum rc refuse_connection(const char *path, int why, struct err *err)
{
    if (why == ENOENT || why == ECONNREFUSED || why == ENOTDIR)
        return err_set(err, RC_AGAIN, "no tidemark listens on %s", path);
    return err_set(err, RC_REJECT, "cannot speak to the tidemark at %s: %s", path, strerror(why));
}

static enum rc connect_to(const char *path, unsigned seconds_max, int *fd, struct err *err)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    struct timeval wait = {.tv_sec = seconds_max};
    *fd = -1;
    if (strlen(path) >= sizeof to.sun_path) /* no daemon can listen there either */
        return refuse_connection(path, ENOENT, err);
    memcpy(to.sun_path, path, strlen(path) + 1);
    int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (made < 0 || setsockopt(made, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait) != 0 ||
        setsockopt(made, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait) != 0 ||
        connect(made, (const struct sockaddr *)&to, sizeof to) != 0) {
        int why = errno;
        if (made >= 0)
            close(made);
        return refuse_connection(path, why, err);
    }
    *fd = made;
    return RC_OK;
}

enum rc socket_look(const char *path, struct err *err)
{
    int fd;
    enum rc rc = connect_to(path, 5, &fd, err);
    if (rc == RC_OK)
        close(fd);
    return rc;
}

static enum rc send_all(int fd, struct bytes bytes, struct err *err)
{
    while (bytes.len > 0) {
        ssize_t sent = send(fd, bytes.data, bytes.len, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return err_set(err, RC_RETRY, "the daemon does not listen: %s", strerror(errno));
        bytes = bytes_make(bytes.data + sent, bytes.len - (size_t)sent);
    }
    return RC_OK;
}

static enum rc receive_all(int fd, struct text *raw, struct err *err)
{
    for (;;) {
        ssize_t got = recv(fd, text_reserve(raw, CHUNK_MAX), CHUNK_MAX, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_set(err, RC_RETRY, "the daemon does not answer: %s",
                           errno == EAGAIN ? "it took too long" : strerror(errno));
        if (got == 0)
            return RC_OK;
        raw->len += (size_t)got;
        raw->data[raw->len] = '\0';
        if (raw->len > SOCKET_ANSWER_MAX + HEAD_MAX)
            return err_set(err, RC_REJECT, "the daemon's answer is too long");
    }
}

/* The value of a header; absent when there is none. */
static struct bytes find_header(const char *head, const char *end, const char *name)
{
    size_t len = strlen(name);
    for (const char *line = strstr(head, "\r\n"); line != NULL && line < end;
         line = strstr(line + 2, "\r\n")) {
        const char *value = line + 2 + len;
        if (strncasecmp(line + 2, name, len) != 0 || *value != ':')
            continue;
        value += 1 + strspn(value + 1, " \t");
        return bytes_make(value, strcspn(value, "\r"));
    }
    return BYTES_ABSENT;
}

static enum rc split(const struct text *raw, struct socket_answer *answer, struct err *err)
{
    const char *head = text_string(raw);
    const char *end = strstr(head, "\r\n\r\n");
    uint64_t status, length;
    if (end == NULL || strncmp(head, "HTTP/1.", 7) != 0 || head[8] != ' ' ||
        !bytes_to_u64(bytes_make(head + 9, 3), &status))
        return err_set(err, RC_RETRY, "the daemon's answer broke off");
    size_t body = (size_t)(end + 4 - head);
    if (!bytes_to_u64(find_header(head, end, "Content-Length"), &length) ||
        length != raw->len - body)
        return err_set(err, RC_RETRY, "the daemon's answer broke off");
    answer->status = (int)status;
    text_append(&answer->body, raw->data + body, (size_t)length);
    return RC_OK;
}

enum rc socket_ask(const char *path, const struct socket_question *question,
                   struct socket_answer *answer, struct err *err)
{
    struct text wire = {0}, raw = {0};
    size_t length = question->body == NULL ? 0 : strlen(question->body);
    int fd;
    assert(question->method != NULL && question->path != NULL && question->seconds_max > 0);
    text_appendf(&wire,
                 "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                 "Content-Length: %zu\r\n\r\n%s",
                 question->method, question->path, length,
                 question->body == NULL ? "" : question->body);
    enum rc rc = connect_to(path, question->seconds_max, &fd, err);
    if (rc == RC_OK)
        rc = send_all(fd, text_bytes(&wire), err);
    if (rc == RC_OK)
        rc = receive_all(fd, &raw, err);
    if (rc == RC_OK)
        rc = split(&raw, answer, err);
    if (fd >= 0)
        close(fd);
    text_free(&wire);
    text_free(&raw);
    return rc;
}
