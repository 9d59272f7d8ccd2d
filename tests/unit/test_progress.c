/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/progress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define SECOND INT64_C(1000000)

static const struct progress_unit steps = {"steps", 1};

static void expect_line(struct progress *progress, int64_t done, int64_t total, const char *note,
                        const char *line)
{
    struct text out = {0};
    progress_print(progress, done, total, note, &out);
    assert_string_equal(text_string(&out), line);
    text_free(&out);
}

static void expect_share(int64_t done, int64_t total, double per_second, const char *words)
{
    struct text out = {0};
    progress_append_share(&out, done, total, per_second);
    assert_string_equal(text_string(&out), words);
    text_free(&out);
}

static void the_rate_is_the_mean_at_first(void **state)
{
    struct rate rate = {0};
    (void)state;
    rate_take(&rate, 100, SECOND); /* what was there before counts for nothing */
    assert_true(rate.per_second == 0);
    rate_take(&rate, 101, SECOND + SECOND / 4); /* too soon to tell */
    assert_true(rate.per_second == 0);
    rate_take(&rate, 120, 2 * SECOND);
    assert_float_equal(rate.per_second, 20, 0.001);
    rate_take(&rate, 120, 3 * SECOND);
    assert_float_equal(rate.per_second, 10, 0.001);
    rate_take(&rate, 190, 10 * SECOND);
    assert_float_equal(rate.per_second, 10, 0.001);
}

static void the_rate_follows_what_happens_now(void **state)
{
    struct rate rate = {0};
    int64_t count = 0, now = 0;
    (void)state;
    for (; now < 60 * SECOND; now += SECOND, count += 100)
        rate_take(&rate, count, now);
    assert_float_equal(rate.per_second, 100, 0.001);
    for (int i = 0; i < 60; i++, now += SECOND, count += 5)
        rate_take(&rate, count, now);
    assert_float_equal(rate.per_second, 5, 0.5);
    rate_take(&rate, count, now + 3600 * SECOND); /* nobody looked for an hour */
    assert_true(rate.per_second >= 0 && rate.per_second < 0.1);
}

static void shares_are_never_whole_before_the_end(void **state)
{
    (void)state;
    expect_share(0, 3, 0, "0 %");
    expect_share(999, 1000, 0, "99 %");
    expect_share(INT64_MAX - 1, INT64_MAX, 0, "99 %");
    expect_share(1000, 1000, 50, "100 %");
    expect_share(2000, 1000, 50, "100 %");
    expect_share(-5, 1000, 0, "0 %");
}

static void what_is_left_is_told_as_people_say_it(void **state)
{
    (void)state;
    expect_share(50, 100, 10, "50 %, 5 s left");
    expect_share(50, 100, 0.25, "50 %, 3 min left");
    expect_share(0, 100, 0.01, "0 %, 2 h 46 min left");
    expect_share(0, 1000, 0.001, "0 %, 11 d 13 h left");
    expect_share(50, 100, 0.00001, "50 %"); /* who knows */
}

static void a_line_has_a_bar_on_a_terminal_only(void **state)
{
    struct progress progress;
    (void)state;
    progress_init(&progress, "schema", steps, true, false);
    expect_line(&progress, 0, 4, "engine",
                "schema [░░░░░░░░░░░░░░░░░░░░] 0 % · 0 of 4 steps · engine");
    expect_line(&progress, 1, 4, NULL, "schema [█████░░░░░░░░░░░░░░░] 25 % · 1 of 4 steps");
    expect_line(&progress, 4, 4, NULL, "schema [████████████████████] 100 % · 4 of 4 steps");
    expect_line(&progress, 0, 0, "12 accounts before it", "schema · 12 accounts before it");
    progress_deinit(&progress);
    progress_init(&progress, "schema", steps, false, false);
    rate_take(&progress.rate, 0, 0);
    rate_take(&progress.rate, 1, SECOND);
    expect_line(&progress, 1, 4, NULL, "schema 25 %, 3 s left · 1 of 4 steps, 1.0/s");
    progress_deinit(&progress);
}

static void what_is_counted_may_be_made_of_smaller_things(void **state)
{
    struct progress progress;
    (void)state;
    progress_init(&progress, "did:x", (struct progress_unit){"hours", 3600e6}, false, false);
    rate_take(&progress.rate, 0, 0);
    rate_take(&progress.rate, INT64_C(10800000000), 2 * SECOND);
    expect_line(&progress, INT64_C(10800000000), INT64_C(86400000000), NULL,
                "did:x 12 %, 14 s left · 3 of 24 hours, 1.5/s");
    progress_deinit(&progress);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rate_is_the_mean_at_first),
        cmocka_unit_test(the_rate_follows_what_happens_now),
        cmocka_unit_test(shares_are_never_whole_before_the_end),
        cmocka_unit_test(what_is_left_is_told_as_people_say_it),
        cmocka_unit_test(a_line_has_a_bar_on_a_terminal_only),
        cmocka_unit_test(what_is_counted_may_be_made_of_smaller_things),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
