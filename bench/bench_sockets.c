/* SPDX-License-Identifier: Apache-2.0
 *
 * Websockets of a daemon with a declared collection on SQLite. push: a thousand clients follow the
 * collection, each with a filter of its own, while documents are created at a steady rate; how long
 * after one was sent to be created those whose filter it meets have it, at the 99th of a hundred,
 * against 20 ms and four times what the disk takes to write something down for good. push_cpu: a
 * thousand follow it all, as open pages do, at fifty changes a second; how long the daemon works
 * for one push, commits and all, against a loop that only sends them with wslay. idle_sessions:
 * what the daemon holds in memory with ten thousand named sessions that say nothing, before and
 * after each of them was pinged; sessions: with fewer of them, too. */
#include "child.h"
#include "curve_point.h"
#include "fixture.h"
#include "stopwatch.h"
#include "times.h"
#include "ws_crowd.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define TAILS         1000
#define LEVELS        10
#define ASKED_AT_ONCE 100
#define DOCUMENTS     400
#define PER_SECOND    20
#define PUSH_MS       20.0
#define PAGES_SECOND  50
#define CPU_GOAL      4.0
#define SYNCS         400
#define SYNCS_IN_PUSH 4
#define SESSIONS      10000
#define SESSIONS_MIB  200.0
#define FILES         (2 * SESSIONS)
#define PATH_SIZE     512
#define PATIENCE_S    120

static struct fixture fixture;
static pid_t daemon_pid = -1;
static unsigned port;

static void fail(const char *what)
{
    fprintf(stderr, "bench_sockets: %s\n", what);
    exit(EXIT_FAILURE);
}

static void clean_up(void)
{
    if (daemon_pid > 0)
        child_end(daemon_pid);
    fixture_close(&fixture);
}

/* ---- the daemon ---- */

static unsigned find_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(fd, (struct sockaddr *)&address, size) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        fail("there is no free port");
    close(fd);
    return ntohs(address.sin_port);
}

static void write_config(const char *path)
{
    FILE *file = fopen(path, "w");
    assert(file != NULL);
    fprintf(file,
            "store:\n  url: %s\n  data_dir: %s\n"
            "jetstream:\n  cursor_file: %s/cursor\n  endpoint: ws://127.0.0.1:9/subscribe\n"
            "  fallback_endpoint: \"\"\n"
            "bluesky:\n  appview: http://127.0.0.1:9\n"
            "cards:\n  enabled: false\n"
            "serve:\n  listen: 127.0.0.1:%u\n  health_listen: \"\"\n  connections_max: %d\n"
            "collections:\n  notes:\n    fields: {level: int, sent: int, text: text, at: time}\n"
            "    sort: {field: at, direction: desc}\n",
            fixture.url, fixture.folder, fixture.folder, port, SESSIONS + TAILS);
    fclose(file);
}

static bool listens(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    bool there = connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
    close(fd);
    return there;
}

static void start_daemon(const char *tidemark)
{
    char path[PATH_SIZE];
    double end = seconds_now() + PATIENCE_S;
    port = find_port();
    snprintf(path, sizeof path, "%s/tidemark.yaml", fixture.folder);
    write_config(path);
    daemon_pid = child_start((const char *[]){tidemark, "run", "-c", path, NULL}, NULL, 0);
    if (daemon_pid < 0)
        fail("the daemon cannot be started");
    while (!listens())
        if (seconds_now() > end)
            fail("the daemon does not listen");
}

/* ---- what a disk takes ---- */

static double percentile_99(double *values, size_t count)
{
    assert(count > 0);
    times_sort(values, count);
    return values[count * 99 / 100];
}

static void time_syncs(double *seconds, size_t count)
{
    char path[PATH_SIZE], page[4096] = "written down";
    snprintf(path, sizeof path, "%s/synced", fixture.folder);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert(fd >= 0);
    for (size_t i = 0; i < count; i++) {
        double before = seconds_now();
        ssize_t put = write(fd, page, sizeof page);
        int synced = fdatasync(fd);
        assert(put == (ssize_t)sizeof page && synced == 0);
        seconds[i] = seconds_now() - before;
    }
    close(fd);
}

/* ---- tails ---- */

struct tails {
    bool all; /* each is told of every document */
    unsigned per_second;
    struct ws_crowd *crowd;
    size_t asked, ready;      /* questions, and answers to them */
    char handles[TAILS][40];  /* of their queries */
    double *taken;            /* by each delivery */
    size_t delivered, wanted; /* so far; in the end */
    size_t bytes, pushes;     /* that carried them */
};

static void note_deliveries(struct tails *tails, const char *words)
{
    double now = seconds_now();
    for (; (words = strstr(words, "\"sent\":")) != NULL; words += 7) {
        assert(tails->delivered < (size_t)TAILS * DOCUMENTS);
        tails->taken[tails->delivered++] = now - (double)strtoll(words + 7, NULL, 10) / 1e6;
    }
}

static void hear_tail(void *arg, size_t client, struct bytes message)
{
    struct tails *tails = arg;
    char *words = memory_new(message.len + 1);
    memcpy(words, message.data, message.len);
    words[message.len] = '\0';
    const char *handle = strstr(words, "\"queryHandle\":\"");
    if (strstr(words, "\"push\":\"tail\"") != NULL) {
        tails->bytes += message.len;
        tails->pushes++;
        note_deliveries(tails, words);
    } else {
        if (strstr(words, "\"success\":true") == NULL)
            fail(words);
        if (handle != NULL)
            snprintf(tails->handles[client], sizeof tails->handles[client], "%.36s", handle + 15);
        tails->ready++;
    }
    free(words);
}

static void wait_for(struct ws_crowd *crowd, const size_t *there, size_t wanted)
{
    double end = seconds_now() + PATIENCE_S;
    while (*there < wanted) {
        ws_crowd_hear(crowd, 1000);
        if (seconds_now() > end)
            fail("an answer does not come");
    }
}

/* No more at a time than the daemon lets wait. */
static void ask(struct tails *tails, size_t client, const struct text *question)
{
    ws_crowd_say(tails->crowd, client, text_bytes(question));
    tails->asked++;
    if (tails->asked % ASKED_AT_ONCE == 0)
        wait_for(tails->crowd, &tails->ready, tails->asked);
}

static void follow(struct tails *tails)
{
    struct text words = {0};
    for (size_t i = 0; i < TAILS; i++) {
        text_clear(&words);
        text_appendf(&words,
                     "{\"id\":1,\"command\":\"query-open\",\"params\":{\"collection\":\"notes\","
                     "\"filter\":{\"level\":{\"$gte\":%zu},\"text\":{\"$ne\":\"%zu\"}}}}",
                     tails->all ? 0 : i % LEVELS, i);
        ask(tails, i, &words);
    }
    for (size_t i = 0; i < TAILS; i++) {
        text_clear(&words);
        text_appendf(&words,
                     "{\"id\":2,\"command\":\"query-tail\",\"params\":{\"queryHandle\":\"%s\","
                     "\"push\":true}}",
                     tails->handles[i]);
        ask(tails, i, &words);
    }
    text_free(&words);
}

/* The writer is a client of its own, which nobody hears of but by what it wrote. */
static void hear_writer(void *arg, size_t client, struct bytes message)
{
    (void)client;
    if (memmem(message.data, message.len, "\"success\":true", 14) == NULL)
        fail("a document was not created");
    ++*(size_t *)arg;
}

static void count_push(void *arg, size_t client, struct bytes message)
{
    (void)client, (void)message;
    ++*(size_t *)arg;
}

static void create(struct ws_crowd *writer, unsigned number)
{
    struct text words = {0};
    text_appendf(&words,
                 "{\"id\":%u,\"command\":\"create\",\"params\":{\"collection\":\"notes\",\"data\":{"
                 "\"level\":%u,\"sent\":%" PRId64 ",\"text\":\"what was said just now, and by whom "
                 "and to whom, in so many words\",\"at\":\"2026-01-01T00:00:00Z\"}}}",
                 number, number % LEVELS, (int64_t)(seconds_now() * 1e6));
    ws_crowd_say(writer, 0, text_bytes(&words));
    text_free(&words);
}

static void write_documents(struct tails *tails)
{
    size_t written = 0;
    struct ws_crowd *writer = ws_crowd_open(port, 1, hear_writer, &written);
    double begin = seconds_now();
    for (unsigned i = 0; i < DOCUMENTS; i++) {
        create(writer, i);
        tails->wanted += tails->all ? TAILS : (size_t)TAILS / LEVELS * (i % LEVELS + 1);
        for (double left; (left = begin + (i + 1.0) / tails->per_second - seconds_now()) > 0;)
            ws_crowd_hear(tails->crowd, (int)(left * 1e3) + 1);
        ws_crowd_hear(writer, 0);
    }
    wait_for(writer, &written, DOCUMENTS);
    ws_crowd_close(writer);
    wait_for(tails->crowd, &tails->delivered, tails->wanted);
}

_Static_assert(TAILS % ASKED_AT_ONCE == 0, "nobody is left waiting");

static bool measure_push(void)
{
    static struct tails tails = {.per_second = PER_SECOND};
    double syncs[2 * SYNCS];
    tails.taken = memory_new((size_t)TAILS * DOCUMENTS * sizeof tails.taken[0]);
    tails.crowd = ws_crowd_open(port, TAILS, hear_tail, &tails);
    follow(&tails);
    time_syncs(syncs, SYNCS);
    write_documents(&tails);
    time_syncs(syncs + SYNCS, SYNCS);
    ws_crowd_close(tails.crowd);
    assert(tails.delivered == tails.wanted);
    double p99 = percentile_99(tails.taken, tails.delivered) * 1e3;
    double against = PUSH_MS + SYNCS_IN_PUSH * percentile_99(syncs, 2 * SYNCS) * 1e3;
    printf("{\"name\":\"push\",\"value\":%.2f,\"unit\":\"ms\",\"against\":%.2f,\"ratio\":%.3f,"
           "\"goal\":1.0,\"ok\":%s}\n",
           p99, against, p99 / against, p99 <= against ? "true" : "false");
    free(tails.taken);
    return p99 <= against;
}

/* ---- how long the daemon works for it ---- */

/* Seconds that a loop of wslay works for one of as many pushes of `bytes`. */
static double push_barely(const char *bare_pusher, size_t pushes, size_t bytes)
{
    char clients[24], messages[24], per_second[24], size[24], words[64];
    size_t heard = 0, rounds = (pushes + TAILS - 1) / TAILS;
    snprintf(clients, sizeof clients, "%d", TAILS);
    snprintf(messages, sizeof messages, "%zu", rounds);
    snprintf(per_second, sizeof per_second, "%d", PAGES_SECOND);
    snprintf(size, sizeof size, "%zu", bytes);
    pid_t pid =
        child_start((const char *[]){bare_pusher, clients, messages, per_second, size, NULL}, words,
                    sizeof words);
    if (pid < 0)
        fail("bare_pusher cannot be started");
    struct ws_crowd *crowd =
        ws_crowd_open((unsigned)strtoul(words, NULL, 10), TAILS, count_push, &heard);
    double before = child_cpu_seconds(pid);
    wait_for(crowd, &heard, rounds * TAILS);
    double worked = child_cpu_seconds(pid) - before;
    ws_crowd_close(crowd);
    child_end(pid);
    return worked / (double)(rounds * TAILS);
}

static bool measure_cpu(const char *bare_pusher)
{
    static struct tails tails = {.all = true, .per_second = PAGES_SECOND};
    tails.taken = memory_new((size_t)TAILS * DOCUMENTS * sizeof tails.taken[0]);
    tails.crowd = ws_crowd_open(port, TAILS, hear_tail, &tails);
    follow(&tails);
    double before = child_cpu_seconds(daemon_pid);
    write_documents(&tails);
    double worked = (child_cpu_seconds(daemon_pid) - before) / (double)tails.pushes;
    ws_crowd_close(tails.crowd);
    free(tails.taken);
    double barely = push_barely(bare_pusher, tails.pushes, tails.bytes / tails.pushes);
    bool ok = worked <= barely * CPU_GOAL;
    printf("{\"name\":\"push_cpu\",\"value\":%.2f,\"unit\":\"us\",\"against\":%.2f,\"ratio\":%.3f,"
           "\"goal\":%.1f,\"ok\":%s}\n",
           worked * 1e6, barely * 1e6, worked / barely, CPU_GOAL, ok ? "true" : "false");
    return ok;
}

/* ---- sessions that say nothing ---- */

/* So many, all of whom have their name. */
static struct ws_crowd *open_sessions(size_t count, size_t *heard)
{
    char words[160];
    *heard = 0;
    struct ws_crowd *crowd = ws_crowd_open(port, count, hear_writer, heard);
    for (size_t i = 0; i < count; i++) {
        snprintf(words, sizeof words,
                 "{\"id\":1,\"command\":\"hello\",\"params\":{\"session\":\"%032zx\"}}", i + 1);
        ws_crowd_say(crowd, i, bytes_of(words));
    }
    wait_for(crowd, heard, count);
    return crowd;
}

/* Few sessions may take what many do, and what the daemon takes without any. */
static bool measure_few(void)
{
    double without = child_rss_mib(daemon_pid);
    size_t heard;
    bool ok = true;
    for (size_t count = SESSIONS / 8; count < SESSIONS; count *= 2) {
        struct ws_crowd *crowd = open_sessions(count, &heard);
        double share = SESSIONS_MIB * (double)count / SESSIONS;
        ok &= curve_point("sessions", (double)count, child_rss_mib(daemon_pid), "MiB",
                          without + share, 1.0);
        ws_crowd_close(crowd);
    }
    return ok;
}

static bool measure_idle(void)
{
    size_t heard;
    struct ws_crowd *crowd = open_sessions(SESSIONS, &heard);
    double quiet = child_rss_mib(daemon_pid), end = seconds_now() + PATIENCE_S;
    while (ws_crowd_pings(crowd) < SESSIONS) {
        ws_crowd_hear(crowd, 1000);
        if (seconds_now() > end)
            fail("a ping does not come");
    }
    double pinged = child_rss_mib(daemon_pid), most = pinged > quiet ? pinged : quiet;
    ws_crowd_close(crowd);
    (void)curve_point("sessions", SESSIONS, most, "MiB", SESSIONS_MIB, 1.0);
    printf("{\"name\":\"idle_sessions\",\"value\":%.1f,\"unit\":\"MiB\",\"against\":%.1f,"
           "\"ratio\":%.3f,\"goal\":1.0,\"ok\":%s}\n",
           most, SESSIONS_MIB, most / SESSIONS_MIB, most <= SESSIONS_MIB ? "true" : "false");
    return most <= SESSIONS_MIB;
}

int main(int argc, char **argv)
{
    struct rlimit files = {.rlim_cur = FILES, .rlim_max = FILES};
    assert(argc == 3);
    if (setrlimit(RLIMIT_NOFILE, &files) != 0)
        fail("so many files may not be open: ulimit -n 20000");
    fixture_open(&fixture, FIXTURE_SQLITE);
    atexit(clean_up);
    start_daemon(argv[1]);
    bool few = measure_few(), idle = measure_idle(), push = measure_push(),
         cpu = measure_cpu(argv[2]);
    return few && idle && push && cpu ? EXIT_SUCCESS : EXIT_FAILURE;
}
