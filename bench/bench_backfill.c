/* SPDX-License-Identifier: Apache-2.0
 *
 * A cold start: an empty store, one person who follows 342 accounts, a day of history each.
 *
 * cold_start: from exec until every history is stored, against the time that so many requests need
 * at the least when they are 100 ms apart. cold_start_requests: pages of feeds that were asked for,
 * against one for each account that is still there, which is what a day of theirs fits on.
 *
 * poll_initial, poll_regular: the same people polled, for the first time and again, from exec until
 * everybody was asked, against what the poller of old took: 18 and 10 seconds (R000-61 R000-62).
 *
 *   bench_backfill TIDEMARK TIDEMARK_SIM */
#include "base/json.h"
#include "child.h"
#include "child_daemon.h"
#include "fixture.h"
#include "loopback_http.h"
#include "stopwatch.h"
#include "store/store.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define SPACING_S    0.1
#define GOAL         1.2
#define INITIAL_S    18.0
#define REGULAR_S    10.0
#define PATIENCE_S   120.0
#define LOOK_NS      20000000
#define SETTING_SIZE 640
#define ANSWER_BYTES 65536

static struct fixture fixture;
static pid_t sim_pid, daemon_pid;
static unsigned sim_port;
static struct text answer; /* of the simulator */

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
    char address[96];
    sim_pid =
        child_start((const char *[]){program, "--accounts", "343", "--follows", "342", "--events",
                                     "6000", "--start-us", "now", "--gap-us", "14000000", NULL},
                    address, sizeof address);
    const char *port = sim_pid > 0 ? strrchr(address, ':') : NULL;
    if (port == NULL)
        fail("tidemark-sim did not tell its address");
    sim_port = (unsigned)strtoul(port + 1, NULL, 10);
}

static void start_daemon(const char *program, const char *actor, const char *mode)
{
    char view[SETTING_SIZE], actors[SETTING_SIZE];
    snprintf(view, sizeof view, "bluesky.appview=http://127.0.0.1:%u", sim_port);
    snprintf(actors, sizeof actors, "bluesky.actors=%s", actor);
    daemon_pid =
        child_daemon_start(program, &fixture, sim_port, (const char *[]){view, actors, mode, NULL});
    if (daemon_pid < 0)
        fail(program);
}

/* What the simulator answers to GET `path`, until it is asked again. */
static const char *ask_sim(const char *path)
{
    int connection = loopback_ask(sim_port, "GET", path);
    if (connection < 0 || !loopback_answer(connection, &answer))
        fail("tidemark-sim does not answer");
    return text_string(&answer);
}

/* ---- what is counted ---- */

struct requests {
    int64_t feeds, all; /* pages of feeds; everything that was asked of the AppView */
};

static void count_requests(struct requests *out)
{
    struct json_doc *doc = json_doc_new(ANSWER_BYTES, JSON_DEPTH_MAX);
    struct json root, value;
    struct bytes key;
    struct err err;
    *out = (struct requests){0};
    if (json_parse_copy(doc, bytes_of(ask_sim("/_sim/stats")), &root, &err) != RC_OK)
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

static bool is_complete(const char *left_sql, int64_t *followed)
{
    struct store *store;
    struct err err;
    int64_t unread = 1;
    *followed = 0;
    if (store_open(fixture.url, STORE_READ, &store, &err) != RC_OK)
        return false;
    if (store_query_int(store, "SELECT count(*) FROM follows", 0, followed, &err) != RC_OK ||
        store_query_int(store, left_sql, 1, &unread, &err) != RC_OK)
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

/* Seconds from exec until nothing that `left_sql` counts is left. */
static double time_until(const char *program, const char *actor, const char *mode,
                         const char *left_sql, int64_t *followed)
{
    double begin = seconds_now();
    start_daemon(program, actor, mode);
    while (!is_complete(left_sql, followed)) {
        if (seconds_now() - begin > PATIENCE_S || waitpid(daemon_pid, NULL, WNOHANG) != 0)
            fail("the histories did not come");
        ppoll(NULL, 0, &(struct timespec){.tv_nsec = LOOK_NS}, NULL);
    }
    return seconds_now() - begin;
}

static void stop_daemon(void)
{
    child_end(daemon_pid);
    daemon_pid = 0;
}

static bool bench_cold_start(const char *program, const char *actor)
{
    struct requests requests;
    int64_t followed;
    fixture_open(&fixture, FIXTURE_SQLITE);
    double took = time_until(program, actor, "bluesky.mode=firehose",
                             "SELECT count(*) FROM backfill_queue", &followed);
    count_requests(&requests);
    stop_daemon();
    fixture_close(&fixture);
    bool ok = report("cold_start", "s", took, (double)requests.all * SPACING_S, GOAL);
    return report("cold_start_requests", "pages", (double)requests.feeds, (double)followed, 1.0) &&
           ok;
}

static bool bench_polling(const char *program, const char *actor)
{
    static const char unpolled[] = "SELECT count(*) FROM follows f WHERE NOT EXISTS (SELECT 1 FROM "
                                   "poll_state p WHERE p.user_handle = f.handle)";
    int64_t followed;
    fixture_open(&fixture, FIXTURE_SQLITE);
    double first = time_until(program, actor, "bluesky.mode=polling", unpolled, &followed);
    stop_daemon();
    struct requests before, now = {0};
    double begin = seconds_now();
    count_requests(&before);
    start_daemon(program, actor, "bluesky.mode=polling");
    while (now.feeds < before.feeds + followed) {
        if (seconds_now() - begin > PATIENCE_S || waitpid(daemon_pid, NULL, WNOHANG) != 0)
            fail("the second round did not end");
        ppoll(NULL, 0, &(struct timespec){.tv_nsec = LOOK_NS}, NULL);
        count_requests(&now);
    }
    double second = seconds_now() - begin;
    stop_daemon();
    fixture_close(&fixture);
    bool ok = report("poll_initial", "s", first, INITIAL_S, 1.0);
    return report("poll_regular", "s", second, REGULAR_S, 1.0) && ok;
}

int main(int argc, char **argv)
{
    char actor[128] = "";
    if (argc != 3)
        return EXIT_FAILURE;
    start_sim(argv[2]);
    if (sscanf(ask_sim("/_sim/accounts"), "{\"did\":\"%127[^\"]", actor) != 1)
        fail("tidemark-sim does not say who is there");
    bool ok = bench_cold_start(argv[1], actor);
    ok = bench_polling(argv[1], actor) && ok;
    child_end(sim_pid);
    text_free(&answer);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
