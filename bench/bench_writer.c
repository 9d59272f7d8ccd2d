/* SPDX-License-Identifier: Apache-2.0
 *
 * Stores posts through the product's path (pool, writer, store) and through a bare loop over
 * prepared statements, in turns, each into a fresh database. A commit counts with its best time of
 * all rounds, because a shared machine disturbs some commit of every round. Both must leave the
 * same rows behind. Runs beside a PostgreSQL server (with_postgres). */
#include "base/hash.h"
#include "fixture.h"
#include "floor_writer.h"
#include "stock_batch.h"
#include "stopwatch.h"
#include "store/writer.h"
#include "sys/batch_pool.h"
#include "sys/thread_queue.h"

#include <libpq-fe.h>

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COMMITS     40
#define ROUNDS      6
#define GOAL        0.7
#define POOL        16
#define BATCH_BYTES ((size_t)512 << 10)
#define PATIENCE_US 30000000

/* Where a round of the product stands; the writer's thread counts. */
struct course {
    struct queue *committed;
    size_t batches;
    double before, *took;
    double cpu; /* of the writer's thread */
};

static struct post_stock stock;

static double thread_cpu(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Processor time a server process has taken so far; 0 without one. */
double server_cpu(int pid)
{
    char path[64];
    long long ns = 0;
    snprintf(path, sizeof path, "/proc/%d/schedstat", pid);
    FILE *file = pid == 0 ? NULL : fopen(path, "r");
    if (file == NULL)
        return 0;
    if (fscanf(file, "%lld", &ns) != 1)
        ns = 0;
    fclose(file);
    return (double)ns / 1e9;
}

static void check(enum rc rc, const struct err *err)
{
    if (rc == RC_OK)
        return;
    fprintf(stderr, "bench_writer: %s: %s\n", rc_name(rc), err->text);
    abort();
}

/* A fresh store that somebody has claimed. */
static struct store *open_fresh(struct fixture *fixture, enum fixture_kind kind,
                                struct store_position *position)
{
    struct store *store;
    struct err err;
    unsigned applied;
    fixture_open(fixture, kind);
    check(store_open(fixture->url, STORE_WRITE, &store, &err), &err);
    check(store_migrate(store, &applied, &err), &err);
    check(store_claim(store, "bench", NULL, 1, position, &err), &err);
    return store;
}

/* What one round leaves to the next is written out, so that neither side pays for the other. */
static void settle(enum fixture_kind kind)
{
    if (kind != FIXTURE_POSTGRES)
        return;
    PGconn *connection = PQconnectdb(getenv("TIDEMARK_TEST_POSTGRES"));
    PQclear(PQexec(connection, "CHECKPOINT"));
    PQfinish(connection);
}

static bool hash_row(void *arg, const struct field *columns, size_t count)
{
    uint64_t *sum = arg;
    for (size_t i = 0; i < count; i++) {
        if (columns[i].null)
            *sum = *sum * 31 + 1;
        else if (columns[i].type == FIELD_INT)
            *sum = hash_bytes(bytes_make(&columns[i].i, sizeof columns[i].i), *sum);
        else
            *sum = hash_bytes(columns[i].b, *sum);
    }
    return true;
}

/* One number for everything a round wrote. */
static uint64_t digest_of(const char *url)
{
    static const char *const tables[] = {
        "SELECT * FROM post ORDER BY n",         "SELECT * FROM actors ORDER BY id",
        "SELECT * FROM tombstones ORDER BY key", "SELECT * FROM cursors ORDER BY source, stream",
        "SELECT commit_seq, next_n FROM engine", "SELECT id, cursor_time_us FROM jetstream_state"};
    struct store *reader;
    struct err err;
    uint64_t sum = 0;
    int64_t posts;
    check(store_open(url, STORE_READ, &reader, &err), &err);
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        check(store_query(reader, tables[i], NULL, 0, hash_row, &sum, &err), &err);
    check(store_query_int(reader, "SELECT count(*) FROM post", 0, &posts, &err), &err);
    assert(posts == (int64_t)stock.count);
    store_close(reader);
    return sum;
}

static void pass_on(void *arg, struct batch *batch, enum rc rc)
{
    struct course *course = arg;
    assert(rc == RC_OK);
    if (++course->batches % STOCK_BATCHES == 0) {
        double now = seconds_now();
        course->took[course->batches / STOCK_BATCHES - 1] = now - course->before;
        course->before = now;
        course->cpu = thread_cpu();
    }
    rc = queue_push(course->committed, batch);
    assert(rc == RC_OK);
}

static void take_back(struct queue *committed)
{
    struct batch *batch = queue_pop(committed, PATIENCE_US);
    assert(batch != NULL);
    batch_give_back(batch);
}

/* Answers the processor time that the writer and its server took. */
static double run_product(struct store *store, struct store_position position, int server,
                          double *took)
{
    double before = server_cpu(server);
    struct batch_pool *pool = batch_pool_new(POOL, BATCH_BYTES);
    struct course course = {.committed = queue_new(POOL), .took = took};
    /* The transactions shall be the floor's, however the machine delays the one who fills. */
    struct writer_options options = {.gather_us = PATIENCE_US};
    struct writer *writer = writer_start(store, position, &options);
    course.before = seconds_now();
    for (size_t i = 0; i < stock.commits * STOCK_BATCHES; i++) {
        while (batch_pool_left(pool) == 0)
            take_back(course.committed);
        struct batch *batch = batch_take(pool);
        stock_fill_batch(&stock, batch, i);
        batch->committed = pass_on;
        batch->courier = &course;
        enum rc rc = writer_submit(writer, batch);
        assert(rc == RC_OK);
    }
    while (batch_pool_left(pool) < POOL)
        take_back(course.committed);
    course.cpu += server_cpu(server) - before;
    writer_stop(writer, NULL);
    queue_free(course.committed);
    batch_pool_free(pool);
    return course.cpu;
}

static uint64_t product_round(enum fixture_kind kind, double *took, double *cpu)
{
    struct fixture fixture;
    struct store_position position;
    struct store *store = open_fresh(&fixture, kind, &position);
    settle(kind);
    int64_t server = 0;
    struct err err;
    if (kind == FIXTURE_POSTGRES)
        check(store_query_int(store, "SELECT pg_backend_pid()", 0, &server, &err), &err);
    *cpu = run_product(store, position, (int)server, took);
    uint64_t digest = digest_of(fixture.url);
    fixture_close(&fixture);
    return digest;
}

static uint64_t floor_round(enum fixture_kind kind, bool plain, double *took, double *cpu)
{
    struct fixture fixture;
    struct store_position position;
    store_close(open_fresh(&fixture, kind, &position));
    settle(kind);
    double before = thread_cpu();
    if (kind == FIXTURE_SQLITE)
        floor_sqlite(fixture.url + strlen("sqlite:"), &stock, took);
    else
        before -= floor_postgres(fixture.url, &stock, plain, took);
    *cpu = thread_cpu() - before;
    uint64_t digest = digest_of(fixture.url);
    fixture_close(&fixture);
    return digest;
}

/* The best of all rounds of one side. */
struct side {
    double best[COMMITS]; /* seconds of each commit */
    double sum;           /* of them */
    double cpu;           /* processor seconds of the best round */
    uint64_t digest;
};

static void keep_best(struct side *side, const double *took, double cpu)
{
    side->cpu = side->cpu == 0 || cpu < side->cpu ? cpu : side->cpu;
    side->sum = 0;
    for (size_t i = 0; i < stock.commits; i++) {
        if (side->best[i] == 0 || took[i] < side->best[i])
            side->best[i] = took[i];
        side->sum += side->best[i];
    }
}

static bool report(const char *kind, const char *suffix, const struct side *product,
                   const struct side *floor)
{
    double rows = (double)stock.count, ratio = floor->sum / product->sum;
    printf("{\"name\":\"writer_%s%s\",\"value\":%.0f,\"unit\":\"rows/s\",\"against\":%.0f,"
           "\"ratio\":%.3f,\"goal\":%.1f,\"ok\":%s}\n",
           kind, suffix, rows / product->sum, rows / floor->sum, ratio, GOAL,
           ratio >= GOAL ? "true" : "false");
    fflush(stdout);
    fprintf(stderr, "%s%s: processor time a row %.2f us, floor %.2f us\n", kind, suffix,
            product->cpu / rows * 1e6, floor->cpu / rows * 1e6);
    return ratio >= GOAL;
}

/* On PostgreSQL there are two floors: one that may meet a row again, as this work must, and one
 * that would fail at the first. */
static bool compare_on(enum fixture_kind kind)
{
    struct side product = {0}, floors[2] = {0};
    size_t floor_count = kind == FIXTURE_POSTGRES ? 2 : 1;
    double took[COMMITS], cpu;
    for (int i = 0; i < ROUNDS; i++) {
        product.digest = product_round(kind, took, &cpu);
        keep_best(&product, took, cpu);
        for (size_t at = 0; at < floor_count; at++) {
            floors[at].digest = floor_round(kind, at == 1, took, &cpu);
            keep_best(&floors[at], took, cpu);
            if (product.digest != floors[at].digest) {
                fprintf(stderr, "bench_writer: the two sides did not write the same rows\n");
                abort();
            }
        }
    }
    bool ok = report(fixture_kind_name(kind), "", &product, &floors[0]);
    if (floor_count == 2)
        ok = report(fixture_kind_name(kind), "_plain", &product, &floors[1]) && ok;
    return ok;
}

int main(int argc, char **argv)
{
    bool ok = true;
    post_stock_init(&stock, COMMITS);
    for (enum fixture_kind kind = FIXTURE_SQLITE; kind <= FIXTURE_POSTGRES; kind++)
        if (argc < 2 || strcmp(argv[1], fixture_kind_name(kind)) == 0)
            ok = compare_on(kind) && ok;
    post_stock_deinit(&stock);
    return ok ? 0 : 1;
}
