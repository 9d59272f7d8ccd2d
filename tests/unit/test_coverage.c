/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/coverage.h"

#include "test_seed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void add(struct coverage *coverage, int64_t lo, int64_t hi)
{
    assert_int_equal(coverage_add(coverage, (struct interval){lo, hi}), RC_OK);
}

static void intervals_that_meet_become_one(void **state)
{
    (void)state;
    struct coverage coverage;
    coverage_init(&coverage, 8);
    add(&coverage, 10, 20);
    add(&coverage, 30, 40);
    assert_int_equal(coverage.count, 2);
    add(&coverage, 20, 30);
    assert_int_equal(coverage.count, 1);
    assert_int_equal(coverage.items[0].lo, 10);
    assert_int_equal(coverage.items[0].hi, 40);
    add(&coverage, 5, 5); /* empty */
    add(&coverage, 9, 3);
    assert_int_equal(coverage.count, 1);
    assert_false(coverage_contains(&coverage, 40)); /* half-open */
    assert_true(coverage_contains(&coverage, 39));
    coverage_clear(&coverage);
    assert_false(coverage_contains(&coverage, 39));
    coverage_deinit(&coverage);
}

static void the_gaps_are_the_work_list(void **state)
{
    (void)state;
    struct coverage coverage;
    struct interval gap, range = {0, 100};
    coverage_init(&coverage, 8);
    assert_true(coverage_next_gap(&coverage, range, &gap));
    assert_true(gap.lo == 0 && gap.hi == 100);
    add(&coverage, -5, 10);
    add(&coverage, 20, 30);
    add(&coverage, 90, 120);
    assert_true(coverage_next_gap(&coverage, range, &gap));
    assert_true(gap.lo == 10 && gap.hi == 20);
    range.lo = gap.hi;
    assert_true(coverage_next_gap(&coverage, range, &gap));
    assert_true(gap.lo == 30 && gap.hi == 90);
    range.lo = gap.hi;
    assert_false(coverage_next_gap(&coverage, range, &gap));
    assert_true(coverage_contains_all(&coverage, (struct interval){20, 30}));
    assert_false(coverage_contains_all(&coverage, (struct interval){20, 31}));
    assert_true(coverage_contains_all(&coverage, (struct interval){50, 50}));
    coverage_deinit(&coverage);
}

static void a_full_set_answers_again_and_keeps_what_it_had(void **state)
{
    (void)state;
    struct coverage coverage;
    coverage_init(&coverage, 2);
    add(&coverage, 0, 10);
    add(&coverage, 20, 30);
    assert_int_equal(coverage_add(&coverage, (struct interval){40, 50}), RC_AGAIN);
    assert_int_equal(coverage_remove(&coverage, (struct interval){3, 4}), RC_AGAIN);
    assert_true(coverage_contains(&coverage, 3));
    assert_int_equal(coverage.count, 2);
    add(&coverage, 10, 20); /* one less: there is room again */
    assert_int_equal(coverage_remove(&coverage, (struct interval){3, 4}), RC_OK);
    assert_false(coverage_contains(&coverage, 3));
    coverage_deinit(&coverage);
}

static void the_ends_of_int64_are_no_special_place(void **state)
{
    (void)state;
    struct coverage coverage;
    struct interval gap, all = {INT64_MIN, INT64_MAX};
    coverage_init(&coverage, 4);
    add(&coverage, INT64_MIN, 0);
    add(&coverage, 1, INT64_MAX);
    assert_true(coverage_next_gap(&coverage, all, &gap));
    assert_true(gap.lo == 0 && gap.hi == 1);
    add(&coverage, 0, 1);
    assert_false(coverage_next_gap(&coverage, all, &gap));
    assert_true(coverage_contains_all(&coverage, all));
    assert_false(coverage_contains(&coverage, INT64_MAX));
    assert_int_equal(coverage_remove(&coverage, all), RC_OK);
    assert_int_equal(coverage.count, 0);
    coverage_deinit(&coverage);
}

/* A plain model: one flag per point. */
enum { POINTS = 96 };

static size_t plain_intervals(const bool *covered)
{
    size_t count = 0;
    for (int i = 0; i < POINTS; i++)
        count += covered[i] && (i == 0 || !covered[i - 1]);
    return count;
}

static void random_change(struct coverage *coverage, bool *covered, struct seeded *random)
{
    bool value = seeded_below(random, 2) == 0, changed[POINTS];
    int64_t lo = (int64_t)seeded_below(random, POINTS);
    int64_t hi = lo + (int64_t)seeded_below(random, 12) - 1;
    hi = hi > POINTS ? POINTS : hi;
    memcpy(changed, covered, sizeof changed);
    for (int64_t i = lo; i < hi; i++)
        changed[i] = value;
    struct interval interval = {lo, hi};
    enum rc rc = value ? coverage_add(coverage, interval) : coverage_remove(coverage, interval);
    if (plain_intervals(changed) > coverage->capacity) {
        assert_int_equal(rc, RC_AGAIN);
        return;
    }
    assert_int_equal(rc, RC_OK);
    memcpy(covered, changed, sizeof changed);
}

static void compare(const struct coverage *coverage, const bool *covered, struct seeded *random)
{
    assert_int_equal(coverage->count, plain_intervals(covered));
    int64_t lo = (int64_t)seeded_below(random, POINTS), hi = (int64_t)seeded_below(random, POINTS);
    assert_true(coverage_contains(coverage, lo) == covered[lo]);
    bool all = true;
    int64_t gap_lo = -1, gap_hi = hi;
    for (int64_t i = lo; i < hi; i++) {
        all = all && covered[i];
        if (!covered[i] && gap_lo < 0)
            gap_lo = i;
        if (covered[i] && gap_lo >= 0 && gap_hi == hi)
            gap_hi = i;
    }
    struct interval gap, range = {lo, hi};
    assert_true(coverage_contains_all(coverage, range) == all);
    assert_true(coverage_next_gap(coverage, range, &gap) == (gap_lo >= 0));
    assert_true(gap_lo < 0 || (gap.lo == gap_lo && gap.hi == gap_hi));
}

static void it_agrees_with_a_plain_model_over_random_operations(void **state)
{
    (void)state;
    enum { ROUNDS = 100, OPERATIONS = 12000 };
    struct seeded random = seeded_start("coverage");
    for (int round = 0; round < ROUNDS; round++) {
        struct coverage coverage;
        bool covered[POINTS] = {false};
        coverage_init(&coverage, 1 + (size_t)round % 20);
        for (int i = 0; i < OPERATIONS; i++) {
            random_change(&coverage, covered, &random);
            compare(&coverage, covered, &random);
        }
        for (size_t i = 0; i < coverage.count; i++) {
            assert_true(coverage.items[i].lo < coverage.items[i].hi);
            assert_true(i == 0 || coverage.items[i - 1].hi < coverage.items[i].lo);
        }
        coverage_deinit(&coverage);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_that_meet_become_one),
        cmocka_unit_test(the_gaps_are_the_work_list),
        cmocka_unit_test(a_full_set_answers_again_and_keeps_what_it_had),
        cmocka_unit_test(the_ends_of_int64_are_no_special_place),
        cmocka_unit_test(it_agrees_with_a_plain_model_over_random_operations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
