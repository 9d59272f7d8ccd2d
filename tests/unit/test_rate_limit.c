/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/rate_limit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SECOND INT64_C(1000000)

static int take_many(struct rate_limit *limit, const char *who, int64_t now_us, int tries)
{
    int went = 0;
    for (int i = 0; i < tries; i++)
        went += rate_limit_take(limit, bytes_of(who), now_us) == 0;
    return went;
}

static void a_burst_goes_at_once_and_the_rest_at_the_rate(void **state)
{
    struct rate_limit *limit = rate_limit_new(10, 30, 7);
    (void)state;
    assert_int_equal(take_many(limit, "a", 100 * SECOND, 100), 30);
    assert_int_equal(rate_limit_take(limit, bytes_of("a"), 100 * SECOND), SECOND / 10);
    assert_int_equal(rate_limit_take(limit, bytes_of("a"), 100 * SECOND + 99999), 1);
    assert_int_equal(rate_limit_take(limit, bytes_of("a"), 100 * SECOND + 100000), 0);
    assert_int_equal(take_many(limit, "a", 101 * SECOND, 100), 9);
    assert_int_equal(take_many(limit, "a", 200 * SECOND, 100), 30); /* no more is saved up */
    rate_limit_free(limit);
}

/* What is told to wait goes when it waited, and each waits for its own sake only. */
static void one_does_not_pay_for_another(void **state)
{
    struct rate_limit *limit = rate_limit_new(1, 2, 7);
    int64_t now_us = 5 * SECOND;
    (void)state;
    assert_int_equal(take_many(limit, "a", now_us, 10), 2);
    assert_int_equal(take_many(limit, "b", now_us, 10), 2);
    now_us += rate_limit_take(limit, bytes_of("a"), now_us);
    assert_int_equal(take_many(limit, "a", now_us, 10), 1);
    rate_limit_free(limit);
}

static void no_limit_is_no_limit(void **state)
{
    struct rate_limit *limit = rate_limit_new(0, 0, 7);
    (void)state;
    assert_int_equal(take_many(limit, "a", 0, 100000), 100000);
    rate_limit_free(limit);
}

/* More clients than the table holds: who asks too often is still held up while others come by. */
static void strangers_do_not_wash_a_greedy_client_clean(void **state)
{
    struct rate_limit *limit = rate_limit_new(1, 100, 7);
    char name[32];
    (void)state;
    assert_int_equal(take_many(limit, "greedy", SECOND, 1000), 100);
    for (int i = 0; i < 20 * RATE_LIMIT_KEYS_MAX; i++) {
        snprintf(name, sizeof name, "stranger %d", i);
        assert_int_equal(rate_limit_take(limit, bytes_of(name), SECOND), 0);
    }
    assert_int_equal(take_many(limit, "greedy", SECOND, 1000), 0);
    rate_limit_free(limit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_burst_goes_at_once_and_the_rest_at_the_rate),
        cmocka_unit_test(one_does_not_pay_for_another),
        cmocka_unit_test(no_limit_is_no_limit),
        cmocka_unit_test(strangers_do_not_wash_a_greedy_client_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
