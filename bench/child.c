/* SPDX-License-Identifier: Apache-2.0 */
#include "child.h"

#include <assert.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGS_MAX 48

static pid_t spawn(const char *const *argv, int out)
{
    char *args[ARGS_MAX] = {0}; /* posix_spawn() promises to change none */
    size_t count = 0;
    posix_spawn_file_actions_t actions;
    pid_t pid;
    while (argv[count] != NULL)
        count++;
    assert(count > 0 && count < ARGS_MAX);
    memcpy(args, argv, count * sizeof args[0]);
    posix_spawn_file_actions_init(&actions);
    if (out >= 0)
        posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    else
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    bool running = posix_spawn(&pid, argv[0], &actions, NULL, args, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    return running ? pid : -1;
}

pid_t child_start(const char *const *argv, char *words, size_t size)
{
    int ends[2];
    size_t len = 0;
    if (words == NULL)
        return spawn(argv, -1);
    bool piped = pipe2(ends, O_CLOEXEC) == 0;
    assert(piped && size > 1);
    pid_t pid = spawn(argv, ends[1]);
    close(ends[1]);
    for (ssize_t got = 1; pid > 0 && got > 0 && len + 1 < size; len += (size_t)got)
        if (memchr(words, '\n', len) != NULL ||
            (got = read(ends[0], words + len, size - 1 - len)) <= 0)
            break;
    words[len] = '\0';
    close(ends[0]);
    if (pid < 0 || len > 0)
        return pid;
    child_end(pid);
    return -1;
}

int child_run(const char *const *argv, double *peak_mib)
{
    struct rusage used;
    int status;
    pid_t pid = spawn(argv, -1);
    if (pid < 0 || wait4(pid, &status, 0, &used) != pid)
        return -1;
    if (peak_mib != NULL)
        *peak_mib = (double)used.ru_maxrss / 1024;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void child_end(pid_t pid)
{
    kill(pid, SIGTERM);
    pid_t ended = waitpid(pid, NULL, 0);
    assert(ended == pid);
    (void)ended;
}

double child_rss_mib(pid_t pid)
{
    char path[64];
    unsigned long pages = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    FILE *file = fopen(path, "r");
    assert(file != NULL);
    int read = fscanf(file, "%*u %lu", &pages);
    assert(read == 1);
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

double child_cpu_seconds(pid_t pid)
{
    char path[64], words[1024];
    unsigned long user = 0, kernel = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "r");
    assert(file != NULL);
    size_t len = fread(words, 1, sizeof words - 1, file);
    fclose(file);
    words[len] = '\0';
    const char *after = strrchr(words, ')'); /* a name may hold anything else */
    assert(after != NULL);
    int read =
        sscanf(after + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &kernel);
    assert(read == 2);
    return (double)(user + kernel) / (double)sysconf(_SC_CLK_TCK);
}
