/* SPDX-License-Identifier: Apache-2.0
 *
 * A copy of the store as it is at one moment, made while others write. */
#include "store/store_sqlite.h"

#include "sys/crashpoint.h"
#include "sys/small_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_PAGES 1024
#define NUMBER_AT  68 /* the "application ID" of a database's header */

/* In slices, so that a program that stops need not wait for the end. The transaction around them
 * holds the moment that is copied: without it every commit of the writer would make the copy begin
 * anew. */
static int copy_pages(struct store_sqlite *store, sqlite3 *target)
{
    int code =
        sqlite3_exec(store->db, "BEGIN; SELECT count(*) FROM sqlite_master", NULL, NULL, NULL);
    if (code != SQLITE_OK)
        return code;
    sqlite3_backup *backup = sqlite3_backup_init(target, "main", store->db, "main");
    if (backup == NULL)
        return sqlite3_errcode(target);
    crashpoint(CRASH_BACKUP_BEGUN);
    do {
        code =
            sqlite_is_to_stop(store) ? SQLITE_INTERRUPT : sqlite3_backup_step(backup, COPY_PAGES);
    } while (code == SQLITE_OK);
    int end = sqlite3_backup_finish(backup);
    return code == SQLITE_DONE ? end : code;
}

static enum rc copy_to(struct store_sqlite *store, const char *path, struct err *err)
{
    sqlite3 *target = NULL;
    int code = sqlite3_open_v2(path, &target, SQLITE_OPEN_READWRITE, NULL);
    if (code == SQLITE_OK)
        code = copy_pages(store, target);
    sqlite_abandon(store);
    enum rc rc = RC_OK;
    if (code != SQLITE_OK)
        rc = err_set(err, RC_RETRY, "cannot write the backup: %s", sqlite3_errstr(code));
    sqlite3_close_v2(target);
    return rc;
}

/* Whether the lock is ours and the file is still the one of that name. */
static bool is_locked_as(int fd, const char *path)
{
    struct stat mine, named;
    return flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &mine) == 0 && stat(path, &named) == 0 &&
           mine.st_ino == named.st_ino;
}

/* A new file in which a copy grows, locked. What a copy that was killed left there goes; it may be
 * the same file as a finished copy, so nothing is written into it. */
static int take_partial(const char *path)
{
    int left = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (left >= 0) {
        if (is_locked_as(left, path))
            unlink(path);
        close(left);
    }
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0 && !is_locked_as(fd, path)) {
        close(fd);
        errno = EBUSY;
        fd = -1;
    }
    return fd;
}

/* A number of its own, where SQLite's format has one for the program that a file belongs to: what
 * stands beside a store (STORE_BESIDE) is not taken for that of another copy of it. */
static bool give_number(int fd)
{
    uint8_t number[4];
    sqlite3_randomness(sizeof number, number);
    number[3] |= 1; /* 0 is that of a store that is no copy */
    return pwrite(fd, number, sizeof number, NUMBER_AT) == (ssize_t)sizeof number && fsync(fd) == 0;
}

/* By a link, which takes no name that is in use. */
static bool give_name(const char *partial, const char *path)
{
    crashpoint(CRASH_BACKUP_COPIED);
    if (link(partial, path) != 0)
        return false;
    crashpoint(CRASH_BACKUP_NAMED);
    if (small_file_sync_folder(path))
        return true;
    int reason = errno;
    unlink(path);
    errno = reason;
    return false;
}

/* The copy gets its name when it is whole, so that no file of that name is ever half a store. The
 * file it grew in is closed last: with it would go the locks that SQLite has on it. */
enum rc sqlite_copy(struct store *base, const char *path, struct err *err)
{
    struct store_sqlite *store = (struct store_sqlite *)base;
    struct text partial = {0};
    assert(base->ops == &store_sqlite_ops);
    text_appendf(&partial, "%s" STORE_PARTIAL, path);
    enum rc rc = RC_OK;
    int fd = -1;
    if (access(path, F_OK) == 0)
        rc = err_set(err, RC_REJECT, "%s is there already: a backup overwrites nothing", path);
    else if ((fd = take_partial(text_string(&partial))) < 0)
        rc = err_set(err, RC_REJECT, "cannot make the backup %s: %s", path, strerror(errno));
    if (fd >= 0) {
        rc = copy_to(store, text_string(&partial), err);
        if (rc == RC_OK && !(give_number(fd) && give_name(text_string(&partial), path)))
            rc = err_set(err, RC_REJECT, "cannot make the backup %s: %s", path, strerror(errno));
        unlink(text_string(&partial));
        close(fd);
    }
    text_free(&partial);
    return rc;
}
