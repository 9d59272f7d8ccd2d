/* SPDX-License-Identifier: Apache-2.0 */
#include "postgres_server.h"

#include "free_port.h"
#include "sys/clock.h"

#include <libpq-fe.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGS_MAX    64
#define WAIT_US_MAX 180000000 /* a busy machine is slower than one thinks */

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "postgres_server: %s: %s\n", what, why);
    abort();
}

/* PostgreSQL refuses to run as root. */
static const struct passwd *unprivileged(void)
{
    if (getuid() != 0)
        return NULL;
    static struct passwd entry;
    static char words[4096];
    struct passwd *user = NULL;
    if (getpwnam_r("postgres", &entry, words, sizeof words, &user) != 0 || user == NULL)
        fail("user postgres", "not there");
    return user;
}

static pid_t spawn(const struct server *server, const char *program, const char *const *args)
{
    const char *folder = getenv("TIDEMARK_TEST_POSTGRES_BIN");
    const struct passwd *user = unprivileged();
    char path[512], log[320];
    if (folder == NULL)
        fail(program, "run the test through tests/support/with_postgres");
    snprintf(path, sizeof path, "%s/%s", folder, program);
    snprintf(log, sizeof log, "%s/log", server->home);
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGQUIT);
    if (user != NULL &&
        (setgroups(0, NULL) != 0 || setgid(user->pw_gid) != 0 || setuid(user->pw_uid) != 0))
        _exit(126);
    prctl(PR_SET_PDEATHSIG, SIGQUIT); /* changing the user takes it away */
    int out = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600), in = open("/dev/null", O_RDONLY);
    if (chdir(server->home) != 0 || out < 0 || in < 0)
        _exit(126);
    dup2(in, 0);
    dup2(out, 1);
    dup2(out, 2);
    char *words[ARGS_MAX + 1] = {path}; /* it looks for its companions where it itself lies */
    for (size_t i = 1; i < ARGS_MAX && args[i] != NULL; i++)
        words[i] = (char *)(uintptr_t)args[i];
    execv(path, words);
    _exit(127);
}

static void run(const struct server *server, const char *program, const char *const *args)
{
    int status;
    pid_t pid = spawn(server, program, args);
    if (waitpid(pid, &status, 0) != pid || status != 0)
        fail(program, "failed, see its log");
}

static void make_home(struct server *server)
{
    const char *base = getenv("TMPDIR") == NULL ? "/tmp" : getenv("TMPDIR");
    const struct passwd *user = unprivileged();
    *server = (struct server){.port = (int)free_port()};
    if (server->port == 0)
        fail("port", "none free");
    snprintf(server->home, sizeof server->home, "%s/tidemark-pg-XXXXXX", base);
    if (mkdtemp(server->home) == NULL ||
        (user != NULL && chown(server->home, user->pw_uid, user->pw_gid) != 0))
        fail(server->home, "cannot be made");
    snprintf(server->data, sizeof server->data, "%s/data", server->home);
    snprintf(server->url, sizeof server->url, "postgresql://postgres@127.0.0.1:%d/postgres",
             server->port);
}

void server_make(struct server *server)
{
    make_home(server);
    const char *args[] = {"initdb",   "-D",   server->data, "-U",
                          "postgres", "-A",   "trust",      "--locale=C.UTF-8",
                          "-E",       "UTF8", "--no-sync",  NULL};
    run(server, "initdb", args);
}

/* Whether the first value of `sql` is `expected`. */
static bool says(const struct server *server, const char *sql, const char *expected)
{
    PGconn *connection = PQconnectdb(server->url);
    PGresult *result = PQexec(connection, sql);
    bool good = PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) == 1 &&
                strcmp(PQgetvalue(result, 0, 0), expected) == 0;
    PQclear(result);
    PQfinish(connection);
    return good;
}

void server_await(const struct server *server, const char *sql, const char *expected)
{
    int64_t until = clock_mono_us() + WAIT_US_MAX;
    while (!says(server, sql, expected))
        if (clock_mono_us() > until)
            fail(sql, "never came true");
}

void server_start(struct server *server)
{
    char port[16];
    snprintf(port, sizeof port, "%d", server->port);
    const char *args[] = {"postgres",
                          "-D",
                          server->data,
                          "-p",
                          port,
                          "-k",
                          server->home,
                          "-c",
                          "fsync=off",
                          "-c",
                          "listen_addresses=127.0.0.1",
                          "-c",
                          "shared_buffers=16MB",
                          NULL};
    server->pid = spawn(server, "postgres", args);
    server_await(server, "SELECT 1", "1");
}

void server_stop(struct server *server, bool at_once)
{
    int status;
    kill(server->pid, at_once ? SIGQUIT : SIGINT);
    if (waitpid(server->pid, &status, 0) != server->pid)
        fail("server", "not ours");
    server->pid = 0;
}

void server_run(const struct server *server, const char *sql)
{
    PGconn *connection = PQconnectdb(server->url);
    PGresult *result = PQexec(connection, sql);
    if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK)
        fail(sql, PQerrorMessage(connection));
    PQclear(result);
    PQfinish(connection);
}

void server_follow(struct server *standby, struct server *primary)
{
    char port[16];
    make_home(standby);
    snprintf(port, sizeof port, "%d", primary->port);
    const char *args[] = {
        "pg_basebackup", "-D", standby->data, "-h",     "127.0.0.1", "-p",   port,        "-U",
        "postgres",      "-R", "-X",          "stream", "-c",        "fast", "--no-sync", NULL};
    run(standby, "pg_basebackup", args);
    server_start(standby);
    server_await(primary, "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'",
                 "1");
    server_run(primary, "ALTER SYSTEM SET synchronous_standby_names = '*'");
    server_run(primary, "SELECT pg_reload_conf()");
    server_await(primary, "SELECT sync_state FROM pg_stat_replication", "sync");
}

void server_promote(struct server *standby)
{
    server_run(standby, "SELECT pg_promote()");
    server_await(standby, "SELECT pg_is_in_recovery()", "f");
    /* It was copied with the wish to wait for a standby of its own. */
    server_run(standby, "ALTER SYSTEM RESET synchronous_standby_names");
    server_run(standby, "SELECT pg_reload_conf()");
}

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *walk)
{
    (void)info, (void)type, (void)walk;
    return remove(path);
}

void server_free(struct server *server)
{
    if (server->pid != 0)
        server_stop(server, true);
    nftw(server->home, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}
