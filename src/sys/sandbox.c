/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/sandbox.h"

#include "base/bytes.h"
#include "sys/syscall_filter.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Rights that are younger than the oldest headers we are built with. */
#define RIGHT_TRUNCATE    (UINT64_C(1) << 14)
#define RIGHT_DEVICE      (UINT64_C(1) << 15)
#define SCOPE_SIGNAL      (UINT64_C(1) << 1)
#define VERSION_REFER     2
#define VERSION_TRUNCATE  3
#define VERSION_DEVICE    5
#define VERSION_SCOPE     6
#define RIGHTS_OF_FIRST   ((UINT64_C(1) << 13) - 1)
#define RIGHTS_OF_READING (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define RIGHTS_OF_WRITING                                                                          \
    (RIGHTS_OF_READING | LANDLOCK_ACCESS_FS_WRITE_FILE | RIGHT_TRUNCATE |                          \
     LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_DIR |  \
     LANDLOCK_ACCESS_FS_MAKE_SOCK)
#define RIGHTS_OF_FILES                                                                            \
    (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | RIGHT_TRUNCATE)

/* As the kernel has it since the sixth version; older ones want the end to be zero. */
struct ruleset {
    uint64_t files, network, scopes;
};

struct sandbox {
    int version, fd;
    uint64_t handled; /* rights that nobody has but where they are given */
    int reason;       /* errno of a place that is there and could not be allowed; 0: none */
};

static int ask_version(void)
{
    long version =
        syscall(SYS_landlock_create_ruleset, NULL, (size_t)0, LANDLOCK_CREATE_RULESET_VERSION);
    return version > 0 ? (int)version : 0;
}

struct sandbox_state sandbox_offered(void)
{
    return (struct sandbox_state){.landlock = ask_version(), .syscalls = syscall_filter_offered()};
}

static uint64_t rights_of(int version)
{
    uint64_t rights = RIGHTS_OF_FIRST;
    if (version >= VERSION_REFER)
        rights |= LANDLOCK_ACCESS_FS_REFER;
    if (version >= VERSION_TRUNCATE)
        rights |= RIGHT_TRUNCATE;
    if (version >= VERSION_DEVICE)
        rights |= RIGHT_DEVICE;
    return rights;
}

struct sandbox *sandbox_new(void)
{
    struct sandbox *sandbox = memory_new_zeroed(1, sizeof *sandbox);
    sandbox->version = ask_version();
    sandbox->fd = -1;
    if (sandbox->version == 0)
        return sandbox;
    sandbox->handled = rights_of(sandbox->version);
    struct ruleset ruleset = {.files = sandbox->handled,
                              .scopes = sandbox->version >= VERSION_SCOPE ? SCOPE_SIGNAL : 0};
    sandbox->fd = (int)syscall(SYS_landlock_create_ruleset, &ruleset, sizeof ruleset, 0U);
    return sandbox;
}

void sandbox_free(struct sandbox *sandbox)
{
    if (sandbox != NULL && sandbox->fd >= 0)
        close(sandbox->fd);
    free(sandbox);
}

/* Pipes and the like are no part of the file tree, and Landlock leaves them alone: that a rule for
 * one is refused is no loss. Any other rule that is refused shows when the file is opened. */
static void allow_open(struct sandbox *sandbox, int fd, enum sandbox_access access)
{
    struct stat about;
    uint64_t rights = access == SANDBOX_WRITE ? RIGHTS_OF_WRITING : RIGHTS_OF_READING;
    if (fstat(fd, &about) != 0)
        return;
    if (!S_ISDIR(about.st_mode))
        rights &= RIGHTS_OF_FILES;
    struct landlock_path_beneath_attr rule = {.allowed_access = rights & sandbox->handled,
                                              .parent_fd = fd};
    syscall(SYS_landlock_add_rule, sandbox->fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0U);
}

void sandbox_allow(struct sandbox *sandbox, const char *path, enum sandbox_access access)
{
    assert(path != NULL && path[0] != '\0');
    const char *home = path[0] == '~' && path[1] == '/' ? getenv("HOME") : "";
    struct text whole = {0};
    if (sandbox->fd < 0 || home == NULL)
        return;
    text_appendf(&whole, "%s%s", home, *home == '\0' ? path : path + 1);
    int fd = open(text_string(&whole), O_PATH | O_CLOEXEC);
    if (fd >= 0) {
        allow_open(sandbox, fd, access);
        close(fd);
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) {
        sandbox->reason = errno;
    }
    text_free(&whole);
}

static void allow_parent(struct sandbox *sandbox, const char *path, enum sandbox_access access)
{
    struct text folder = {0};
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        text_append_string(&folder, ".");
    else
        text_append(&folder, path, slash == path ? 1 : (size_t)(slash - path));
    sandbox_allow(sandbox, text_string(&folder), access);
    text_free(&folder);
}

void sandbox_allow_folder_of(struct sandbox *sandbox, const char *path, enum sandbox_access access)
{
    struct stat about;
    if (stat(path, &about) == 0 && (S_ISCHR(about.st_mode) || S_ISFIFO(about.st_mode)))
        return;
    allow_parent(sandbox, path, access);
    char *end = realpath(path, NULL);
    if (end != NULL)
        allow_parent(sandbox, end, access);
    free(end);
}

static enum rc close_lock(long code, const char *name, struct err *err)
{
    if (code == 0)
        return RC_OK;
    return err_set(err, RC_FATAL, "the kernel has %s and refuses it: %s", name, strerror(errno));
}

enum rc sandbox_enter(struct sandbox *sandbox, struct sandbox_state *in_force, struct err *err)
{
    *in_force = (struct sandbox_state){0};
    if (sandbox->reason != 0)
        return err_set(err, RC_RETRY, "cannot look at a place that the daemon needs: %s",
                       strerror(sandbox->reason));
    enum rc rc = close_lock(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs", err);
    if (rc == RC_OK && sandbox->version > 0) {
        rc = close_lock(syscall(SYS_landlock_restrict_self, sandbox->fd, 0U), "Landlock", err);
        in_force->landlock = rc == RC_OK ? sandbox->version : 0;
    }
    if (rc == RC_OK && syscall_filter_offered()) {
        rc = close_lock(syscall_filter_close(), "seccomp", err);
        in_force->syscalls = rc == RC_OK;
    }
    return rc;
}
