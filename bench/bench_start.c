/* SPDX-License-Identifier: Apache-2.0
 *
 * From exec to healthy, on a SQLite store of some 200,000 posts.
 *
 * start_cold: a store that was closed well, against a bare process that opens it and reads the
 * cursor row. start_killed: stores whose daemon was killed while it followed a simulated firehose,
 * each with another length of log, against a cold start and three times what a bare process needs
 * to recover the same log. Healthy is GET /health on the daemon's socket answering 200. The sides
 * take turns on copies; the best round of each counts.
 *
 *   bench_start TIDEMARK TIDEMARK_SIM BARE_READER */
#include "fixture.h"
#include "floor_writer.h"
#include "stopwatch.h"
#include "store/store.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COMMITS     201
#define ROUNDS      12
#define KILLS       3
#define COLD_GOAL   10.0
#define KILLED_GOAL 1.0
#define PATIENCE_S  60.0
#define LOOK_NS     100000
#define PATH_SIZE   512
#define ARGS_MAX    32

static struct fixture fixture;
static const char *tidemark, *sim, *bare_reader;
static char endpoint[128]; /* of the simulated firehose */
static pid_t sim_pid, daemon_pid;
static const double log_mib[KILLS] = {2, 12, 30};

static void fail(const char *what)
{
    fprintf(stderr, "bench_start: %s: %s\n", what, strerror(errno));
    if (sim_pid > 0)
        kill(sim_pid, SIGKILL);
    if (daemon_pid > 0)
        kill(daemon_pid, SIGKILL);
    fixture_close(&fixture);
    exit(EXIT_FAILURE);
}

static void path_of(char out[PATH_SIZE], const char *folder, const char *name)
{
    snprintf(out, PATH_SIZE, "%s/%s/%s", fixture.folder, folder, name);
}

static void rest(void)
{
    ppoll(NULL, 0, &(struct timespec){.tv_nsec = LOOK_NS}, NULL);
}

/* ---- processes ---- */

/* `out`: what its standard output becomes; below 0: nothing. */
static pid_t spawn(const char *const *argv, int out)
{
    char *args[ARGS_MAX] = {0}; /* posix_spawn() promises to change none */
    size_t count = 0;
    while (argv[count] != NULL)
        count++;
    assert(count < ARGS_MAX);
    memcpy(args, argv, count * sizeof args[0]);
    posix_spawn_file_actions_t actions;
    pid_t pid;
    posix_spawn_file_actions_init(&actions);
    if (out >= 0)
        posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    else
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (posix_spawn(&pid, args[0], &actions, NULL, args, environ) != 0)
        fail(argv[0]);
    posix_spawn_file_actions_destroy(&actions);
    return pid;
}

/* Starts a program and reads the first thing it says. */
static pid_t spawn_and_hear(const char *const *argv, char *words, size_t size)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        fail("pipe");
    pid_t pid = spawn(argv, ends[1]);
    close(ends[1]);
    ssize_t got = read(ends[0], words, size - 1);
    if (got <= 0)
        fail(argv[0]);
    words[got] = '\0';
    close(ends[0]);
    return pid;
}

static void end(pid_t pid, int number)
{
    kill(pid, number);
    if (waitpid(pid, NULL, 0) != pid)
        fail("waitpid");
}

static void run_to_end(const char *const *argv)
{
    int status;
    pid_t pid = spawn(argv, -1);
    if (waitpid(pid, &status, 0) != pid || status != 0)
        fail(argv[0]);
}

/* Copies a closed or killed store; on disk, so that nobody who syncs pays for it. */
static void copy_store(const char *from, const char *to)
{
    char source[PATH_SIZE], target[PATH_SIZE];
    path_of(source, from, ".");
    path_of(target, to, "");
    run_to_end((const char *[]){"/bin/rm", "-rf", target, NULL});
    run_to_end((const char *[]){"/bin/cp", "-r", source, target, NULL});
    sync();
}

/* ---- the daemon ---- */

static pid_t start_daemon(const char *folder)
{
    char url[PATH_SIZE + 32], data[PATH_SIZE + 32], cursor[PATH_SIZE + 32], path[PATH_SIZE];
    path_of(path, folder, "store.db");
    snprintf(url, sizeof url, "store.url=sqlite:%s", path);
    path_of(path, folder, "");
    snprintf(data, sizeof data, "store.data_dir=%s", path);
    snprintf(cursor, sizeof cursor, "jetstream.cursor_file=%scursor", path);
    const char *const argv[] = {tidemark, "run",
                                "-c",     "/dev/null",
                                "--set",  url,
                                "--set",  data,
                                "--set",  cursor,
                                "--set",  "serve.listen=127.0.0.1:0",
                                "--set",  endpoint,
                                "--set",  "serve.health_listen=",
                                "--set",  "jetstream.fallback_endpoint=",
                                "--set",  "bluesky.appview=http://127.0.0.1:9",
                                "--set",  "cards.enabled=false",
                                NULL};
    return spawn(argv, -1);
}

static bool ask_health(const struct sockaddr_un *address)
{
    static const char request[] = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
    char answer[64];
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool good = connect(fd, (const struct sockaddr *)address, sizeof *address) == 0 &&
                write(fd, request, sizeof request - 1) == (ssize_t)sizeof request - 1 &&
                read(fd, answer, sizeof answer) > 12 && memcmp(answer + 9, "200", 3) == 0;
    close(fd);
    return good;
}

/* Answers the seconds from exec to the first 200. */
static double time_daemon(const char *folder)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char path[PATH_SIZE];
    path_of(path, folder, "tidemark.sock");
    unlink(path);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    double start = seconds_now();
    daemon_pid = start_daemon(folder);
    while (!ask_health(&address)) {
        if (seconds_now() - start > PATIENCE_S || waitpid(daemon_pid, NULL, WNOHANG) != 0)
            fail("the daemon did not become healthy");
        rest();
    }
    return seconds_now() - start;
}

static double time_bare(const char *folder)
{
    char path[PATH_SIZE], word[2];
    path_of(path, folder, "store.db");
    double start = seconds_now();
    pid_t pid = spawn_and_hear((const char *[]){bare_reader, path, NULL}, word, sizeof word);
    double took = seconds_now() - start;
    end(pid, SIGCONT);
    return took;
}

/* ---- the stores ---- */

static void make_store(void)
{
    struct post_stock stock;
    struct store *store;
    struct store_position position;
    struct err err;
    unsigned applied;
    double took[COMMITS];
    char url[PATH_SIZE + 8] = "sqlite:";
    path_of(url + 7, "clean", "");
    if (mkdir(url + 7, 0700) != 0)
        fail("mkdir");
    path_of(url + 7, "clean", "store.db");
    if (store_open(url, STORE_WRITE, &store, &err) != RC_OK ||
        store_migrate(store, &applied, &err) != RC_OK ||
        store_claim(store, "bench", NULL, 1, &position, &err) != RC_OK)
        fail(err.text);
    store_close(store);
    post_stock_init(&stock, COMMITS);
    floor_sqlite(url + 7, &stock, took);
    post_stock_deinit(&stock);
}

static pid_t start_sim(void)
{
    char address[96];
    const char *const argv[] = {sim,       "--events", "150000",     "--rate", "500",
                                "--noise", "0",        "--start-us", "now",    NULL};
    pid_t pid = spawn_and_hear(argv, address, sizeof address);
    const char *port = strrchr(address, ':');
    if (port == NULL)
        fail("tidemark-sim did not tell its address");
    snprintf(endpoint, sizeof endpoint, "jetstream.endpoint=ws://127.0.0.1:%ld/subscribe",
             strtol(port + 1, NULL, 10));
    return pid;
}

/* Leaves a store whose daemon was killed once its log had grown past `mib`. */
static void make_killed(const char *folder, double mib)
{
    char path[PATH_SIZE];
    struct stat info = {0};
    copy_store("clean", folder);
    path_of(path, folder, "store.db-wal");
    double start = seconds_now();
    time_daemon(folder);
    while (stat(path, &info) != 0 || (double)info.st_size < mib * (1 << 20)) {
        if (seconds_now() - start > PATIENCE_S)
            fail("the daemon did not write");
        rest();
    }
    end(daemon_pid, SIGKILL);
    path_of(path, folder, "store.db-shm"); /* what it held in memory is gone with a machine */
    unlink(path);
}

/* ---- rounds ---- */

struct best {
    double daemon, bare; /* seconds */
};

static void play_round(const char *folder, struct best *best)
{
    copy_store(folder, "bare");
    double bare = time_bare("bare");
    copy_store(folder, "daemon");
    double daemon = time_daemon("daemon");
    end(daemon_pid, SIGKILL);
    best->bare = best->bare == 0 || bare < best->bare ? bare : best->bare;
    best->daemon = best->daemon == 0 || daemon < best->daemon ? daemon : best->daemon;
}

static bool report(const char *name, double value, double against, double goal)
{
    bool ok = value / against <= goal;
    printf("{\"name\":\"%s\",\"value\":%.2f,\"unit\":\"ms\",\"against\":%.2f,\"ratio\":%.2f,"
           "\"goal\":%.1f,\"ok\":%s}\n",
           name, value * 1e3, against * 1e3, value / against, goal, ok ? "true" : "false");
    return ok;
}

int main(int argc, char **argv)
{
    static const char *const folders[KILLS] = {"killed0", "killed1", "killed2"};
    struct best cold = {0}, killed[KILLS] = {0};
    bool ok = true;
    if (argc != 4)
        return EXIT_FAILURE;
    tidemark = argv[1], sim = argv[2], bare_reader = argv[3];
    fixture_open(&fixture, FIXTURE_SQLITE);
    make_store();
    sim_pid = start_sim();
    for (size_t i = 0; i < KILLS; i++)
        make_killed(folders[i], log_mib[i]);
    for (size_t round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < KILLS; i++) {
            play_round("clean", &cold); /* every ratio stands on it */
            play_round(folders[i], &killed[i]);
        }
    }
    end(sim_pid, SIGTERM);
    ok = report("start_cold", cold.daemon, cold.bare, COLD_GOAL);
    for (size_t i = 0; i < KILLS; i++) {
        char name[32];
        snprintf(name, sizeof name, "start_killed_%.0fmib", log_mib[i]);
        ok = report(name, killed[i].daemon, cold.daemon + 3 * killed[i].bare, KILLED_GOAL) && ok;
        fprintf(stderr, "%s: bare recovery %.2f ms\n", name, killed[i].bare * 1e3);
    }
    fixture_close(&fixture);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
