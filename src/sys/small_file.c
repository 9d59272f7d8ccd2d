/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/small_file.h"

#include "sys/crashpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_CHUNK 65536
#define FILE_MODE  0644
#define OPEN_MODES (S_IWGRP | S_IRWXO)

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

enum rc small_file_check_plain(const char *path, struct err *err)
{
    struct stat about;
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode))
        return err_set(err, RC_REJECT, "%s is no file", path);
    return RC_OK;
}

bool small_file_exists(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0;
}

enum rc small_file_check_guarded(const char *path, struct err *err)
{
    struct stat about;
    if (stat(path, &about) != 0)
        return err_set(err, RC_REJECT, "cannot look at %s: %s", path, strerror(errno));
    if ((about.st_mode & OPEN_MODES) != 0)
        return err_set(err, RC_REJECT, "%s is open to others (mode %03o): chmod 600 %s", path,
                       (unsigned)about.st_mode & 0777, path);
    return RC_OK;
}

enum rc small_file_make_folders(const char *path, unsigned mode, struct err *err)
{
    enum rc rc = RC_OK;
    char *folder = memory_copy_string(path);
    for (char *at = folder + 1; rc == RC_OK && *folder != '\0' && *at != '\0'; at++) {
        struct stat about;
        if (*at != '/')
            continue;
        *at = '\0';
        if (mkdir(folder, mode) != 0 && errno != EEXIST)
            rc = err_set(err, RC_REJECT, "cannot make the folder %s: %s", folder, strerror(errno));
        else if (stat(folder, &about) != 0 || !S_ISDIR(about.st_mode))
            rc = err_set(err, RC_REJECT, "%s is no folder", folder);
        *at = '/';
    }
    free(folder);
    return rc;
}

static bool put_all(int fd, struct bytes content)
{
    while (content.len > 0) {
        ssize_t put = write(fd, content.data, content.len);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        content = bytes_make(content.data + put, content.len - (size_t)put);
    }
    return true;
}

bool small_file_sync_folder(const char *path)
{
    struct text folder = {0};
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        text_append_string(&folder, ".");
    else
        text_append(&folder, path, (size_t)(slash - path) + 1);
    int fd = open(text_string(&folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool synced = fd >= 0 && fsync(fd) == 0;
    int reason = errno;
    if (fd >= 0)
        close(fd);
    text_free(&folder);
    errno = reason;
    return synced;
}

enum rc small_file_write(const char *path, struct bytes content, struct err *err)
{
    struct text beside = {0};
    text_appendf(&beside, "%s.new", path);
    enum rc rc = RC_OK;
    int fd = open(text_string(&beside), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, FILE_MODE);
    bool put = fd >= 0 && put_all(fd, content) && fsync(fd) == 0;
    if (fd >= 0 && close(fd) != 0)
        put = false;
    crashpoint(CRASH_FILE_SYNCED);
    if (!put || rename(text_string(&beside), path) != 0) {
        rc = err_set(err, RC_RETRY, "cannot write %s: %s", path, strerror(errno));
        if (fd >= 0)
            unlink(text_string(&beside));
    } else {
        crashpoint(CRASH_FILE_RENAMED);
        if (!small_file_sync_folder(path))
            rc = err_set(err, RC_RETRY, "cannot keep %s: %s", path, strerror(errno));
    }
    text_free(&beside);
    return rc;
}

enum rc small_file_remove(const char *path, struct err *err)
{
    bool gone = unlink(path) == 0 || errno == ENOENT;
    if (gone && small_file_sync_folder(path))
        return RC_OK;
    return err_set(err, RC_RETRY, "cannot remove %s: %s", path, strerror(errno));
}
