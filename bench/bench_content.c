/* SPDX-License-Identifier: Apache-2.0
 *
 * A chain whose blocks name a document now and then, and a gateway that takes 5 to 500 ms for each.
 *
 * content_parallel: documents a second from exec until the position is the head, against a reader
 * that waits for all documents of a block before it goes on to the next, at the same gateway.
 * content_bound: the time that the gateway's delays need at the least when as many documents as are
 * allowed are always under way, against the time it took.
 * content_lag: new blocks at the head: from the last question for one of their documents until the
 * position has passed them, against the slowest fetch that is pending then, and a commit: what the
 * same takes at most when the gateway answers at once.
 * content_crash: killed in the middle, documents that are fetched twice, against the places there
 * are for documents under way. content_refetch: of what was stored by then, documents that are
 * fetched again.
 *
 *   bench_content TIDEMARK TIDEMARK_SIM */
#include "base/json.h"
#include "child.h"
#include "fixture.h"
#include "loopback_http.h"
#include "stopwatch.h"
#include "store/store.h"
#include "times.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define PARALLEL_GOAL 10.0
#define BOUND_GOAL    0.9
#define LAG_GOAL      1.0
#define LAG_ROUNDS    5 /* odd: the middle one counts */
#define CONCURRENCY   20
/* Documents being fetched, results that wait, and those in a batch on its way. */
#define UNDER_WAY      (3.0 * CONCURRENCY)
#define DELAYS         "ms_min=5&ms_max=500"
#define SLOW_MS        500
#define WAITING_BLOCKS 40
#define NEW_BLOCKS     "12"
#define CRASH_AFTER    300
#define PATIENCE_S     300.0
#define LOOK_NS        5000000
#define SETTING_SIZE   640
#define HOSTS_BYTES    65536

struct bench {
    const char *tidemark, *sim;
    pid_t sim_pid, daemon_pid;
    unsigned port, node, gateway;
    struct fixture fixture;
    struct text answer;
};

static void fail(struct bench *bench, const char *what)
{
    fprintf(stderr, "bench_content: %s\n", what);
    if (bench->daemon_pid > 0)
        kill(bench->daemon_pid, SIGKILL);
    if (bench->sim_pid > 0)
        kill(bench->sim_pid, SIGKILL);
    exit(EXIT_FAILURE);
}

static void look_again(void)
{
    ppoll(NULL, 0, &(struct timespec){.tv_nsec = LOOK_NS}, NULL);
}

/* ---- the simulator ---- */

static const char *ask(struct bench *bench, const char *method, const char *target)
{
    int connection = loopback_ask(bench->port, method, target);
    if (connection < 0 || !loopback_answer(connection, &bench->answer))
        fail(bench, "tidemark-sim does not answer");
    return text_string(&bench->answer);
}

struct host {
    uint64_t requests, late_ms;
    unsigned port;
};

static struct host look_at(struct bench *bench, const char *kind)
{
    struct json_doc *doc = json_doc_new(HOSTS_BYTES, JSON_DEPTH_MAX);
    struct host host = {0};
    struct json root;
    struct err err;
    if (json_parse_copy(doc, bytes_of(ask(bench, "GET", "/_sim/content/hosts")), &root, &err) !=
        RC_OK)
        fail(bench, err.text);
    struct json first = json_at(json_get(root, kind), 0);
    struct bytes url = json_string_or_absent(json_get(first, "url"));
    if (!json_u64(json_get(first, "requests"), &host.requests) ||
        !json_u64(json_get(first, "late_ms"), &host.late_ms) ||
        sscanf(url.data, "http://127.0.0.1:%u", &host.port) != 1)
        fail(bench, "tidemark-sim does not tell of its hosts");
    json_doc_free(doc);
    return host;
}

static void open_world(struct bench *bench, const char *blocks)
{
    const char *argv[] = {
        bench->sim, "--events",          "0", "--content-blocks",    blocks, "--content-density",
        "1",        "--content-crowded", "0", "--content-documents", "4000", "--content-large",
        "0",        "--content-nodes",   "1", "--content-gateways",  "1",    NULL};
    char address[96];
    bench->sim_pid = child_start(argv, address, sizeof address);
    if (bench->sim_pid < 0 || sscanf(address, "http://127.0.0.1:%u", &bench->port) != 1)
        fail(bench, "tidemark-sim did not tell its address");
    bench->node = look_at(bench, "nodes").port;
    bench->gateway = look_at(bench, "gateways").port;
    ask(bench, "POST", "/_sim/content/manner?host=gateway&" DELAYS);
    fixture_open(&bench->fixture, FIXTURE_SQLITE);
}

static void close_world(struct bench *bench)
{
    child_end(bench->sim_pid);
    bench->sim_pid = 0;
    fixture_close(&bench->fixture);
}

static uint64_t head_of(struct bench *bench)
{
    unsigned long long head;
    if (sscanf(ask(bench, "GET", "/_sim/content/truth?what=head"), "{\"head\":%llu", &head) != 1)
        fail(bench, "tidemark-sim does not know its head");
    return head;
}

/* ---- the daemon ---- */

static void start_daemon(struct bench *bench)
{
    char words[8][SETTING_SIZE];
    const char *argv[32] = {bench->tidemark, "run", "-c", "/dev/null"};
    size_t count = 4;
    snprintf(words[0], SETTING_SIZE, "store.url=%s", bench->fixture.url);
    snprintf(words[1], SETTING_SIZE, "store.data_dir=%s", bench->fixture.folder);
    snprintf(words[2], SETTING_SIZE, "log.file=%s/log", bench->fixture.folder);
    snprintf(words[3], SETTING_SIZE, "content.rpc=http://127.0.0.1:%u", bench->node);
    snprintf(words[4], SETTING_SIZE, "content.gateways=http://127.0.0.1:%u", bench->gateway);
    snprintf(words[5], SETTING_SIZE, "content.concurrency=%d", CONCURRENCY);
    snprintf(words[6], SETTING_SIZE, "bluesky.appview=http://127.0.0.1:9");
    snprintf(words[7], SETTING_SIZE, "jetstream.cursor_file=%s/cursor", bench->fixture.folder);
    const char *const settings[] = {words[0],
                                    words[1],
                                    words[2],
                                    words[3],
                                    words[4],
                                    words[5],
                                    words[6],
                                    words[7],
                                    "content.contract=0xb01683b2f0d38d43fcd4d9aab980166988924132",
                                    "content.event=Published(address,string)",
                                    "bluesky.mode=polling",
                                    "serve.listen=127.0.0.1:0",
                                    "serve.health_listen="};
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        argv[count++] = "--set";
        argv[count++] = settings[i];
    }
    bench->daemon_pid = child_start(argv, NULL, 0);
    if (bench->daemon_pid < 0)
        fail(bench, "the daemon does not start");
}

static void stop_daemon(struct bench *bench, int number)
{
    kill(bench->daemon_pid, number);
    waitpid(bench->daemon_pid, NULL, 0);
    bench->daemon_pid = 0;
}

static int64_t position_of(struct bench *bench)
{
    struct store *store;
    struct err err;
    int64_t position = -1;
    if (store_open(bench->fixture.url, STORE_READ, &store, &err) != RC_OK)
        return -1;
    if (store_query_int(store, "SELECT block_number FROM meta WHERE id = 'content'", -1, &position,
                        &err) != RC_OK)
        position = -1;
    store_close(store);
    return position;
}

static void reach(struct bench *bench, uint64_t block)
{
    double begin = seconds_now();
    while (position_of(bench) < (int64_t)block) {
        if (seconds_now() - begin > PATIENCE_S || waitpid(bench->daemon_pid, NULL, WNOHANG) != 0)
            fail(bench, "the position does not come");
        look_again();
    }
}

/* ---- a reader that waits for each block ---- */

/* Asks for so many documents at once and waits for all of them. */
static void fetch_block(struct bench *bench, const char *const *names, size_t count)
{
    int connections[64];
    for (size_t i = 0; i < count; i++) {
        char target[128];
        snprintf(target, sizeof target, "/ipfs/%s?format=raw", names[i]);
        connections[i] = loopback_ask(bench->gateway, "GET", target);
        if (connections[i] < 0)
            fail(bench, "the gateway does not answer");
    }
    for (size_t i = 0; i < count; i++)
        if (!loopback_answer(connections[i], &bench->answer))
            fail(bench, "the gateway does not have it");
}

/* What `key` says in each line, one after the other; they lie in `lines`. */
static size_t read_lines(char *lines, const char *key, char **values, size_t most)
{
    size_t count = 0;
    for (char *at = lines; count < most && (at = strstr(at, key)) != NULL;) {
        at += strlen(key);
        values[count++] = at;
        at += strcspn(at, "\",}\n");
        if (*at != '\0')
            *at++ = '\0';
    }
    return count;
}

/* Documents a second over the first blocks that name any. */
static double wait_per_block(struct bench *bench)
{
    enum { NAMES_MAX = 512 };
    char *names[NAMES_MAX], *blocks[NAMES_MAX];
    ask(bench, "GET", "/_sim/content/truth?what=documents");
    char *documents = memory_copy_string(text_string(&bench->answer));
    size_t name_count = read_lines(documents, "\"canonical\":\"ipfs://", names, NAMES_MAX);
    ask(bench, "GET", "/_sim/content/truth?what=references&event=published&to=2000");
    char *references = memory_copy_string(text_string(&bench->answer));
    size_t count = read_lines(references, "\"block\":", blocks, NAMES_MAX), at = 0;
    if (count > name_count)
        fail(bench, "too few documents");
    double begin = seconds_now();
    for (int n = 0; n < WAITING_BLOCKS && at < count; n++) {
        size_t end = at + 1;
        while (end < count && strcmp(blocks[at], blocks[end]) == 0)
            end++;
        fetch_block(bench, (const char *const *)names + at, end - at);
        at = end;
    }
    double rate = (double)at / (seconds_now() - begin);
    free(documents);
    free(references);
    return rate;
}

/* ---- what is measured ---- */

static bool report(const char *name, const char *unit, double value, double against, double ratio,
                   double goal, bool ok)
{
    printf("{\"name\":\"%s\",\"value\":%.2f,\"unit\":\"%s\",\"against\":%.2f,\"ratio\":%.3f,"
           "\"goal\":%.1f,\"ok\":%s}\n",
           name, value, unit, against, ratio, goal, ok ? "true" : "false");
    fflush(stdout);
    return ok;
}

static bool measure_rate(struct bench *bench)
{
    double waiting = wait_per_block(bench);
    struct host before = look_at(bench, "gateways");
    uint64_t head = head_of(bench);
    double begin = seconds_now();
    start_daemon(bench);
    reach(bench, head);
    double took = seconds_now() - begin;
    struct host after = look_at(bench, "gateways");
    double rate = (double)(after.requests - before.requests) / took;
    double least = (double)(after.late_ms - before.late_ms) / 1000 / CONCURRENCY;
    bool ok = report("content_parallel", "documents/s", rate, waiting, rate / waiting,
                     PARALLEL_GOAL, rate / waiting >= PARALLEL_GOAL);
    return report("content_bound", "s", took, least, least / took, BOUND_GOAL,
                  least / took >= BOUND_GOAL) &&
           ok;
}

/* The last of the new blocks that names something. */
static uint64_t mine_blocks(struct bench *bench)
{
    char *blocks[64], target[96];
    uint64_t last, head = head_of(bench);
    ask(bench, "POST", "/_sim/content/act?do=mine&count=" NEW_BLOCKS);
    snprintf(target, sizeof target, "/_sim/content/truth?what=references&event=published&from=%llu",
             (unsigned long long)head + 1);
    ask(bench, "GET", target);
    size_t count = read_lines(bench->answer.data, "\"block\":", blocks, 64);
    if (count == 0)
        return mine_blocks(bench);
    if (!bytes_to_u64(bytes_of(blocks[count - 1]), &last))
        fail(bench, "the new blocks have no numbers");
    return last;
}

/* From the last question for a document of new blocks until the position has passed them, with a
 * gateway that takes so long. The daemon is at the head, and all it knows is stored. */
static double pass_new_blocks(struct bench *bench, unsigned gateway_ms)
{
    char target[96];
    snprintf(target, sizeof target, "/_sim/content/manner?host=gateway&ms_min=%u&ms_max=%u",
             gateway_ms, gateway_ms);
    ask(bench, "POST", target);
    uint64_t before = look_at(bench, "gateways").requests, asked = before;
    uint64_t last = mine_blocks(bench);
    double begin = seconds_now(), asked_at = begin;
    while (position_of(bench) < (int64_t)last) {
        uint64_t requests = look_at(bench, "gateways").requests;
        if (requests != asked)
            asked_at = seconds_now();
        asked = requests;
        if (seconds_now() - begin > PATIENCE_S)
            fail(bench, "the position does not come");
        look_again();
    }
    double took = seconds_now() - asked_at;
    return asked == before ? pass_new_blocks(bench, gateway_ms) : took; /* all were there */
}

/* So many times, in order. */
static void pass_often(struct bench *bench, unsigned gateway_ms, double times[LAG_ROUNDS])
{
    for (int i = 0; i < LAG_ROUNDS; i++)
        times[i] = pass_new_blocks(bench, gateway_ms);
    times_sort(times, LAG_ROUNDS);
}

static bool measure_lag(struct bench *bench)
{
    double slow[LAG_ROUNDS], quick[LAG_ROUNDS];
    pass_often(bench, 0, quick);
    pass_often(bench, SLOW_MS, slow);
    double lag = slow[LAG_ROUNDS / 2], bound = SLOW_MS / 1000.0 + quick[LAG_ROUNDS - 1];
    return report("content_lag", "s", lag, bound, lag / bound, LAG_GOAL, lag <= bound * LAG_GOAL);
}

static bool add_name(void *arg, const struct field *columns, size_t count)
{
    struct text *names = arg;
    (void)count;
    text_appendf(names, "%.*s\n", (int)columns[0].b.len, columns[0].b.data);
    return true;
}

/* A line per document that is stored. */
static void read_stored(struct bench *bench, struct text *names)
{
    struct store *store;
    struct err err;
    if (store_open(bench->fixture.url, STORE_READ, &store, &err) != RC_OK ||
        store_query(store, "SELECT canonical FROM ipfs_cache WHERE NOT is_errored", NULL, 0,
                    add_name, names, &err) != RC_OK)
        fail(bench, err.text);
    store_close(store);
}

static bool measure_crash(struct bench *bench)
{
    enum { DOCUMENTS_MAX = 16384 };
    static char *names[DOCUMENTS_MAX], *counts[DOCUMENTS_MAX];
    struct text stored = {0};
    double twice = 0, again = 0;
    start_daemon(bench);
    while (look_at(bench, "gateways").requests < CRASH_AFTER)
        look_again();
    stop_daemon(bench, SIGKILL);
    read_stored(bench, &stored);
    start_daemon(bench);
    reach(bench, head_of(bench));
    ask(bench, "GET", "/_sim/content/truth?what=documents");
    char *lines = memory_copy_string(text_string(&bench->answer));
    size_t count = read_lines(lines, "\"canonical\":\"", names, DOCUMENTS_MAX);
    read_lines(bench->answer.data, "\"served\":", counts, DOCUMENTS_MAX);
    for (size_t i = 0; i < count; i++) {
        bool spelled_again = i > 0 && strcmp(names[i], names[i - 1]) == 0;
        bool repeated =
            !spelled_again && strcmp(counts[i], "0") != 0 && strcmp(counts[i], "1") != 0;
        twice += repeated;
        again += repeated && strstr(text_string(&stored), names[i]) != NULL;
    }
    free(lines);
    text_free(&stored);
    bool ok = report("content_crash", "documents", twice, UNDER_WAY, twice / UNDER_WAY, 1.0,
                     twice <= UNDER_WAY);
    return report("content_refetch", "documents", again, 0, again, 0.0, again == 0) && ok;
}

int main(int argc, char **argv)
{
    struct bench bench = {0};
    if (argc != 3)
        return EXIT_FAILURE;
    bench.tidemark = argv[1];
    bench.sim = argv[2];
    open_world(&bench, "4000");
    bool ok = measure_rate(&bench);
    ok = measure_lag(&bench) && ok;
    stop_daemon(&bench, SIGTERM);
    close_world(&bench);
    open_world(&bench, "3000");
    ok = measure_crash(&bench) && ok;
    stop_daemon(&bench, SIGTERM);
    close_world(&bench);
    text_free(&bench.answer);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
