/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/postgres_dump.h"

#include "store/store_environment.h"

#include <errno.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void set_variable(void *arg, const char *name, const char *value)
{
    (void)arg;
    setenv(name, value, 1);
}

static enum rc judge(int status, struct err *err)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return RC_OK;
    return err_set(err, RC_REJECT, "pg_dump failed, see above");
}

enum rc postgres_dump(const char *url, const char *file, struct err *err)
{
    /* Of what is unlogged, the handles, nothing is right any more once the copy is put in place. */
    char *const args[] = {(char *)"pg_dump",
                          (char *)"--format=custom",
                          (char *)"--no-password",
                          (char *)"--no-unlogged-table-data",
                          (char *)"--file",
                          (char *)(uintptr_t)file,
                          NULL};
    pid_t pid;
    int status;
    enum rc rc = store_environment(url, set_variable, NULL, err);
    if (rc != RC_OK)
        return rc;
    umask(S_IRWXG | S_IRWXO);
    int code = posix_spawnp(&pid, args[0], NULL, NULL, args, environ);
    if (code == ENOENT)
        return err_set(err, RC_REJECT,
                       "a PostgreSQL store is copied by pg_dump, which is not installed: apt "
                       "install postgresql-client");
    if (code != 0)
        return err_set(err, RC_REJECT, "pg_dump does not start: %s", strerror(code));
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return err_set(err, RC_REJECT, "pg_dump is lost: %s", strerror(errno));
    return judge(status, err);
}
