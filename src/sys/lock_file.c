/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/lock_file.h"

#include "base/bytes.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* <sys/file.h> declares it, but our own header of that name is found first. */
int flock(int fd, int operation);

static enum rc make_folders(char *path, struct err *err)
{
    for (char *at = strchr(path + 1, '/'); at != NULL; at = strchr(at + 1, '/')) {
        *at = '\0';
        int failed = mkdir(path, 0700) != 0 && errno != EEXIST;
        if (failed)
            return err_set(err, RC_REJECT, "cannot make the folder %s: %s", path, strerror(errno));
        *at = '/';
    }
    return RC_OK;
}

static enum rc refuse_second(int fd, const char *path, struct err *err)
{
    char owner[32] = "";
    ssize_t len = pread(fd, owner, sizeof owner - 1, 0);
    owner[len > 0 ? strcspn(owner, "\n") : 0] = '\0';
    return err_set(err, RC_REJECT,
                   "another tidemark (pid %s) has this store open (%s): stop it first, or ask it "
                   "through its socket",
                   *owner == '\0' ? "unknown" : owner, path);
}

enum rc lock_file_take(const char *path, int *fd, struct err *err)
{
    assert(path != NULL && fd != NULL);
    struct text name = {0};
    text_appendf(&name, "%s.lock", path);
    enum rc rc = make_folders(name.data, err);
    *fd = -1;
    if (rc == RC_OK) {
        *fd = open(name.data, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (*fd < 0)
            rc = err_set(err, RC_REJECT, "cannot open %s: %s", name.data, strerror(errno));
        else if (flock(*fd, LOCK_EX | LOCK_NB) != 0)
            rc = refuse_second(*fd, path, err);
    }
    if (rc == RC_OK && ftruncate(*fd, 0) == 0)
        dprintf(*fd, "%ld\n", (long)getpid());
    if (rc != RC_OK && *fd >= 0) {
        close(*fd);
        *fd = -1;
    }
    text_free(&name);
    return rc;
}

void lock_file_release(int fd)
{
    if (fd >= 0)
        close(fd);
}
