/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/small_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_CHUNK 65536

enum rc small_file_read(const char *path, size_t bytes_max, struct text *out, struct err *err)
{
    enum rc rc = RC_OK;
    size_t before = out->len;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set(err, RC_REJECT, "cannot open %s: %s", path, strerror(errno));
    for (;;) {
        char *to = text_reserve(out, FILE_CHUNK);
        ssize_t got = read(fd, to, FILE_CHUNK);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            rc = err_set(err, errno == EISDIR ? RC_REJECT : RC_RETRY, "cannot read %s: %s", path,
                         strerror(errno));
            break;
        }
        if (got == 0)
            break;
        out->len += (size_t)got;
        if (out->len - before > bytes_max) {
            rc = err_set(err, RC_REJECT, "%s is larger than %zu bytes", path, bytes_max);
            break;
        }
    }
    close(fd);
    if (rc != RC_OK)
        out->len = before;
    if (out->data != NULL)
        out->data[out->len] = 0;
    return rc;
}

bool small_file_exists(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0;
}
