/* SPDX-License-Identifier: Apache-2.0
 *
 * The running daemon on SQLite, fed by a C sender.
 *
 * live_memory: its largest resident size while the whole network comes in, faster than it ever
 * does; ten thousand accounts are followed, who wrote one event of a hundred. replay_memory: the
 * same over ten million events as fast as they are read. replay_memory_growth: over these, against
 * before them, when what SQLite keeps of the store has been read once: half as many events, and
 * until all whom it follows wait for their histories. live_latency: posts at 500 a second, from
 * the moment they are sent to the moment another connection to the store finds them, the 99th of a
 * hundred, against 20 ms and four times the same share of the disk's own syncs (R001-147).
 * live_cpu: the share of a processor that 500 events a second take, filtered as above, against 5 %
 * (R001-153, as are the sizes).
 * clean_up_latency: from sent to found while a hundred thousand old posts are deleted, against a
 * second (R001-80 R001-147). clean_up_view: how long the view of trending links takes meanwhile, at
 * the most, against a second (R001-77).
 *
 *   bench_live TIDEMARK [EVENTS] */
#include "child.h"
#include "child_daemon.h"
#include "fixture.h"
#include "packed_stock.h"
#include "ws_sender.h"

#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STOCK_EVENTS   40000
#define ACCOUNTS       100000
#define FOLLOWS        10000
#define HEARD          1000 /* of them, in this stretch of the stream */
#define LIVE_EVENTS    60000
#define LIVE_RATE      3000
#define REPLAY_EVENTS  UINT64_C(10000000)
#define MEMORY_MIB_MAX 32.0
#define GROWTH_MAX     1.05
#define LATENCY_EVENTS 15000
#define LATENCY_RATE   500
#define LATENCY_US_MAX 20000
#define CALM_EVENTS    10000
#define CPU_PERCENT    5.0
#define OLD_POSTS      100000
#define CLEAN_EVENTS   6000
#define CLEAN_US_MAX   1000000
#define VIEW_US_MAX    1000000
#define VIEW_REST_US   200000
#define SYNCS          400
#define PATIENCE_S     600
#define PATH_SIZE      512

static const char *tidemark;
static struct fixture fixture;
static pid_t daemon_pid;

static void fail(const char *what)
{
    fprintf(stderr, "bench_live: %s\n", what);
    if (daemon_pid > 0)
        kill(daemon_pid, SIGKILL);
    fixture_close(&fixture);
    exit(EXIT_FAILURE);
}

static int64_t wall_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void rest(long us)
{
    ppoll(NULL, 0, &(struct timespec){.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000},
          NULL);
}

/* ---- the daemon ---- */

static void start_daemon(unsigned port, const char *actors)
{
    daemon_pid = child_daemon_start(
        tidemark, &fixture, port,
        (const char *[]){actors, "jetstream.compress=false", "bluesky.mode=firehose",
                         "bluesky.appview=http://127.0.0.1:9", "cards.enabled=false", NULL});
    if (daemon_pid < 0)
        fail("the daemon cannot be started");
}

static void stop_daemon(void)
{
    child_end(daemon_pid);
    daemon_pid = 0;
}

static sqlite3 *open_store(int flags)
{
    sqlite3 *db;
    const char *path = strchr(fixture.url, ':') + 1;
    if (sqlite3_open_v2(path, &db, flags, NULL) != SQLITE_OK)
        fail("the store cannot be opened");
    sqlite3_busy_timeout(db, 5000);
    return db;
}

static void make_store(const struct packed_stock *follows)
{
    char url[PATH_SIZE];
    struct text sql = {0};
    snprintf(url, sizeof url, "store.url=%s", fixture.url);
    const char *const argv[] = {tidemark, "migrate", "-c", "/dev/null", "--set", url, NULL};
    if (child_run(argv, NULL) != 0)
        fail("the store cannot be made");
    if (follows == NULL)
        return;
    sqlite3 *db = open_store(SQLITE_OPEN_READWRITE);
    text_append_string(&sql, "BEGIN;");
    for (size_t i = 0; i < follows->follow_count; i++)
        text_appendf(&sql, "INSERT INTO follows (did, handle) VALUES ('%.*s', 'h%zu.example');",
                     (int)follows->did_len, follows->follows.data + i * follows->did_len, i);
    for (size_t i = follows->follow_count; i < FOLLOWS; i++)
        text_appendf(&sql, "INSERT INTO follows (did, handle) VALUES ('did:plc:%024zu', 'q%zu');",
                     i, i);
    text_append_string(&sql, "COMMIT");
    if (sqlite3_exec(db, text_string(&sql), NULL, NULL, NULL) != SQLITE_OK)
        fail(sqlite3_errmsg(db));
    sqlite3_close(db);
    text_free(&sql);
}

/* Processor time of the daemon so far. */
static double cpu_seconds(void)
{
    char path[64];
    unsigned long user = 0, system = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)daemon_pid);
    FILE *file = fopen(path, "r");
    if (file == NULL || fscanf(file, "%*d %*s %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
                               &user, &system) != 2)
        fail("the daemon is gone");
    fclose(file);
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static bool report(const char *name, const char *unit, double value, double against)
{
    bool ok = value <= against;
    printf("{\"name\":\"%s\",\"value\":%.2f,\"unit\":\"%s\",\"against\":%.2f,"
           "\"ratio\":%.3f,\"goal\":1.0,\"ok\":%s}\n",
           name, value, unit, against, against / value, ok ? "true" : "false");
    fflush(stdout);
    return ok;
}

/* ---- memory ---- */

struct memory {
    double early, peak; /* MiB: while caches fill, and at most */
    double rate;        /* events read in a second */
    double cpu;         /* percent of a processor */
};

/* Everybody who is followed was put into the queue of histories, which is the largest table: both
 * the writer and who asks for the daemon have seen all pages there are. */
static bool all_queued(sqlite3 *db)
{
    sqlite3_stmt *queued;
    if (sqlite3_prepare_v2(db, "SELECT count(*) FROM backfill_queue", -1, &queued, NULL) !=
        SQLITE_OK)
        fail(sqlite3_errmsg(db));
    bool all = sqlite3_step(queued) == SQLITE_ROW && sqlite3_column_int64(queued, 0) == FOLLOWS;
    sqlite3_finalize(queued);
    return all;
}

/* Watches until `fill` events were sent and caches are full, and then for `events` more. */
static void watch_resident(struct ws_sender *sender, uint64_t fill, uint64_t events,
                           struct memory *memory)
{
    sqlite3 *db = open_store(SQLITE_OPEN_READONLY);
    bool full = fill == 0;
    uint64_t sent = 0, begun = 0;
    int64_t begin_us = wall_us();
    while (!full || sent < begun + events) {
        rest(20000);
        sent = ws_sender_sent(sender);
        double now = child_rss_mib(daemon_pid);
        memory->peak = now > memory->peak ? now : memory->peak;
        if (!full) {
            memory->early = memory->peak;
            full = sent >= fill && all_queued(db);
            begun = sent;
        }
        if (wall_us() - begin_us > PATIENCE_S * INT64_C(1000000))
            fail("the events are not read");
    }
    memory->rate = (double)sent * 1e6 / (double)(wall_us() - begin_us);
    memory->cpu = 100 * cpu_seconds() * 1e6 / (double)(wall_us() - begin_us);
    sqlite3_close(db);
}

/* `per_second` 0: as fast as they are read. `fill`: so many come before. */
static struct memory watch_memory(const struct packed_stock *stock, uint64_t fill, uint64_t events,
                                  uint32_t per_second)
{
    struct ws_sender_options sending = {
        .stock = {stock->plain.data, stock->plain_start, stock->count, false},
        .events = fill > 0 ? UINT64_MAX : events,
        .per_second = per_second,
        .restamp = true};
    struct memory memory = {0};
    fixture_open(&fixture, FIXTURE_SQLITE);
    make_store(stock);
    struct ws_sender *sender = ws_sender_start(&sending);
    start_daemon(ws_sender_port(sender), "bluesky.actors=[me.example]");
    watch_resident(sender, fill, events, &memory);
    stop_daemon();
    ws_sender_stop(sender);
    fixture_close(&fixture);
    fprintf(stderr, "%.0f events/s, %.1f %% of a processor; resident: %.1f MiB at most\n",
            memory.rate, memory.cpu, memory.peak);
    if (fill > 0)
        fprintf(stderr, "while caches filled: %.1f MiB at most\n", memory.early);
    return memory;
}

static bool measure_memory(const struct packed_stock *stock, uint64_t events)
{
    struct memory calm = watch_memory(stock, 0, CALM_EVENTS, LATENCY_RATE);
    struct memory live = watch_memory(stock, 0, LIVE_EVENTS, LIVE_RATE);
    struct memory replay = watch_memory(stock, events / 2, events, 0);
    bool small = report("live_memory", "MiB", live.peak, MEMORY_MIB_MAX);
    small = report("replay_memory", "MiB", replay.peak, MEMORY_MIB_MAX) && small;
    bool flat = replay.peak <= replay.early * GROWTH_MAX;
    printf("{\"name\":\"replay_memory_growth\",\"value\":%.2f,\"unit\":\"MiB\",\"against\":%.2f,"
           "\"ratio\":%.3f,\"goal\":%.2f,\"ok\":%s}\n",
           replay.peak, replay.early, replay.early / replay.peak, 1 / GROWTH_MAX,
           flat ? "true" : "false");
    return report("live_cpu", "%", calm.cpu, CPU_PERCENT) && small && flat;
}

/* ---- latency ---- */

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t share_of(int64_t *times, size_t count, unsigned percent)
{
    assert(count > 0);
    qsort(times, count, sizeof *times, compare);
    return times[(count - 1) * percent / 100];
}

/* Writes and syncs as a log of commits does, where the store lies. */
static void measure_syncs(int64_t *times)
{
    char path[PATH_SIZE], block[4096] = "";
    snprintf(path, sizeof path, "%s/syncs", fixture.folder);
    int file = open(path, O_CREAT | O_WRONLY, 0600);
    for (size_t i = 0; i < SYNCS; i++) {
        int64_t before = wall_us();
        if (write(file, block, sizeof block) != (ssize_t)sizeof block || fdatasync(file) != 0)
            fail("the disk does not sync");
        times[i] = wall_us() - before;
    }
    close(file);
}

/* How old each of so many posts after those planted is when it is first seen. */
static size_t watch_posts(int64_t *ages, size_t count, sqlite3_int64 last)
{
    sqlite3 *db = open_store(SQLITE_OPEN_READONLY);
    sqlite3_stmt *fresh;
    size_t seen = 0;
    int64_t begin_us = wall_us();
    if (sqlite3_prepare_v2(db, "SELECT n, shared_us FROM post WHERE n > ?1 ORDER BY n", -1, &fresh,
                           NULL) != SQLITE_OK)
        fail(sqlite3_errmsg(db));
    for (; seen < count; rest(300)) {
        sqlite3_bind_int64(fresh, 1, last);
        while (sqlite3_step(fresh) == SQLITE_ROW && seen < count) {
            last = sqlite3_column_int64(fresh, 0);
            ages[seen++] = wall_us() - sqlite3_column_int64(fresh, 1);
        }
        sqlite3_reset(fresh);
        if (wall_us() - begin_us > PATIENCE_S * INT64_C(1000000))
            fail("the posts do not arrive");
    }
    sqlite3_finalize(fresh);
    sqlite3_close(db);
    return seen;
}

/* New posts only: everything that comes is stored. */
static struct ws_sender_stock choose_posts(const struct packed_stock *stock, struct text *bytes,
                                           size_t *start)
{
    size_t count = 0;
    for (size_t i = 0; i < stock->count; i++) {
        const char *event = stock->plain.data + stock->plain_start[i];
        size_t len = stock->plain_start[i + 1] - stock->plain_start[i];
        if (memmem(event, len, "\"operation\":\"create\",\"collection\":\"app.bsky.feed.post\"",
                   54) == NULL)
            continue;
        start[count++] = bytes->len;
        text_append(bytes, event, len);
    }
    start[count] = bytes->len;
    assert(count > 0);
    return (struct ws_sender_stock){bytes->data, start, count, false};
}

static bool measure_latency(const struct packed_stock *stock)
{
    struct text bytes = {0};
    size_t *start = memory_new_zeroed(stock->count + 1, sizeof *start);
    int64_t *ages = memory_new_zeroed(LATENCY_EVENTS, sizeof *ages);
    int64_t syncs[2 * SYNCS];
    struct ws_sender_options sending = {.stock = choose_posts(stock, &bytes, start),
                                        .events = LATENCY_EVENTS,
                                        .per_second = LATENCY_RATE,
                                        .restamp = true,
                                        .renumber = true};
    fixture_open(&fixture, FIXTURE_SQLITE);
    make_store(NULL);
    measure_syncs(syncs);
    struct ws_sender *sender = ws_sender_start(&sending);
    start_daemon(ws_sender_port(sender), "bluesky.actors=[]");
    size_t seen = watch_posts(ages, LATENCY_EVENTS, 0);
    stop_daemon();
    measure_syncs(syncs + SYNCS);
    ws_sender_stop(sender);
    fixture_close(&fixture);
    int64_t sync_us = share_of(syncs, 2 * SYNCS, 99), age_us = share_of(ages, seen, 99);
    int64_t limit_us = LATENCY_US_MAX + 4 * sync_us;
    fprintf(stderr,
            "from sent to found: %.2f ms half the time, %.2f ms at the 99th; a sync %.2f ms\n",
            (double)share_of(ages, seen, 50) / 1e3, (double)age_us / 1e3, (double)sync_us / 1e3);
    bool ok = report("live_latency", "ms", (double)age_us / 1e3, (double)limit_us / 1e3);
    text_free(&bytes);
    free(start);
    free(ages);
    return ok;
}

/* ---- while old posts go ---- */

/* Posts of two days ago, each of a link that twenty others share. */
static void plant_old_posts(void)
{
    sqlite3 *db = open_store(SQLITE_OPEN_READWRITE);
    char sql[2048];
    long long old_us = (long long)wall_us() - 172800000000LL;
    snprintf(
        sql, sizeof sql,
        "BEGIN; CREATE TEMP TABLE i AS WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 "
        "FROM i WHERE n < %d) SELECT n FROM i;"
        "INSERT INTO actors (id, did) SELECT n, 'did:plc:old' || n FROM i WHERE n <= 1000;"
        "INSERT INTO links (id, normalized_url, original_url, share_count_total, "
        "last_shared_us) SELECT n, 'https://old/' || n, 'x', 20, %lld FROM i WHERE n <= %d;"
        "INSERT INTO post (n, seq, actor, collection, rkey, kind, shared_us) SELECT n, 0, "
        "1 + n %% 1000, 'app.bsky.feed.post', 'k' || n, 0, %lld FROM i;"
        "INSERT INTO post_links (post_id, link_id, via, actor) SELECT n, 1 + n / 20, 'post', "
        "1 + n %% 1000 FROM i WHERE 1 + n / 20 <= %d;"
        "INSERT INTO share (link_id, actor, last_us, n_posts, counted) SELECT link_id, actor, "
        "%lld, count(*), 1 FROM post_links GROUP BY link_id, actor;"
        "UPDATE engine SET next_n = %d; COMMIT",
        OLD_POSTS, old_us, OLD_POSTS / 20, old_us, OLD_POSTS / 20, old_us, 2 * OLD_POSTS);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail(sqlite3_errmsg(db));
    sqlite3_close(db);
}

struct viewer {
    atomic_bool on;
    int64_t longest_us;
    size_t times;
};

/* Somebody who looks at the view again and again. */
static void *look_at_view(void *arg)
{
    struct viewer *viewer = arg;
    sqlite3 *db = open_store(SQLITE_OPEN_READONLY);
    while (atomic_load(&viewer->on)) {
        int64_t before_us = wall_us();
        if (sqlite3_exec(db, "SELECT * FROM trending_links ORDER BY share_count DESC LIMIT 20",
                         NULL, NULL, NULL) != SQLITE_OK)
            fail(sqlite3_errmsg(db));
        int64_t took_us = wall_us() - before_us;
        viewer->longest_us = took_us > viewer->longest_us ? took_us : viewer->longest_us;
        viewer->times++;
        rest(VIEW_REST_US);
    }
    sqlite3_close(db);
    return NULL;
}

static bool all_gone(void)
{
    sqlite3 *db = open_store(SQLITE_OPEN_READONLY);
    sqlite3_stmt *left;
    if (sqlite3_prepare_v2(db, "SELECT count(*) FROM post WHERE n <= ?1", -1, &left, NULL) !=
        SQLITE_OK)
        fail(sqlite3_errmsg(db));
    sqlite3_bind_int64(left, 1, OLD_POSTS);
    bool gone = sqlite3_step(left) == SQLITE_ROW && sqlite3_column_int64(left, 0) == 0;
    sqlite3_finalize(left);
    sqlite3_close(db);
    return gone;
}

static bool measure_clean_up(const struct packed_stock *stock)
{
    struct text bytes = {0};
    size_t *start = memory_new_zeroed(stock->count + 1, sizeof *start);
    int64_t *ages = memory_new_zeroed(CLEAN_EVENTS, sizeof *ages);
    struct ws_sender_options sending = {.stock = choose_posts(stock, &bytes, start),
                                        .events = CLEAN_EVENTS,
                                        .per_second = LATENCY_RATE,
                                        .restamp = true,
                                        .renumber = true};
    struct viewer viewer = {.on = true};
    pthread_t thread;
    fixture_open(&fixture, FIXTURE_SQLITE);
    make_store(NULL);
    plant_old_posts();
    struct ws_sender *sender = ws_sender_start(&sending);
    start_daemon(ws_sender_port(sender), "bluesky.actors=[]");
    if (pthread_create(&thread, NULL, look_at_view, &viewer) != 0)
        fail("no thread");
    size_t seen = watch_posts(ages, CLEAN_EVENTS, OLD_POSTS);
    for (int64_t begin_us = wall_us(); !all_gone(); rest(VIEW_REST_US))
        if (wall_us() - begin_us > PATIENCE_S * INT64_C(1000000))
            fail("old posts are left");
    atomic_store(&viewer.on, false);
    pthread_join(thread, NULL);
    stop_daemon();
    ws_sender_stop(sender);
    fixture_close(&fixture);
    fprintf(stderr, "%zu posts while %d went, %zu looks at the view\n", seen, OLD_POSTS,
            viewer.times);
    bool ok = report("clean_up_latency", "ms", (double)share_of(ages, seen, 99) / 1e3,
                     CLEAN_US_MAX / 1e3);
    text_free(&bytes);
    free(start);
    free(ages);
    return report("clean_up_view", "ms", (double)viewer.longest_us / 1e3, VIEW_US_MAX / 1e3) && ok;
}

int main(int argc, char **argv)
{
    static struct packed_stock stock;
    assert(argc == 2 || argc == 3);
    tidemark = argv[1];
    uint64_t events = argc == 3 ? strtoull(argv[2], NULL, 10) : REPLAY_EVENTS;
    packed_stock_init(&stock, STOCK_EVENTS, ACCOUNTS, HEARD);
    bool ok = measure_latency(&stock);
    ok = measure_clean_up(&stock) && ok;
    ok = measure_memory(&stock, events) && ok;
    packed_stock_deinit(&stock);
    return ok ? 0 : 1;
}
