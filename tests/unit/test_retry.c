/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/retry.h"

#include "chance.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define SECOND INT64_C(1000000)

static enum retry_class of_status(int status)
{
    return retry_classify(&(struct retry_failure){.status = status}, NULL, 0);
}

/* R000-26, R000-27 */
static void each_status_has_its_class(void **state)
{
    (void)state;
    const int permanent[] = {400, 403, 404, 410};
    for (size_t i = 0; i < sizeof permanent / sizeof permanent[0]; i++)
        assert_int_equal(of_status(permanent[i]), RETRY_PERMANENT);
    assert_int_equal(of_status(401), RETRY_AUTH);
    assert_int_equal(of_status(407), RETRY_AUTH);
    assert_int_equal(of_status(429), RETRY_RATE_LIMITED);
    for (int status = 0; status < 5000; status++) {
        enum retry_class class = of_status(status);
        bool named = status == 400 || status == 401 || status == 403 || status == 404 ||
                     status == 407 || status == 410 || status == 429;
        assert_int_equal(class == RETRY_TRANSIENT, !named);
    }
}

/* R000-27: a timeout or a reset has no status; a status counts whatever the body says. */
static void what_is_not_a_status_has_a_class_too(void **state)
{
    (void)state;
    const struct retry_rule everything[] = {{0, 9999, NULL, RETRY_AUTH}};
    struct retry_failure failure = {.cause = RETRY_NO_ANSWER, .status = 404};
    assert_int_equal(retry_classify(&failure, everything, 1), RETRY_TRANSIENT);
    failure.cause = RETRY_GARBLED;
    assert_int_equal(retry_classify(&failure, everything, 1), RETRY_TRANSIENT);
    failure.cause = RETRY_REFUSED;
    assert_int_equal(retry_classify(&failure, everything, 1), RETRY_PERMANENT);
    failure = (struct retry_failure){.status = 500, .error = "API error: 400"};
    assert_int_equal(retry_classify(&failure, NULL, 0), RETRY_TRANSIENT);
}

static void rules_of_a_source_come_before_the_general_ones(void **state)
{
    (void)state;
    const struct retry_rule rules[] = {
        {400, 400, "ExpiredToken", RETRY_AUTH},
        {404, 404, NULL, RETRY_TRANSIENT},
        {200, 299, "Max rate limit reached", RETRY_RATE_LIMITED},
        {500, 599, "NotImplemented", RETRY_PERMANENT},
    };
    const struct {
        int status;
        const char *error;
        enum retry_class class;
    } rows[] = {
        {400, "ExpiredToken", RETRY_AUTH}, {400, "InvalidRequest", RETRY_PERMANENT},
        {400, NULL, RETRY_PERMANENT},      {404, "anything", RETRY_TRANSIENT},
        {403, NULL, RETRY_PERMANENT},      {200, "Max rate limit reached", RETRY_RATE_LIMITED},
        {200, NULL, RETRY_TRANSIENT},      {501, "NotImplemented", RETRY_PERMANENT},
        {501, NULL, RETRY_TRANSIENT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct retry_failure failure = {.status = rows[i].status, .error = rows[i].error};
        assert_int_equal(retry_classify(&failure, rules, 4), rows[i].class);
    }
    assert_string_equal(retry_class_name(RETRY_PERMANENT), "permanent");
    assert_string_equal(retry_class_name(RETRY_AUTH), "auth");
}

/* Lets every attempt fail and writes down when each was made; answers how many there were. */
static uint32_t run_dry(struct retry *retry, int64_t *times_us, uint32_t most)
{
    int64_t at_us = retry_begin(retry, 0, RETRY_CENTRE);
    for (uint32_t n = 0; n < most; n++) {
        times_us[n] = at_us;
        struct retry_decision d =
            retry_failed(retry, RETRY_TRANSIENT, -1, at_us, RETRY_CENTRE, NULL);
        if (d.action == RETRY_STOP)
            return n + 1;
        at_us = d.at_us;
    }
    return most;
}

static void check_poll(uint32_t backoff_ms, uint32_t retries_max, const int64_t *expected_ms,
                       uint32_t count)
{
    int64_t times_us[32];
    struct retry retry;
    struct retry_schedule schedule = retry_schedule_poll(backoff_ms, retries_max);
    retry_init(&retry, &schedule);
    assert_int_equal(run_dry(&retry, times_us, 32), count);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(times_us[i], expected_ms[i] * 1000);
}

static void a_poll_is_tried_at_the_printed_times_and_no_fifth_time(void **state)
{
    (void)state;
    check_poll(1000, 3, (const int64_t[]){0, 1000, 3000, 7000}, 4); /* R000-31 */
    check_poll(100, 3, (const int64_t[]){0, 100, 300, 700}, 4);     /* R000-46 */
    check_poll(1000, 0, (const int64_t[]){0}, 1);                   /* R000-45 */
    int64_t times_us[64];
    struct retry retry;
    struct retry_schedule schedule = retry_schedule_poll(4000000000, 60);
    retry_init(&retry, &schedule);
    assert_int_equal(run_dry(&retry, times_us, 64), 61);
    assert_int_equal(times_us[60] - times_us[59], RETRY_DELAY_US_MAX);
}

/* R001-35 */
static void a_reconnect_follows_the_printed_waits_and_starts_over_after_success(void **state)
{
    (void)state;
    const int64_t dials[] = {5, 15, 45, 105, 165, 225};
    int64_t times_us[6];
    struct retry retry;
    struct retry_schedule schedule = retry_schedule_reconnect(5, 0);
    retry_init(&retry, &schedule);
    assert_int_equal(run_dry(&retry, times_us, 6), 6);
    for (int i = 0; i < 6; i++)
        assert_int_equal(times_us[i], dials[i] * SECOND);
    retry_succeeded(&retry);
    assert_int_equal(retry_begin(&retry, 0, RETRY_CENTRE), 5 * SECOND);
}

/* R001-93 */
static void the_first_reconnect_delay_scales_the_others(void **state)
{
    (void)state;
    const struct {
        uint32_t first;
        int64_t delays[4];
    } rows[] = {{1, {1, 2, 6, 12}},
                {5, {5, 10, 30, 60}},
                {20, {20, 40, 60, 60}},
                {90, {90, 90, 90, 90}},
                {UINT32_MAX, {3600, 3600, 3600, 3600}}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct retry_schedule schedule = retry_schedule_reconnect(rows[i].first, 0);
        for (uint32_t k = 0; k < 8; k++)
            assert_int_equal(retry_delay(&schedule, k, -1, RETRY_CENTRE),
                             rows[i].delays[k < 4 ? k : 3] * SECOND);
    }
}

/* R001-36, R001-94 */
static void zero_attempts_means_for_ever_and_n_means_n(void **state)
{
    (void)state;
    struct retry retry;
    struct retry_schedule schedule = retry_schedule_reconnect(5, 0);
    retry_init(&retry, &schedule);
    struct err err = {""};
    for (int i = 0; i < 1000; i++) {
        struct retry_decision d = retry_failed(&retry, RETRY_TRANSIENT, -1, 0, RETRY_CENTRE, &err);
        assert_int_equal(d.action, RETRY_WAIT);
    }
    assert_string_equal(err.text, "");
    int64_t times_us[8];
    schedule = retry_schedule_reconnect(5, 3);
    retry_init(&retry, &schedule);
    assert_int_equal(run_dry(&retry, times_us, 8), 3);
    schedule = retry_schedule_reconnect(5, 2);
    retry_init(&retry, &schedule);
    (void)retry_failed(&retry, RETRY_TRANSIENT, -1, 0, RETRY_CENTRE, &err);
    struct retry_decision d = retry_failed(&retry, RETRY_TRANSIENT, -1, 0, RETRY_CENTRE, &err);
    assert_int_equal(d.action, RETRY_STOP);
    assert_int_equal(d.at_us, INT64_MAX);
    assert_string_equal(err.text, "gave up after 2 failed attempts: no attempts are left");
}

/* R001-37, R001-129: the tenth failure raises it. */
static void ten_failures_raise_one_alert_and_success_clears_it(void **state)
{
    (void)state;
    struct retry retry;
    struct retry_schedule schedule = retry_schedule_reconnect(5, 0);
    retry_init(&retry, &schedule);
    for (int round = 0; round < 2; round++) {
        for (int i = 1; i <= 40; i++) {
            struct retry_decision d =
                retry_failed(&retry, RETRY_TRANSIENT, -1, 0, RETRY_CENTRE, NULL);
            assert_int_equal(d.alert, i == 10);
            assert_int_equal(retry_alerting(&retry), i >= 10);
            assert_int_equal(d.action, RETRY_WAIT);
        }
        retry_succeeded(&retry);
        assert_false(retry_alerting(&retry));
    }
}

/* R000-26: one request, no retry. */
static void a_permanent_failure_stops_a_poll_at_once_but_not_a_reconnect(void **state)
{
    (void)state;
    struct retry retry;
    struct err err;
    struct retry_schedule schedule = retry_schedule_poll(1000, 3);
    retry_init(&retry, &schedule);
    struct retry_decision d = retry_failed(&retry, RETRY_PERMANENT, -1, 0, RETRY_CENTRE, &err);
    assert_int_equal(d.action, RETRY_STOP);
    assert_string_equal(err.text, "gave up after 1 failed attempt: the failure is permanent");
    schedule = retry_schedule_reconnect(5, 0);
    retry_init(&retry, &schedule);
    d = retry_failed(&retry, RETRY_PERMANENT, -1, 0, RETRY_CENTRE, &err);
    assert_int_equal(d.action, RETRY_WAIT);
    assert_int_equal(d.at_us, 10 * SECOND);
}

static void expired_credentials_are_refreshed_once_without_costing_an_attempt(void **state)
{
    (void)state;
    struct retry retry;
    struct err err;
    struct retry_schedule schedule = retry_schedule_poll(1000, 0);
    retry_init(&retry, &schedule);
    for (int round = 0; round < 3; round++) {
        struct retry_decision d = retry_failed(&retry, RETRY_AUTH, -1, 70, RETRY_CENTRE, &err);
        assert_int_equal(d.action, RETRY_REFRESH);
        assert_int_equal(d.at_us, 70);
        assert_int_equal(retry.failures, 0);
        retry_succeeded(&retry);
    }
    (void)retry_failed(&retry, RETRY_AUTH, -1, 0, RETRY_CENTRE, &err);
    struct retry_decision d = retry_failed(&retry, RETRY_AUTH, -1, 0, RETRY_CENTRE, &err);
    assert_int_equal(d.action, RETRY_STOP);
    assert_non_null(strstr(err.text, "fresh credentials were refused too"));
    retry_succeeded(&retry);
    d = retry_failed(&retry, RETRY_AUTH, 3 * SECOND, 0, RETRY_CENTRE, &err);
    assert_int_equal(d.at_us, 3 * SECOND);
}

/* R000-27: 429 is retried after Retry-After. */
static void retry_after_is_a_floor_with_a_cap(void **state)
{
    (void)state;
    struct retry retry;
    struct retry_schedule schedule = retry_schedule_poll(1000, 3);
    retry_init(&retry, &schedule);
    struct retry_decision d =
        retry_failed(&retry, RETRY_RATE_LIMITED, 30 * SECOND, SECOND, RETRY_CENTRE, NULL);
    assert_int_equal(d.action, RETRY_WAIT);
    assert_int_equal(d.at_us, 31 * SECOND);
    d = retry_failed(&retry, RETRY_RATE_LIMITED, SECOND, 0, RETRY_CENTRE, NULL);
    assert_int_equal(d.at_us, 2 * SECOND);
    d = retry_failed(&retry, RETRY_RATE_LIMITED, INT64_MAX, 0, RETRY_CENTRE, NULL);
    assert_int_equal(d.at_us, RETRY_AFTER_US_MAX);
    schedule.retry_after_us_max = 7 * SECOND;
    assert_int_equal(retry_delay(&schedule, 1, 8 * SECOND, RETRY_CENTRE), 7 * SECOND);
}

static void jitter_stays_within_a_fifth_and_above_retry_after(void **state)
{
    (void)state;
    struct chance chance = chance_init("jitter");
    struct retry_schedule schedule = retry_schedule_reconnect(5, 0);
    int64_t least = INT64_MAX, most = 0;
    assert_int_equal(retry_delay(&schedule, 1, -1, 0), 8 * SECOND);
    for (int i = 0; i < 1000000; i++) {
        uint64_t random = chance_next(&chance);
        int64_t wait_us = retry_delay(&schedule, 1, -1, random);
        assert_true(wait_us >= 8 * SECOND && wait_us <= 12 * SECOND);
        least = wait_us < least ? wait_us : least;
        most = wait_us > most ? wait_us : most;
        int64_t asked_us = (int64_t)chance_below(&chance, 20) * SECOND;
        int64_t told_us = retry_delay(&schedule, 1, asked_us, random);
        assert_true(told_us >= asked_us && told_us >= wait_us);
        assert_true(told_us == asked_us || told_us == wait_us);
    }
    assert_true(least < 8100000 && most > 11900000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_status_has_its_class),
        cmocka_unit_test(what_is_not_a_status_has_a_class_too),
        cmocka_unit_test(rules_of_a_source_come_before_the_general_ones),
        cmocka_unit_test(a_poll_is_tried_at_the_printed_times_and_no_fifth_time),
        cmocka_unit_test(a_reconnect_follows_the_printed_waits_and_starts_over_after_success),
        cmocka_unit_test(the_first_reconnect_delay_scales_the_others),
        cmocka_unit_test(zero_attempts_means_for_ever_and_n_means_n),
        cmocka_unit_test(ten_failures_raise_one_alert_and_success_clears_it),
        cmocka_unit_test(a_permanent_failure_stops_a_poll_at_once_but_not_a_reconnect),
        cmocka_unit_test(expired_credentials_are_refreshed_once_without_costing_an_attempt),
        cmocka_unit_test(retry_after_is_a_floor_with_a_cap),
        cmocka_unit_test(jitter_stays_within_a_fifth_and_above_retry_after),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
