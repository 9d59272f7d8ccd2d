/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "base/json_write.h"
#include "cli/file_move.h"
#include "cli/postgres_dump.h"
#include "cli/target.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char usage[] =
    "usage: tidemark backup [-c FILE] [--set PATH=VALUE]... FILE\n"
    "Copies the store to a new file, also while the daemon runs; rows and cursors are those of "
    "one\n"
    "moment. An existing file is never overwritten. The copy of an SQLite store is one; that of a\n"
    "PostgreSQL store is what pg_dump makes, for pg_restore.\n"
    "Exit code: 0 done, 1 failed, 2 wrong usage.\n";

/* The daemon may run in another folder. */
static enum rc make_absolute(const char *file, struct text *path, struct err *err)
{
    char folder[PATH_MAX];
    if (file[0] != '/') {
        if (getcwd(folder, sizeof folder) == NULL)
            return err_set(err, RC_REJECT, "the present folder has no name");
        text_appendf(path, "%s/", folder);
    }
    text_append_string(path, file);
    return RC_OK;
}

static enum rc ask_for_copy(struct target *target, const char *path, struct err *err)
{
    struct text body = {0};
    struct json_writer writer;
    struct json ignored;
    json_writer_init(&writer, &body);
    json_begin_object(&writer);
    json_key(&writer, "path");
    json_put_cstring(&writer, path);
    json_end_object(&writer);
    enum rc rc = target_post(target, "/api/admin/backup", text_string(&body), TARGET_SECONDS_LONG,
                             NULL, &ignored, err);
    text_free(&body);
    return rc;
}

/* What lies under this name, whole or half made: nobody else would take it away. */
static void drop(const char *copy)
{
    struct text partial = {0};
    text_appendf(&partial, "%s%s", copy, STORE_PARTIAL);
    unlink(copy);
    unlink(partial.data);
    text_free(&partial);
}

static bool is_same_folder(const char *one, const char *other)
{
    struct stat a, b;
    return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* The daemon may have died of it: what it left is not the copy that was asked for. */
static enum rc ask_or_drop(struct target *target, const char *path, struct err *err)
{
    enum rc rc = ask_for_copy(target, path, err);
    if (rc != RC_OK)
        drop(path);
    return rc;
}

/* Under a lock on the daemon's folder: what lies there under the copy's name was left by a command
 * that was killed. */
static enum rc ask_and_move(struct target *target, const char *folder, const char *path,
                            struct err *err)
{
    struct text copy = {0};
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    text_appendf(&copy, "%sbackup.tidemark-copy", folder);
    enum rc rc = RC_OK;
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) != 0)
        rc = err_set(err, RC_REJECT, "cannot have %s for the copy: %s", folder, strerror(errno));
    if (rc == RC_OK) {
        drop(copy.data);
        rc = ask_for_copy(target, copy.data, err);
        if (rc == RC_OK)
            rc = file_move(copy.data, path, err);
        if (rc != RC_OK)
            drop(copy.data);
    }
    if (fd >= 0)
        close(fd);
    text_free(&copy);
    return rc;
}

/* "/var/lib/tidemark/" of a file's whole path. */
static void append_folder(const char *path, struct text *folder)
{
    const char *slash = strrchr(path, '/');
    assert(slash != NULL);
    text_append(folder, path, (size_t)(slash - path) + 1);
}

/* The daemon writes nowhere but where its data lies; from there the copy is ours to take. */
static enum rc ask_daemon(struct target *target, const char *path, struct err *err)
{
    struct text socket = {0}, own = {0}, wanted = {0};
    enum rc rc = make_absolute(text_string(&target->socket), &socket, err);
    if (rc == RC_OK)
        rc = file_move_check(path, err);
    if (rc == RC_OK) {
        append_folder(text_string(&socket), &own);
        append_folder(path, &wanted);
        rc = is_same_folder(own.data, wanted.data) ? ask_or_drop(target, path, err)
                                                   : ask_and_move(target, own.data, path, err);
    }
    text_free(&socket);
    text_free(&own);
    text_free(&wanted);
    return rc;
}

static enum rc dump(const char *url, const char *path, struct err *err)
{
    struct text partial = {0};
    text_appendf(&partial, "%s%s", path, STORE_PARTIAL);
    enum rc rc = file_move_check(path, err);
    if (rc == RC_OK) {
        rc = postgres_dump(url, partial.data, err);
        if (rc == RC_OK)
            rc = file_move(partial.data, path, err);
        unlink(partial.data);
    }
    text_free(&partial);
    return rc;
}

static enum rc copy(struct target *target, const char *path, struct err *err)
{
    const char *url = target->settings.config.store.url;
    enum rc rc = target_open(target, err);
    if (rc != RC_OK)
        return rc;
    if (bytes_starts_with(bytes_of(url), "postgres"))
        return dump(url, path, err); /* many may read at a time: the daemon need not do it */
    return target->store == NULL ? ask_daemon(target, path, err)
                                 : target->store->ops->backup(target->store, path, err);
}

int cmd_backup(int argc, char **argv)
{
    const struct target_words words = {.usage = usage, .words_min = 1, .words_max = 1};
    struct target target;
    struct text path = {0};
    struct err err;
    int first, code;
    if (!target_begin(&target, &words, argc, argv, &first, &code))
        return code;
    enum rc rc = make_absolute(argv[first], &path, &err);
    if (rc == RC_OK)
        rc = copy(&target, text_string(&path), &err);
    if (rc == RC_OK)
        fprintf(stderr, "the store was copied to %s\n", text_string(&path));
    code = rc == RC_OK ? EXIT_DONE : target_fail(&err);
    text_free(&path);
    target_free(&target);
    return code;
}
