/* SPDX-License-Identifier: Apache-2.0
 *
 * disk_record - a library to be loaded before the C library: what a program does to the files of
 * one folder is written down in the order in which it happens, so that a test can make the folder
 * that a power cut at any moment would have left.
 *
 * TIDEMARK_TEST_FOLDER names the folder, TIDEMARK_TEST_DISK the record: for each step a struct step
 * and behind it so many bytes. tests/support/power_disk.py is the other side. One lock holds step
 * and record together, so the order is true whatever the threads. Memory that is mapped is not
 * seen: what a store maps it can lose. While the file exists that TIDEMARK_TEST_HOLD names, whoever
 * renames waits. Without the variables everything is as it was.
 *
 * Thread: any. */
#undef _FILE_OFFSET_BITS /* both names of a call are meant, the old and the 64-bit one */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define FDS_MAX  4096
#define PATH_TOP 4096
#define HOLD_MS  5

enum act {
    ACT_CREATE = 1, /* path */
    ACT_WRITE,      /* bytes, at `at` */
    ACT_TRUNCATE,   /* to `at` */
    ACT_SYNC,
    ACT_SYNC_FOLDER, /* path */
    ACT_RENAME,      /* two paths, a NUL between them */
    ACT_LINK,
    ACT_UNLINK, /* path */
};

struct step {
    uint64_t act, file; /* its number in the file system */
    int64_t at;
    uint64_t size; /* of what follows */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *folder, *hold;
static size_t folder_len;
static int record = -1;
static bool ours[FDS_MAX]; /* opened in the folder */

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("TIDEMARK_TEST_DISK");
    folder = getenv("TIDEMARK_TEST_FOLDER");
    hold = getenv("TIDEMARK_TEST_HOLD");
    if (path == NULL || folder == NULL)
        return;
    folder_len = strlen(folder);
    int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
    record = (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0600);
    if (record < 0)
        abort();
}

static bool is_inside(const char *path)
{
    return record >= 0 && path != NULL && strncmp(path, folder, folder_len) == 0 &&
           (path[folder_len] == '/' || path[folder_len] == '\0');
}

static bool is_ours(int fd)
{
    return record >= 0 && fd >= 0 && fd < FDS_MAX && ours[fd];
}

/* Under the lock. */
static void put(struct step step, const struct iovec *parts, int count)
{
    struct iovec all[8] = {{&step, sizeof step}};
    ssize_t total = sizeof step;
    for (int i = 0; i < count; i++) {
        all[i + 1] = parts[i];
        step.size += parts[i].iov_len;
        total += (ssize_t)parts[i].iov_len;
    }
    int reason = errno;
    if (syscall(SYS_writev, record, all, count + 1) != total)
        abort();
    errno = reason;
}

static void put_path(enum act act, const char *path, uint64_t file)
{
    struct iovec part = {(void *)(uintptr_t)path, strlen(path)};
    put((struct step){.act = act, .file = file}, &part, 1);
}

static void put_paths(enum act act, const char *from, const char *to)
{
    struct iovec parts[] = {{(void *)(uintptr_t)from, strlen(from) + 1},
                            {(void *)(uintptr_t)to, strlen(to)}};
    put((struct step){.act = act}, parts, 2);
}

static uint64_t file_of(int fd)
{
    struct stat about;
    return fstat(fd, &about) == 0 ? (uint64_t)about.st_ino : 0;
}

/* ---- names ---- */

static int open_with(int at, const char *path, int flags, va_list more)
{
    mode_t mode = 0;
    if ((flags & (O_CREAT | O_TMPFILE)) != 0)
        mode = va_arg(more, mode_t);
    if (!is_inside(path)) {
        int fd = (int)syscall(SYS_openat, at, path, flags, mode);
        if (fd >= 0 && fd < FDS_MAX)
            ours[fd] = false;
        return fd;
    }
    pthread_mutex_lock(&lock);
    bool was_there = syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0;
    int fd = (int)syscall(SYS_openat, at, path, flags, mode);
    if (fd >= 0 && fd < FDS_MAX) {
        ours[fd] = true;
        if (!was_there)
            put_path(ACT_CREATE, path, file_of(fd));
        else if ((flags & O_TRUNC) != 0)
            put((struct step){.act = ACT_TRUNCATE, .file = file_of(fd)}, NULL, 0);
    }
    int reason = errno;
    pthread_mutex_unlock(&lock);
    errno = reason;
    return fd;
}

#include "open_calls.h" /* led to open_with() */

/* A call with two names, of which the second is in the folder. */
static int move_name(long number, enum act act, const char *from, const char *to)
{
    if (!is_inside(to))
        return (int)syscall(number, from, to);
    pthread_mutex_lock(&lock);
    int failed = (int)syscall(number, from, to);
    if (failed == 0)
        put_paths(act, from, to);
    int reason = errno;
    pthread_mutex_unlock(&lock);
    errno = reason;
    return failed;
}

int rename(const char *from, const char *to)
{
    while (hold != NULL && is_inside(to) && syscall(SYS_faccessat, AT_FDCWD, hold, F_OK) == 0)
        poll(NULL, 0, HOLD_MS);
    return move_name(SYS_rename, ACT_RENAME, from, to);
}

int link(const char *from, const char *to)
{
    return move_name(SYS_link, ACT_LINK, from, to);
}

int unlink(const char *path)
{
    if (!is_inside(path))
        return (int)syscall(SYS_unlink, path);
    pthread_mutex_lock(&lock);
    int failed = (int)syscall(SYS_unlink, path);
    if (failed == 0)
        put_path(ACT_UNLINK, path, 0);
    int reason = errno;
    pthread_mutex_unlock(&lock);
    errno = reason;
    return failed;
}

/* ---- bytes ---- */

/* Where the next write() of a descriptor goes. */
static int64_t place_of(int fd)
{
    struct stat about;
    if ((syscall(SYS_fcntl, fd, F_GETFL) & O_APPEND) != 0)
        return fstat(fd, &about) == 0 ? about.st_size : 0;
    return syscall(SYS_lseek, fd, 0, SEEK_CUR);
}

ssize_t write(int fd, const void *data, size_t size)
{
    if (!is_ours(fd))
        return syscall(SYS_write, fd, data, size);
    pthread_mutex_lock(&lock);
    int64_t at = place_of(fd);
    ssize_t done = syscall(SYS_write, fd, data, size);
    if (done > 0) {
        struct iovec part = {(void *)(uintptr_t)data, (size_t)done};
        put((struct step){.act = ACT_WRITE, .file = file_of(fd), .at = at}, &part, 1);
    }
    int reason = errno;
    pthread_mutex_unlock(&lock);
    errno = reason;
    return done;
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at)
{
    if (!is_ours(fd))
        return syscall(SYS_pwrite64, fd, data, size, at);
    pthread_mutex_lock(&lock);
    ssize_t done = syscall(SYS_pwrite64, fd, data, size, at);
    if (done > 0) {
        struct iovec part = {(void *)(uintptr_t)data, (size_t)done};
        put((struct step){.act = ACT_WRITE, .file = file_of(fd), .at = at}, &part, 1);
    }
    int reason = errno;
    pthread_mutex_unlock(&lock);
    errno = reason;
    return done;
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at)
{
    return pwrite64(fd, data, size, at);
}

int ftruncate64(int fd, off64_t size)
{
    if (!is_ours(fd))
        return (int)syscall(SYS_ftruncate, fd, size);
    pthread_mutex_lock(&lock);
    int failed = (int)syscall(SYS_ftruncate, fd, size);
    if (failed == 0)
        put((struct step){.act = ACT_TRUNCATE, .file = file_of(fd), .at = size}, NULL, 0);
    int reason = errno;
    pthread_mutex_unlock(&lock);
    errno = reason;
    return failed;
}

int ftruncate(int fd, off_t size)
{
    return ftruncate64(fd, size);
}

static int sync_with(long number, int fd)
{
    char link_name[64], path[PATH_TOP];
    struct stat about;
    if (!is_ours(fd))
        return (int)syscall(number, fd);
    pthread_mutex_lock(&lock);
    int failed = (int)syscall(number, fd);
    if (failed == 0 && fstat(fd, &about) == 0 && S_ISDIR(about.st_mode)) {
        snprintf(link_name, sizeof link_name, "/proc/self/fd/%d", fd);
        ssize_t len = readlink(link_name, path, sizeof path - 1);
        path[len < 0 ? 0 : len] = '\0';
        put_path(ACT_SYNC_FOLDER, path, 0);
    } else if (failed == 0) {
        put((struct step){.act = ACT_SYNC, .file = file_of(fd)}, NULL, 0);
    }
    int reason = errno;
    pthread_mutex_unlock(&lock);
    errno = reason;
    return failed;
}

int fsync(int fd)
{
    return sync_with(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    return sync_with(SYS_fdatasync, fd);
}
