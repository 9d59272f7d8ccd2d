/* SPDX-License-Identifier: Apache-2.0
 *
 * Pages that the store cannot find in one query, on both stores and without a clock. */
#include "walk_bench.h"

#include <string.h>

#include <cmocka.h>

#define THINGS 1000

static void make_things(struct bench *bench)
{
    walk_bench_run(bench, "INSERT INTO thing (n, a, b) WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL "
                          "SELECT i + 1 FROM s WHERE i < 1000) SELECT i, i, CASE WHEN i % 400 = 0 "
                          "THEN 'rare' ELSE 'x' END FROM s; UPDATE engine SET next_n = 1001");
}

/* Rows 800 and 400 are rare; going down, page by page of two slices of ten. */
static bool is_second(void *arg)
{
    unsigned *slices = arg;
    return ++*slices % 2 == 0;
}

static void open_hurried(struct bench *bench, struct walk *walk, unsigned *slices, size_t page_size)
{
    walk_open(bench, walk, "{\"b\":\"rare\"}", "[]", page_size);
    walk->request.slice_rows = 10;
    walk->request.enough = is_second;
    walk->request.enough_arg = slices;
}

static void a_scan_that_finds_too_little_ends_in_a_short_page(void **state)
{
    struct bench *bench = *state;
    unsigned slices = 0, empty = 0, pages = 0;
    int64_t ids[8], found[8];
    bool has_more = true;
    size_t total = 0;
    struct walk walk;
    make_things(bench);
    open_hurried(bench, &walk, &slices, 3);
    for (; has_more; pages++) {
        size_t count = walk_next(bench, &walk, ids, &has_more);
        memcpy(found + total, ids, count * sizeof ids[0]);
        total += count;
        empty += count == 0;
        if (has_more) {
            assert_int_equal(bench->page.scanned, 20);
            assert_int_equal(walk.end.parts[0].i, THINGS - 20 * (pages + 1) + 1);
        }
    }
    assert_int_equal(total, 2);
    assert_int_equal(found[0], 800);
    assert_int_equal(found[1], 400);
    assert_int_equal(pages, 51); /* the last looks at what is left, nothing */
    assert_int_equal(empty, 49);
    walk_close(&walk);
}

static void an_empty_page_asked_again_is_the_same_interval(void **state)
{
    struct bench *bench = *state;
    unsigned slices = 0;
    int64_t ids[8];
    bool has_more;
    struct walk walk;
    make_things(bench);
    open_hurried(bench, &walk, &slices, 3);
    assert_int_equal(walk_next(bench, &walk, ids, &has_more), 0);
    assert_true(has_more);
    walk_bench_run(bench, "UPDATE thing SET b = 'rare' WHERE n IN (999, 980)");
    assert_int_equal(walk_again(bench, &walk, ids), 1); /* 980 is beyond its end */
    assert_int_equal(ids[0], 999);
    assert_int_equal(walk_next(bench, &walk, ids, &has_more), 1);
    assert_int_equal(ids[0], 980);
    walk_close(&walk);
}

static void a_full_page_may_end_beyond_its_last_row(void **state)
{
    struct bench *bench = *state;
    unsigned slices = 0;
    int64_t ids[8];
    bool has_more;
    struct walk walk;
    make_things(bench);
    walk_bench_run(bench, "UPDATE thing SET b = 'rare' WHERE n IN (1000, 999)");
    open_hurried(bench, &walk, &slices, 2);
    assert_int_equal(walk_next(bench, &walk, ids, &has_more), 2);
    assert_true(has_more);
    assert_int_equal(walk.end.parts[0].i, 981); /* nothing was found after them yet */
    walk_close(&walk);
}

/* A slice begins at a value of b and meets the last rows that have it, those without one, and those
 * of the next a: each in a query of its own where the store is asked so. */
static void a_slice_goes_on_from_where_it_began(void **state)
{
    struct bench *bench = *state;
    int64_t ids[16];
    bool has_more;
    struct walk walk;
    walk_bench_run(bench, "INSERT INTO thing (n, a, b) VALUES (1, 1, NULL), (2, 1, 'x'), "
                          "(3, 2, NULL), (4, 2, 'x'), (5, 2, 'x'), (6, 3, 'x'); "
                          "UPDATE engine SET next_n = 7");
    walk_open(bench, &walk, "null",
              "[{\"field\":\"a\",\"direction\":\"desc\"},{\"field\":\"b\",\"direction\":\"desc\"}]",
              10);
    walk.request.slice_rows = 3;
    static const int64_t expected[] = {6, 5, 4, 3, 2, 1};
    assert_int_equal(walk_next(bench, &walk, ids, &has_more), 6);
    assert_memory_equal(ids, expected, sizeof expected);
    assert_false(has_more);
    walk_close(&walk);
}

/* ---- a store that has little time ---- */

struct hasty_store {
    struct store store;
    struct store *real;
    size_t rows_in_time; /* of each query but the first, which gives none */
    size_t queries;
    size_t rows; /* of the query under way */
    row_fn *fn;
    void *arg;
};

static bool take_while_in_time(void *arg, const struct field *columns, size_t count)
{
    struct hasty_store *hasty = arg;
    if (hasty->queries == 1 || hasty->rows == hasty->rows_in_time)
        return false;
    hasty->rows++;
    return hasty->fn(hasty->arg, columns, count);
}

static enum rc query_in_time(struct store *store, const char *sql, const struct field *params,
                             size_t param_count, row_fn *fn, void *arg, struct err *err)
{
    struct hasty_store *hasty = (struct hasty_store *)store;
    hasty->fn = fn;
    hasty->arg = arg;
    hasty->rows = 0;
    hasty->queries++;
    enum rc rc = store_query(hasty->real, sql, params, param_count, take_while_in_time, hasty, err);
    if (rc == RC_OK && (hasty->queries == 1 || hasty->rows == hasty->rows_in_time))
        rc = err_set(err, RC_AGAIN, "no time");
    return rc;
}

static const struct store_ops hasty_ops = {.name = "hasty", .query = query_in_time};

static bool is_never(void *arg)
{
    (void)arg;
    return false;
}

static enum rc fetch_hastily(struct bench *bench, size_t rows_in_time, const char *order,
                             size_t page_size)
{
    struct hasty_store hasty = {
        .store = {.ops = &hasty_ops}, .real = bench->store, .rows_in_time = rows_in_time};
    struct walk walk;
    walk_open(bench, &walk, "{\"b\":\"rare\"}", order, page_size);
    walk.request.enough = is_never;
    enum rc rc =
        page_fetch(&hasty.store, &walk.request, &bench->page, &bench->refusal, &bench->err);
    walk_close(&walk);
    return rc;
}

static void what_a_query_found_before_its_time_was_up_is_kept(void **state)
{
    struct bench *bench = *state;
    make_things(bench);
    assert_ok(fetch_hastily(bench, 37, "[]", 2));
    assert_int_equal(bench->page.rows, 2);
    assert_false(bench->page.has_more);
    assert_int_equal(bench->page.scanned, THINGS);
    assert_non_null(strstr(text_string(&bench->page.items), "\"id\":\"800\""));
}

static void a_store_without_time_for_a_row_is_told_of(void **state)
{
    struct bench *bench = *state;
    make_things(bench);
    assert_int_equal(fetch_hastily(bench, 0, "[]", 2), RC_AGAIN);
}

static void an_order_without_an_index_is_not_scanned_in_slices(void **state)
{
    struct bench *bench = *state;
    make_things(bench);
    assert_int_equal(fetch_hastily(bench, 37, "[{\"field\":\"f\",\"nulls\":\"last\"}]", 2),
                     RC_AGAIN);
}

/* ---- what is looked at ---- */

static size_t count_scanned(struct bench *bench, const char *filter, const char *order)
{
    struct walk walk;
    walk_open(bench, &walk, filter, order, 5);
    walk.request.counted = true;
    assert_ok(page_fetch(bench->store, &walk.request, &bench->page, &bench->refusal, &bench->err));
    walk_close(&walk);
    assert_true(bench->page.sliced);
    return bench->page.scanned;
}

static void the_index_keeps_to_what_the_filter_leaves_of_it(void **state)
{
    struct bench *bench = *state;
    make_things(bench);
    assert_int_equal(count_scanned(bench, "null", "[]"), 6); /* one more says that more follow */
    assert_int_equal(bench->page.rows, 5);
    assert_int_equal(count_scanned(bench, "{\"a\":{\"$gt\":990},\"b\":\"rare\"}", "[]"), 10);
    assert_int_equal(bench->page.rows, 0);
    assert_false(bench->page.has_more);
    assert_int_equal(count_scanned(bench, "{\"a\":800}", "[{\"field\":\"b\"}]"), 1);
    assert_int_equal(count_scanned(bench, "{\"b\":\"rare\"}", "[]"), THINGS);
    assert_int_equal(bench->page.rows, 2);
}

int main(void)
{
#define ON_STORE(test)                                                                             \
    cmocka_unit_test_setup_teardown(test, walk_bench_set_up, walk_bench_tear_down)
    const struct CMUnitTest tests[] = {
        ON_STORE(a_scan_that_finds_too_little_ends_in_a_short_page),
        ON_STORE(an_empty_page_asked_again_is_the_same_interval),
        ON_STORE(a_full_page_may_end_beyond_its_last_row),
        ON_STORE(a_slice_goes_on_from_where_it_began),
        ON_STORE(what_a_query_found_before_its_time_was_up_is_kept),
        ON_STORE(a_store_without_time_for_a_row_is_told_of),
        ON_STORE(an_order_without_an_index_is_not_scanned_in_slices),
        ON_STORE(the_index_keeps_to_what_the_filter_leaves_of_it),
    };
    return both_stores_run(tests, sizeof tests / sizeof tests[0]);
}
