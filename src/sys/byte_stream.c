/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/byte_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TAIL_MAX 4096

struct byte_stream {
    char *path;
    int fd;
    bool ends;    /* nothing comes after its end */
    bool regular; /* a file, read at `at`; else wherever the kernel stands */
    off_t at;
    char tail[TAIL_MAX]; /* the bytes before `at`, by which it is known again */
    size_t tail_len;
};

/* Standard input is shared with whoever started us: it is read through a descriptor of our own. */
static int open_fd(const char *path)
{
    bool own = strcmp(path, BYTE_STREAM_STDIN) != 0;
    return open(own ? path : "/dev/stdin", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

enum rc byte_stream_open(const char *path, struct byte_stream **out, struct err *err)
{
    struct stat about;
    int fd = open_fd(path);
    if (fd < 0)
        return err_set(err, RC_REJECT, "cannot open %s: %s", path, strerror(errno));
    if (fstat(fd, &about) != 0 || S_ISDIR(about.st_mode)) {
        close(fd);
        return err_set(err, RC_REJECT, "cannot read %s: it is no file and no pipe", path);
    }
    struct byte_stream *stream = memory_new_zeroed(1, sizeof *stream);
    stream->path = memory_copy_string(path);
    stream->fd = fd;
    stream->regular = S_ISREG(about.st_mode);
    stream->ends = strcmp(path, BYTE_STREAM_STDIN) == 0 && !stream->regular;
    *out = stream;
    return RC_OK;
}

void byte_stream_close(struct byte_stream *stream)
{
    if (stream == NULL)
        return;
    close(stream->fd);
    free(stream->path);
    free(stream);
}

static ssize_t read_some(const struct byte_stream *stream, char *to, size_t bytes_max, off_t at)
{
    ssize_t got;
    do
        got = stream->regular ? pread(stream->fd, to, bytes_max, at)
                              : read(stream->fd, to, bytes_max);
    while (got < 0 && errno == EINTR);
    return got;
}

/* ---- whether it is what it was ---- */

static void begin_anew(struct byte_stream *stream)
{
    stream->at = 0;
    stream->tail_len = 0;
}

static void remember(struct byte_stream *stream, const char *data, size_t len)
{
    size_t fresh = len < TAIL_MAX ? len : TAIL_MAX;
    size_t kept = stream->tail_len < TAIL_MAX - fresh ? stream->tail_len : TAIL_MAX - fresh;
    memmove(stream->tail, stream->tail + stream->tail_len - kept, kept);
    memcpy(stream->tail + kept, data + len - fresh, fresh);
    stream->tail_len = kept + fresh;
    stream->at += (off_t)len;
}

/* Its size alone does not tell: it may have grown past `at` again before anybody looked. */
static bool is_rewritten(const struct byte_stream *stream)
{
    char now[TAIL_MAX];
    ssize_t got = read_some(stream, now, stream->tail_len, stream->at - (off_t)stream->tail_len);
    return got >= 0 &&
           ((size_t)got < stream->tail_len || memcmp(now, stream->tail, stream->tail_len) != 0);
}

/* An empty file has its name, but the old one may still be written to: only who is done with that
 * begins the next. */
static bool is_replaced(const struct byte_stream *stream)
{
    struct stat mine, named;
    return strcmp(stream->path, BYTE_STREAM_STDIN) != 0 && fstat(stream->fd, &mine) == 0 &&
           stat(stream->path, &named) == 0 && S_ISREG(named.st_mode) && named.st_size > 0 &&
           (mine.st_dev != named.st_dev || mine.st_ino != named.st_ino);
}

static enum rc replace(struct byte_stream *stream, struct err *err)
{
    int fd = open_fd(stream->path);
    if (fd < 0)
        return err_set(err, RC_AGAIN, "cannot open the file that has replaced %s: %s", stream->path,
                       strerror(errno));
    close(stream->fd);
    stream->fd = fd;
    begin_anew(stream);
    return err_set(err, RC_RETRY, "another file has replaced %s", stream->path);
}

enum rc byte_stream_read(struct byte_stream *stream, size_t bytes_max, struct text *out,
                         struct err *err)
{
    char *to = text_reserve(out, bytes_max);
    bool replaced = stream->regular && is_replaced(stream); /* before its end is looked for */
    ssize_t got = read_some(stream, to, bytes_max, stream->at);
    int reason = errno;
    err->text[0] = '\0';
    if (got >= 0 && stream->regular && is_rewritten(stream)) {
        begin_anew(stream);
        return err_set(err, RC_RETRY, "%s no longer holds what was read from it", stream->path);
    }
    if (got > 0) {
        if (stream->regular)
            remember(stream, to, (size_t)got);
        out->len += (size_t)got;
        out->data[out->len] = '\0';
        return RC_OK;
    }
    if (got == 0 && stream->ends)
        return err_set(err, RC_REJECT, "it has ended");
    if (got == 0 && replaced)
        return replace(stream, err);
    if (got == 0 || reason == EAGAIN || reason == EWOULDBLOCK)
        return RC_AGAIN;
    return err_set(err, RC_REJECT, "cannot be read: %s", strerror(reason));
}
