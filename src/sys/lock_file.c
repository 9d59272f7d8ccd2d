/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/lock_file.h"

#include "sys/small_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* <sys/file.h> declares it, but our own header of that name is found first. */
int flock(int fd, int operation);

/* Who only looks holds the lock for an instant. */
#define LOOKS_OUTLASTED 20
#define LOOK_NS         10000000

static void append_owner(int fd, struct text *owner)
{
    char pid[32] = "";
    ssize_t len = pread(fd, pid, sizeof pid - 1, 0);
    pid[len > 0 ? strcspn(pid, "\n") : 0] = '\0';
    text_appendf(owner, "pid %s", *pid == '\0' ? "unknown" : pid);
}

static enum rc refuse_second(int fd, const char *path, struct err *err)
{
    struct text owner = {0};
    append_owner(fd, &owner);
    enum rc rc = err_set(err, RC_REJECT,
                         "another tidemark (%s) has this store open (%s): stop it first, or ask it "
                         "through its socket",
                         text_string(&owner), path);
    text_free(&owner);
    return rc;
}

static enum rc lock_patiently(int fd, const char *path, struct err *err)
{
    for (int i = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; i++) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return err_set(err, RC_REJECT, "cannot lock %s.lock: %s", path, strerror(errno));
        if (i == LOOKS_OUTLASTED)
            return refuse_second(fd, path, err);
        nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
    }
    return RC_OK;
}

enum rc lock_file_take(const char *path, int *fd, struct err *err)
{
    assert(path != NULL && fd != NULL);
    struct text name = {0};
    text_appendf(&name, "%s.lock", path);
    enum rc rc = small_file_make_folders(name.data, SMALL_FILE_OWN_FOLDER, err);
    *fd = -1;
    if (rc == RC_OK) {
        *fd = open(name.data, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (*fd < 0)
            rc = err_set(err, RC_REJECT, "cannot open %s: %s", name.data, strerror(errno));
        else
            rc = lock_patiently(*fd, path, err);
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

bool lock_file_is_held(const char *path, struct text *owner)
{
    struct text name = {0};
    text_appendf(&name, "%s.lock", path);
    int fd = open(name.data, O_RDONLY | O_CLOEXEC);
    bool held = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (held)
        append_owner(fd, owner);
    lock_file_release(fd);
    text_free(&name);
    return held;
}
