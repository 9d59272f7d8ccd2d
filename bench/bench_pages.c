/* SPDX-License-Identifier: Apache-2.0
 *
 * The next page far into four million rows against the first one, for every shape of order that an
 * index serves, on both stores; in the usual order also by depth, and by how many rows there are,
 * up to a million, or ten with TIDEMARK_BENCH_LONG. */
#include "curve_point.h"
#include "fixture.h"
#include "query/query_page.h"
#include "stopwatch.h"
#include "store/store.h"
#include "thing_table.h"
#include "times.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS      4000000
#define PAGE_SIZE 30
#define ROUNDS    500
#define GOAL      1.3

static const struct column columns[] = {
    THING_NUMBER,
    {"room", COLUMN_TEXT, "t.room", "t.room", false},
    {"at", COLUMN_TIME, "t.at_us", "t.at_us", false},
    {"level", COLUMN_INT, "t.level", "t.level", false},
    {"name", COLUMN_TEXT, "t.name", "t.name", true},
    {"score", COLUMN_FLOAT, "t.score", "t.score", true},
    {"body", COLUMN_TEXT, "t.body", "t.body", false},
};
static const struct collection_order by_time[] = {{2, true}};
static const struct collection_index indexes[] = {{{0}, 1}, {{2}, 1}, {{1, 2}, 2},
                                                  {{3}, 1}, {{4}, 1}, {{5}, 1}};
static const struct collection things = {
    THING_TABLE,
    .columns = columns,
    .column_count = sizeof columns / sizeof columns[0],
    .order = by_time,
    .order_count = 1,
    .indexes = indexes,
    .index_count = sizeof indexes / sizeof indexes[0],
    .page_size = 100,
};

/* Three rows of each instant, three quarters of all in one room, a million of each level, a tenth
 * without a name or a score. */
#define VALUES                                                                                     \
    "SELECT i, CASE WHEN h % 4 < 3 THEN 'main' ELSE 'room ' || (h % 50) END, i / 3, h % 4, "       \
    "CASE WHEN h % 10 = 0 THEN NULL ELSE 'name ' || (h % 100003) END, "                            \
    "CASE WHEN h % 10 = 1 THEN NULL ELSE h / 7.0 END, "                                            \
    "'what was said in the room at that time, by ' || h "
#define HOW_MANY "(SELECT rows FROM wanted)"
#define MIXED    "i * 2654435761 % 1000003 AS h"
#define INDEXES                                                                                    \
    "CREATE INDEX thing_at ON thing (at_us, n); CREATE INDEX thing_room ON thing (room, at_us, "   \
    "n);"                                                                                          \
    "CREATE INDEX thing_level ON thing (level, n);"

static const char *const fill_sql[][3] = {
    [FIXTURE_SQLITE] =
        {"CREATE TABLE thing (n INTEGER PRIMARY KEY, room TEXT NOT NULL, at_us INTEGER NOT NULL, "
         "level INTEGER NOT NULL, name TEXT, score REAL, body TEXT NOT NULL)",
         "INSERT INTO thing WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s "
         "WHERE i < " HOW_MANY ") " VALUES "FROM (SELECT i, " MIXED " FROM s)",
         INDEXES "CREATE INDEX thing_name ON thing (name, n);"
                 "CREATE INDEX thing_score ON thing (score, n); ANALYZE"},
    [FIXTURE_POSTGRES] =
        {"CREATE UNLOGGED TABLE thing (n BIGINT PRIMARY KEY, room TEXT COLLATE \"C\" NOT NULL, "
         "at_us BIGINT NOT NULL, level BIGINT NOT NULL, name TEXT COLLATE \"C\", "
         "score DOUBLE PRECISION, body TEXT COLLATE \"C\" NOT NULL)",
         "INSERT INTO thing " VALUES "FROM (SELECT i, " MIXED
         " FROM generate_series(1::bigint, " HOW_MANY ") i) s",
         INDEXES "CREATE INDEX thing_name ON thing (name NULLS FIRST, n);"
                 "CREATE INDEX thing_score ON thing (score NULLS FIRST, n); ANALYZE thing"},
};

static const struct shape {
    const char *name, *filter, *order;
} shapes[] = {
    {"time_desc", "null", "[]"},
    {"time_asc", "null", "[{\"field\":\"at\"}]"},
    {"room_time_desc", "{\"room\":\"main\"}", "[]"},
    {"two_fields_asc", "null", "[{\"field\":\"room\"},{\"field\":\"at\"}]"},
    {"two_fields_desc", "null",
     "[{\"field\":\"room\",\"direction\":\"desc\"},{\"field\":\"at\",\"direction\":\"desc\"}]"},
    {"few_values_desc", "null", "[{\"field\":\"level\",\"direction\":\"desc\"}]"},
    {"nullable_asc", "null", "[{\"field\":\"name\"}]"},
    {"nullable_desc", "null", "[{\"field\":\"score\",\"direction\":\"desc\"}]"},
    {"id_desc", "null", "[{\"field\":\"id\",\"direction\":\"desc\"}]"},
};
static const size_t depths[] = {0, 100, 10000, 1000000, 2000000};
#define DEPTHS (sizeof depths / sizeof depths[0])
#define DEEP   3 /* the first of those that are compared in every order */

struct bench {
    struct fixture fixture;
    enum fixture_kind kind;
    size_t rows;
    struct store *store;
    struct json_doc *doc;
    struct page page;
    struct row_key place;
};

static void check(enum rc rc, const struct err *err)
{
    if (rc == RC_OK)
        return;
    fprintf(stderr, "bench_pages: %s: %s\n", rc_name(rc), err->text);
    abort();
}

static void fill(struct bench *bench)
{
    struct err err;
    struct text wanted = {0};
    double before = seconds_now();
    bench->store->patient = true; /* an index takes its time */
    text_appendf(&wanted, "CREATE TABLE wanted AS SELECT %zu AS rows", bench->rows);
    check(bench->store->ops->script(bench->store, text_string(&wanted), &err), &err);
    text_free(&wanted);
    for (size_t i = 0; i < 3; i++)
        check(bench->store->ops->script(bench->store, fill_sql[bench->kind][i], &err), &err);
    fprintf(stderr, "bench_pages: %zu rows in %s in %.0f s\n", bench->rows,
            fixture_kind_name(bench->kind), seconds_now() - before);
}

/* ---- where the pages begin ---- */

static bool take_place(void *arg, const struct field *values, size_t count)
{
    struct bench *bench = arg;
    struct row_key *place = &bench->place;
    bool kept = row_key_set(place, values, count);
    assert(kept);
    return true;
}

/* The row that so many come before, found by counting them once, in the index alone. */
static void find_place(struct bench *bench, const struct page_request *request, size_t depth)
{
    const struct seek seek = {.collection = request->collection,
                              .order = request->order,
                              .where = filter_where(request->filter),
                              .fence_n = request->fence_n,
                              .rows_max = 1};
    struct seek_sql sql = {0};
    struct text text = {0};
    struct err err;
    row_key_clear(&bench->place);
    if (depth == 0)
        return;
    seek_build(&seek, &sql);
    const char *from = strstr(text_string(&sql.text), " FROM ");
    assert(from != NULL);
    for (size_t i = 0; i < request->order->count; i++)
        text_appendf(&text, "%s%s", i > 0 ? ", " : "SELECT ", request->order->terms[i].sql);
    text_appendf(&text, "%s OFFSET %zu", from, depth - 1);
    check(store_query(bench->store, text_string(&text), sql.params, sql.param_count, take_place,
                      bench, &err),
          &err);
    assert(bench->place.count > 0);
    text_free(&text);
    seek_sql_free(&sql);
}

/* ---- how long they take ---- */

static double time_page(struct bench *bench, const struct page_request *request)
{
    struct refusal refusal;
    struct err err;
    double before = seconds_now();
    check(page_fetch(bench->store, request, &bench->page, &refusal, &err), &err);
    double took = seconds_now() - before;
    assert(bench->page.rows == PAGE_SIZE && bench->page.has_more);
    return took;
}

/* The lower quartile of each depth, which other programs disturb least; the depths take turns, so
 * that they meet the same weather. */
static void time_depths(struct bench *bench, struct page_request *request,
                        const struct row_key *places, size_t count, double *quartiles)
{
    static double times[DEPTHS][ROUNDS];
    assert(count <= DEPTHS);
    for (size_t round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < count; i++) {
            request->after = &places[i];
            times[i][round] = time_page(bench, request);
        }
    }
    for (size_t i = 0; i < count; i++) {
        times_sort(times[i], ROUNDS);
        quartiles[i] = times[i][ROUNDS / 4];
    }
}

static struct json parse(struct bench *bench, const char *text)
{
    struct json root;
    struct err err;
    check(json_parse_copy(bench->doc, bytes_of(text), &root, &err), &err);
    return root;
}

/* How long a page takes at each of these depths. */
static void time_shape(struct bench *bench, const struct shape *shape, const size_t *at,
                       size_t count, double *took)
{
    struct order order;
    struct filter *filter;
    struct refusal refusal;
    struct row_key places[DEPTHS] = {0};
    check(order_parse(&things, parse(bench, shape->order), &order, &refusal), &refusal.err);
    check(filter_parse(&things, parse(bench, shape->filter), &filter, &refusal), &refusal.err);
    assert(count <= DEPTHS && order_index(&things, &order, filter_fixed(filter)) != NULL);
    struct page_request request = {.collection = &things,
                                   .order = &order,
                                   .filter = filter,
                                   .fence_n = (int64_t)bench->rows + 1,
                                   .page_size = PAGE_SIZE};
    for (size_t i = 0; i < count; i++) {
        find_place(bench, &request, at[i]);
        row_key_move(&places[i], &bench->place);
    }
    time_depths(bench, &request, places, count, took);
    for (size_t i = 0; i < count; i++)
        row_key_clear(&places[i]);
    filter_free(filter);
}

static bool report_point(const struct bench *bench, const char *by, size_t x, double took,
                         double first)
{
    char curve[64];
    snprintf(curve, sizeof curve, "%s_%s", by, fixture_kind_name(bench->kind));
    return curve_point(curve, (double)x, took * 1e6, "us", first * 1e6, GOAL);
}

static bool measure(struct bench *bench, const struct shape *shape)
{
    double took[DEPTHS];
    bool ok = true;
    time_shape(bench, shape, depths, DEPTHS, took);
    double deep = took[DEEP];
    for (size_t i = DEEP + 1; i < DEPTHS; i++)
        deep = took[i] > deep ? took[i] : deep;
    for (size_t i = 1; shape == shapes && i < DEPTHS; i++)
        ok &= report_point(bench, "page_depth", depths[i], took[i], took[0]);
    ok &= deep <= took[0] * GOAL;
    printf("{\"name\":\"page_%s_%s\",\"value\":%.1f,\"unit\":\"us\",\"against\":%.1f,"
           "\"ratio\":%.3f,\"goal\":%.2f,\"ok\":%s}\n",
           shape->name, fixture_kind_name(bench->kind), deep * 1e6, took[0] * 1e6, deep / took[0],
           GOAL, deep <= took[0] * GOAL ? "true" : "false");
    fflush(stdout);
    return ok;
}

static bool measure_shapes(struct bench *bench)
{
    bool ok = true;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        ok &= measure(bench, &shapes[i]);
    return ok;
}

/* The page in the middle, against the first. */
static bool measure_middle(struct bench *bench)
{
    double took[2];
    time_shape(bench, shapes, (const size_t[]){0, bench->rows / 2}, 2, took);
    return report_point(bench, "page_rows", bench->rows, took[1], took[0]);
}

static bool run_on(enum fixture_kind kind, size_t rows, bool (*run)(struct bench *bench))
{
    struct bench bench = {.kind = kind, .rows = rows};
    struct err err;
    fixture_open(&bench.fixture, kind);
    check(store_open(bench.fixture.url, STORE_WRITE, &bench.store, &err), &err);
    fill(&bench);
    store_close(bench.store);
    check(store_open(bench.fixture.url, STORE_READ, &bench.store, &err), &err);
    bench.doc = json_doc_new(65536, JSON_DEPTH_MAX);
    bool ok = run(&bench);
    page_free(&bench.page);
    json_doc_free(bench.doc);
    store_close(bench.store);
    fixture_close(&bench.fixture);
    return ok;
}

int main(void)
{
    static const enum fixture_kind kinds[] = {FIXTURE_SQLITE, FIXTURE_POSTGRES};
    size_t rows_max = getenv("TIDEMARK_BENCH_LONG") != NULL ? 10000000 : 1000000;
    bool ok = true;
    for (size_t i = 0; i < 2; i++) {
        for (size_t rows = 10000; rows <= rows_max; rows *= 10)
            ok &= run_on(kinds[i], rows, measure_middle);
        ok &= run_on(kinds[i], ROWS, measure_shapes);
    }
    return ok ? 0 : 1;
}
