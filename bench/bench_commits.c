/* SPDX-License-Identifier: Apache-2.0
 *
 * How long single commits take where a store might stumble.
 *
 * PostgreSQL: after a burst of deletes with nobody to renew the statistics, commits must cost what
 * they cost a fresh connection to an analysed store; a plan kept from the time when the tables were
 * empty would read all tombstones for every row.
 * SQLite: the tail of commit times with checkpoints among them, for information, and the length of
 * the log while there is never a moment without a reader.
 * Both: a commit for every block of a chain, with its cursor and its sync, against the quarter of a
 * second that the fastest chains leave for one (R002-19).
 * Runs beside a PostgreSQL server (with_postgres). */
#include "fixture.h"
#include "stock_batch.h"
#include "store/committer.h"
#include "sys/batch_pool.h"
#include "times.h"

#include <libpq-fe.h>
#include <sqlite3.h>

#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define BURST        50 /* commits of deletes */
#define FRESH        20 /* pairs of commits it is compared with */
#define BURST_GOAL   2.0
#define TAIL_COMMITS 500
#define READERS      2
#define READ_MS      200
#define LOG_PAGES    10000.0 /* where the product begins a checkpoint */
#define LOG_GOAL     2.0
#define BLOCKS       200
#define BLOCK_MS     250.0
#define BLOCK_GOAL   0.2
#define BATCH_BYTES  ((size_t)512 << 10)

typedef void fill_fn(const struct post_stock *stock, struct batch *batch, size_t which);

static struct post_stock stock;
static struct batch_pool *pool;
static struct committer committer;

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void check(enum rc rc, const struct err *err)
{
    if (rc == RC_OK)
        return;
    fprintf(stderr, "bench_commits: %s: %s\n", rc_name(rc), err->text);
    abort();
}

static void open_store(const char *url)
{
    struct store *store;
    struct store_position position;
    struct err err;
    unsigned applied;
    check(store_open(url, STORE_WRITE, &store, &err), &err);
    check(store_migrate(store, &applied, &err), &err);
    check(store_claim(store, "bench", NULL, 1, &position, &err), &err);
    committer_init(&committer, store, position);
}

static void close_store(void)
{
    struct store *store = committer.store;
    committer_deinit(&committer);
    store_close(store);
}

static void add_batch(fill_fn *fill, size_t which)
{
    struct batch *batch = batch_take(pool);
    fill(&stock, batch, which);
    bool fits = committer_add(&committer, batch);
    assert(fits);
}

/* Answers the milliseconds that the commit of what was added took. */
static double commit_added(void)
{
    int64_t wait_us;
    struct err err;
    double start = now_ms();
    check(committer_step(&committer, 1, &wait_us, &err), &err);
    double took = now_ms() - start;
    for (struct batch *batch = committer_take(&committer), *next; batch != NULL; batch = next) {
        next = batch->next;
        batch->next = NULL;
        batch_give_back(batch);
    }
    return took;
}

/* The same for the stock's commit number `which`. */
static double commit(fill_fn *fill, size_t which)
{
    for (size_t i = 0; i < STOCK_BATCHES; i++)
        add_batch(fill, which * STOCK_BATCHES + i);
    return commit_added();
}

static bool report(const char *name, double value, const char *unit, double against, double goal)
{
    bool ok = goal == 0 || value / against <= goal;
    printf("{\"name\":\"%s\",\"value\":%.2f,\"unit\":\"%s\",\"against\":%.2f,\"ratio\":%.2f,", name,
           value, unit, against, value / against);
    if (goal == 0)
        printf("\"goal\":null,\"ok\":true}\n");
    else
        printf("\"goal\":%.1f,\"ok\":%s}\n", goal, ok ? "true" : "false");
    fflush(stdout);
    return ok;
}

/* ---- a block at a time ---- */

/* A block that holds nothing of ours: only its number moves. */
static void fill_block(const struct post_stock *unused, struct batch *batch, size_t which)
{
    char state[96];
    struct record *row = batch_add(batch, RECORD_CURSOR);
    (void)unused;
    snprintf(state, sizeof state, "{\"primary\":{\"type\":\"blockNumber\",\"value\":%zu}}", which);
    bool fits = row != NULL && batch_set_text(batch, row, CURSOR_ROW_SOURCE, bytes_of("content")) &&
                batch_set_text(batch, row, CURSOR_ROW_STREAM, bytes_of("blocks")) &&
                batch_set_text(batch, row, CURSOR_ROW_STATE, bytes_of(state));
    assert(fits);
    batch_set_int(row, CURSOR_ROW_POSITION, (int64_t)which);
    batch_set_int(row, CURSOR_ROW_AT_US, (int64_t)which);
}

static bool measure_blocks(enum fixture_kind kind, const char *name)
{
    struct fixture fixture;
    double took[BLOCKS], all = 0;
    fixture_open(&fixture, kind);
    open_store(fixture.url);
    for (size_t i = 0; i < BLOCKS; i++) {
        add_batch(fill_block, i + 1);
        all += took[i] = commit_added();
    }
    close_store();
    fixture_close(&fixture);
    times_sort(took, BLOCKS);
    fprintf(stderr, "%s: %.0f blocks/s, each durable\n", name, BLOCKS * 1e3 / all);
    return report(name, took[BLOCKS * 99 / 100], "ms", BLOCK_MS, BLOCK_GOAL);
}

/* ---- PostgreSQL ---- */

/* Mean milliseconds a commit. */
struct pair {
    double deletes, puts;
};

/* In turns, a commit of deletes from `deleted` on and one of puts from `put` on. */
static struct pair commit_pairs(size_t deleted, size_t put, size_t count)
{
    struct pair sum = {0};
    for (size_t i = 0; i < count; i++) {
        sum.deletes += commit(stock_fill_deletes, deleted + i) / (double)count;
        sum.puts += commit(stock_fill_batch, put + i) / (double)count;
    }
    return sum;
}

static void run_sql(const char *url, const char *const *texts)
{
    PGconn *connection = PQconnectdb(url);
    for (; *texts != NULL; texts++) {
        PGresult *result = PQexec(connection, *texts);
        if (PQresultStatus(result) != PGRES_COMMAND_OK) {
            fprintf(stderr, "bench_commits: %s\n", PQerrorMessage(connection));
            abort();
        }
        PQclear(result);
    }
    PQfinish(connection);
}

static bool measure_burst(void)
{
    static const char *const unattended[] = {"ALTER TABLE tombstones SET (autovacuum_enabled = 0)",
                                             "ALTER TABLE post SET (autovacuum_enabled = 0)",
                                             "ALTER TABLE actors SET (autovacuum_enabled = 0)",
                                             "VACUUM ANALYZE tombstones",
                                             "VACUUM ANALYZE post",
                                             "VACUUM ANALYZE actors",
                                             NULL};
    static const char *const attended[] = {"VACUUM ANALYZE", "CHECKPOINT", NULL};
    struct fixture fixture;
    fixture_open(&fixture, FIXTURE_POSTGRES);
    open_store(fixture.url);
    run_sql(fixture.url, unattended);
    for (size_t i = 0; i < BURST; i++)
        commit(stock_fill_batch, i);
    struct pair burst = commit_pairs(0, BURST, BURST);
    close_store();
    run_sql(fixture.url, attended);
    open_store(fixture.url);
    struct pair fresh = commit_pairs(BURST, 2 * BURST, FRESH);
    close_store();
    fixture_close(&fixture);
    bool ok =
        report("postgres_burst_deletes", burst.deletes, "ms/commit", fresh.deletes, BURST_GOAL);
    return report("postgres_burst_puts", burst.puts, "ms/commit", fresh.puts, BURST_GOAL) && ok;
}

/* ---- SQLite ---- */

static atomic_bool reading;

/* One reader of several whose transactions overlap. */
static void *read_on(void *arg)
{
    const char *path = arg;
    sqlite3 *db;
    int code = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    assert(code == SQLITE_OK);
    while (atomic_load(&reading)) {
        code = sqlite3_exec(db, "BEGIN; SELECT count(*) FROM engine", NULL, NULL, NULL);
        assert(code == SQLITE_OK);
        poll(NULL, 0, READ_MS);
        sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    }
    sqlite3_close(db);
    return NULL;
}

static double log_pages(const char *path)
{
    char name[600];
    struct stat info;
    snprintf(name, sizeof name, "%s-wal", path);
    return stat(name, &info) == 0 ? (double)info.st_size / 4096 : 0;
}

static double run_tail(char *path, double *took)
{
    pthread_t readers[READERS];
    double longest = 0;
    atomic_store(&reading, true);
    for (size_t i = 0; i < READERS; i++) {
        int failed = pthread_create(&readers[i], NULL, read_on, path);
        assert(failed == 0);
        poll(NULL, 0, READ_MS / READERS);
    }
    for (size_t i = 0; i < TAIL_COMMITS; i++) {
        took[i] = commit(stock_fill_batch, i);
        double pages = log_pages(path);
        longest = pages > longest ? pages : longest;
    }
    atomic_store(&reading, false);
    for (size_t i = 0; i < READERS; i++)
        pthread_join(readers[i], NULL);
    return longest;
}

static bool measure_tail(void)
{
    struct fixture fixture;
    double took[TAIL_COMMITS];
    fixture_open(&fixture, FIXTURE_SQLITE);
    open_store(fixture.url);
    double longest = run_tail(fixture.url + strlen("sqlite:"), took);
    close_store();
    fixture_close(&fixture);
    times_sort(took, TAIL_COMMITS);
    double median = took[TAIL_COMMITS / 2];
    report("sqlite_commit_p50", median, "ms", median, 0);
    report("sqlite_commit_p99", took[TAIL_COMMITS * 99 / 100], "ms", median, 0);
    report("sqlite_commit_max", took[TAIL_COMMITS - 1], "ms", median, 0);
    return report("sqlite_log_length", longest, "pages", LOG_PAGES, LOG_GOAL);
}

int main(int argc, char **argv)
{
    bool ok = true;
    post_stock_init(&stock, TAIL_COMMITS);
    pool = batch_pool_new(STOCK_BATCHES, BATCH_BYTES);
    if (argc < 2 || strcmp(argv[1], "sqlite") == 0) {
        ok = measure_blocks(FIXTURE_SQLITE, "sqlite_block_p99");
        ok = measure_tail() && ok;
    }
    if (argc < 2 || strcmp(argv[1], "postgres") == 0) {
        ok = measure_blocks(FIXTURE_POSTGRES, "postgres_block_p99") && ok;
        ok = measure_burst() && ok;
    }
    batch_pool_free(pool);
    post_stock_deinit(&stock);
    return ok ? 0 : 1;
}
