/* SPDX-License-Identifier: Apache-2.0
 *
 * A cold start: an empty store, one person who follows 342 accounts, a day of history each.
 *
 * cold_start: from exec until every history is stored, against the time that so many requests need
 * at the least when they are 100 ms apart. cold_start_requests: pages of feeds that were asked for,
 * against one for each account that is still there, which is what a day of theirs fits on.
 *
 *   bench_backfill TIDEMARK TIDEMARK_SIM */
#include "base/json.h"
#include "fixture.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SPACING_S    0.1
#define GOAL         1.2
#define PATIENCE_S   120.0
#define LOOK_NS      20000000
#define SETTING_SIZE 640
#define ANSWER_BYTES 65536

static struct fixture fixture;
static pid_t sim_pid, daemon_pid;
static uint16_t sim_port;

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void fail(const char *what)
{
    fprintf(stderr, "bench_backfill: %s: %s\n", what, strerror(errno));
    if (sim_pid > 0)
        kill(sim_pid, SIGKILL);
    if (daemon_pid > 0)
        kill(daemon_pid, SIGKILL);
    fixture_close(&fixture);
    exit(EXIT_FAILURE);
}

/* ---- the two programs ---- */

static void start_sim(const char *program)
{
    int ends[2];
    char address[96] = "";
    if (pipe2(ends, O_CLOEXEC) != 0 || (sim_pid = fork()) < 0)
        fail("fork");
    if (sim_pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        execl(program, program, "--accounts", "343", "--follows", "342", "--events", "6000",
              "--start-us", "now", "--gap-us", "14000000", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    ssize_t got = read(ends[0], address, sizeof address - 1);
    const char *port = got > 0 ? strrchr(address, ':') : NULL;
    if (port == NULL)
        fail("tidemark-sim did not tell its address");
    sim_port = (uint16_t)strtol(port + 1, NULL, 10);
    close(ends[0]);
}

static void start_daemon(const char *program, const char *actor)
{
    char store[SETTING_SIZE], data[SETTING_SIZE], cursor[SETTING_SIZE], view[SETTING_SIZE],
        endpoint[SETTING_SIZE], actors[SETTING_SIZE];
    snprintf(store, sizeof store, "store.url=%s", fixture.url);
    snprintf(data, sizeof data, "store.data_dir=%s", fixture.folder);
    snprintf(cursor, sizeof cursor, "jetstream.cursor_file=%s/cursor", fixture.folder);
    snprintf(view, sizeof view, "bluesky.appview=http://127.0.0.1:%u", sim_port);
    snprintf(endpoint, sizeof endpoint, "jetstream.endpoint=ws://127.0.0.1:%u/subscribe", sim_port);
    snprintf(actors, sizeof actors, "bluesky.actors=%s", actor);
    daemon_pid = fork();
    if (daemon_pid < 0)
        fail("fork");
    if (daemon_pid > 0)
        return;
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(nowhere, STDERR_FILENO);
    execl(program, program, "run", "-c", "/dev/null", "--set", store, "--set", data, "--set",
          cursor, "--set", view, "--set", endpoint, "--set", actors, "--set",
          "serve.listen=127.0.0.1:0", "--set", "serve.health_listen=", "--set",
          "jetstream.fallback_endpoint=", (char *)NULL);
    _exit(127);
}

/* What the simulator answers to GET `path`, without the head. */
static const char *ask_sim(const char *path, char answer[ANSWER_BYTES])
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(sim_port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    char request[128];
    int len = snprintf(request, sizeof request,
                       "GET %s HTTP/1.1\r\nHost: sim\r\nConnection: close\r\n\r\n", path);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    size_t used = 0;
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) != 0 ||
        write(fd, request, (size_t)len) != len)
        fail("tidemark-sim does not answer");
    for (ssize_t got;
         used < ANSWER_BYTES - 1 && (got = read(fd, answer + used, ANSWER_BYTES - 1 - used)) > 0;)
        used += (size_t)got;
    close(fd);
    answer[used] = '\0';
    const char *body = strstr(answer, "\r\n\r\n");
    if (body == NULL)
        fail("tidemark-sim answers nonsense");
    return body + 4;
}

/* ---- what is counted ---- */

struct requests {
    int64_t feeds, all; /* pages of feeds; everything that was asked of the AppView */
};

static void count_requests(struct requests *out)
{
    static char answer[ANSWER_BYTES];
    struct json_doc *doc = json_doc_new(ANSWER_BYTES, JSON_DEPTH_MAX);
    struct json root, value;
    struct bytes key;
    struct err err;
    *out = (struct requests){0};
    if (json_parse_copy(doc, bytes_of(ask_sim("/_sim/stats", answer)), &root, &err) != RC_OK)
        fail(err.text);
    struct json_walk walk = json_walk(json_get(root, "requests"));
    while (json_walk_next(&walk, &key, &value)) {
        int64_t count = 0;
        if (!bytes_starts_with(key, "GET /xrpc/app.bsky.") || !json_i64(value, &count))
            continue;
        out->all += count;
        if (bytes_equal_string(key, "GET /xrpc/app.bsky.feed.getAuthorFeed"))
            out->feeds = count;
    }
    json_doc_free(doc);
}

static bool is_complete(int64_t *followed)
{
    struct store *store;
    struct err err;
    int64_t unread = 1;
    *followed = 0;
    if (store_open(fixture.url, STORE_READ, &store, &err) != RC_OK)
        return false;
    if (store_query_int(store, "SELECT count(*) FROM follows", 0, followed, &err) != RC_OK ||
        store_query_int(store, "SELECT count(*) FROM backfill_queue", 1, &unread, &err) != RC_OK)
        *followed = 0;
    store_close(store);
    return *followed > 0 && unread == 0;
}

static bool report(const char *name, const char *unit, double value, double against, double goal)
{
    bool ok = value <= against * goal;
    printf("{\"name\":\"%s\",\"value\":%.2f,\"unit\":\"%s\",\"against\":%.2f,\"ratio\":%.3f,"
           "\"goal\":%.1f,\"ok\":%s}\n",
           name, value, unit, against, value / against, goal, ok ? "true" : "false");
    return ok;
}

int main(int argc, char **argv)
{
    static char answer[ANSWER_BYTES];
    char actor[128] = "";
    struct requests requests;
    int64_t followed;
    if (argc != 3)
        return EXIT_FAILURE;
    fixture_open(&fixture, FIXTURE_SQLITE);
    start_sim(argv[2]);
    if (sscanf(ask_sim("/_sim/accounts", answer), "{\"did\":\"%127[^\"]", actor) != 1)
        fail("tidemark-sim does not say who is there");
    double begin = now_s();
    start_daemon(argv[1], actor);
    while (!is_complete(&followed)) {
        if (now_s() - begin > PATIENCE_S || waitpid(daemon_pid, NULL, WNOHANG) != 0)
            fail("the histories did not come");
        ppoll(NULL, 0, &(struct timespec){.tv_nsec = LOOK_NS}, NULL);
    }
    double took = now_s() - begin;
    count_requests(&requests);
    kill(daemon_pid, SIGTERM);
    kill(sim_pid, SIGTERM);
    waitpid(daemon_pid, NULL, 0);
    waitpid(sim_pid, NULL, 0);
    bool ok = report("cold_start", "s", took, (double)requests.all * SPACING_S, GOAL);
    ok =
        report("cold_start_requests", "pages", (double)requests.feeds, (double)followed, 1.0) && ok;
    fixture_close(&fixture);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
