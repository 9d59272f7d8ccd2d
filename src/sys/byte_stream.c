/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/byte_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct byte_stream {
    int fd;
    bool ends; /* nothing comes after its end */
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
    stream->fd = fd;
    stream->ends = strcmp(path, BYTE_STREAM_STDIN) == 0 && !S_ISREG(about.st_mode);
    *out = stream;
    return RC_OK;
}

void byte_stream_close(struct byte_stream *stream)
{
    if (stream == NULL)
        return;
    close(stream->fd);
    free(stream);
}

enum rc byte_stream_read(struct byte_stream *stream, size_t bytes_max, struct text *out,
                         struct err *err)
{
    char *to = text_reserve(out, bytes_max);
    ssize_t got;
    do
        got = read(stream->fd, to, bytes_max);
    while (got < 0 && errno == EINTR);
    if (got > 0) {
        out->len += (size_t)got;
        out->data[out->len] = '\0';
        return RC_OK;
    }
    if (got == 0 && stream->ends)
        return err_set(err, RC_REJECT, "it has ended");
    if (got == 0 || errno == EAGAIN || errno == EWOULDBLOCK)
        return RC_AGAIN;
    return err_set(err, RC_REJECT, "cannot be read: %s", strerror(errno));
}
