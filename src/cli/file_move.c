/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/file_move.h"

#include "base/bytes.h"
#include "sys/small_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE_BYTES ((size_t)1 << 20)

static enum rc fail(const char *path, struct err *err)
{
    if (errno == EEXIST)
        return err_set(err, RC_REJECT, "%s is there already: a backup overwrites nothing", path);
    return err_set(err, RC_REJECT, "cannot make the backup %s: %s", path, strerror(errno));
}

static bool put_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t put = write(fd, data, len);
        if (put < 0 && errno != EINTR)
            return false;
        data += put > 0 ? put : 0;
        len -= put > 0 ? (size_t)put : 0;
    }
    return true;
}

static bool copy_bytes(int from, int to)
{
    char *piece = memory_new(PIECE_BYTES);
    ssize_t got;
    bool good = true;
    while (good && (got = read(from, piece, PIECE_BYTES)) != 0)
        good = got > 0 ? put_all(to, piece, (size_t)got) : errno == EINTR;
    free(piece);
    return good && fsync(to) == 0;
}

/* A link takes no name that is in use. */
static bool copy_to(const char *from, const char *partial, const char *to)
{
    unlink(partial); /* of an attempt that was killed */
    int source = open(from, O_RDONLY | O_CLOEXEC);
    int target = source < 0 ? -1 : open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool good = target >= 0 && copy_bytes(source, target) && link(partial, to) == 0;
    int code = errno;
    if (target >= 0) {
        close(target);
        unlink(partial);
    }
    if (source >= 0)
        close(source);
    errno = code;
    return good;
}

enum rc file_move(const char *from, const char *to, struct err *err)
{
    struct text partial = {0};
    text_appendf(&partial, "%s.tidemark-partial", to);
    /* What one may not link, or not to there, one may copy. */
    bool good = link(from, to) == 0 || (errno != EEXIST && copy_to(from, partial.data, to));
    if (good && !small_file_sync_folder(to)) {
        int reason = errno;
        unlink(to);
        errno = reason;
        good = false;
    }
    if (good)
        unlink(from);
    enum rc rc = good ? RC_OK : fail(to, err);
    text_free(&partial);
    return rc;
}

enum rc file_move_check(const char *to, struct err *err)
{
    struct text folder = {0};
    const char *slash = strrchr(to, '/');
    assert(slash != NULL);
    if (access(to, F_OK) == 0) {
        errno = EEXIST;
        return fail(to, err);
    }
    text_append(&folder, to, (size_t)(slash - to) + 1);
    enum rc rc = access(folder.data, W_OK) == 0 ? RC_OK : fail(to, err);
    text_free(&folder);
    return rc;
}
