/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/provider.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SECOND INT64_C(1000000)

static const struct provider_failure broken = {RETRY_TRANSIENT, -1, "HTTP 503"};
static const struct provider_failure unknown = {RETRY_PERMANENT, -1, "HTTP 404"};
static const struct provider_failure refused = {RETRY_AUTH, -1, "HTTP 401"};
static const struct provider_failure limited = {RETRY_RATE_LIMITED, -1, "HTTP 429"};

static struct provider make(const char *name, int32_t priority)
{
    struct provider provider;
    struct provider_spec spec = {
        .name = name, .kinds = 3, .kind_preferred = 1, .priority = priority};
    provider_init(&provider, &spec, 0);
    return provider;
}

static void let_fail(struct provider *provider, const struct provider_failure *failure, int times,
                     int64_t now_us)
{
    for (int i = 0; i < times; i++)
        provider_failed(provider, provider_ticket(provider), failure, now_us);
}

static void a_circuit_opens_probes_and_closes(void **state)
{
    (void)state;
    struct provider p = make("a", 0);
    let_fail(&p, &broken, 2, 0);
    assert_int_equal(provider_circuit(&p, 0), CIRCUIT_CLOSED);
    provider_succeeded(&p, provider_ticket(&p), 10, 0);
    let_fail(&p, &broken, 2, 0);
    assert_int_equal(provider_circuit(&p, 0), CIRCUIT_CLOSED);
    let_fail(&p, &broken, 1, 0);
    assert_int_equal(provider_circuit(&p, 0), CIRCUIT_OPEN);
    assert_int_equal(provider_ready_us(&p, 0), 30 * SECOND);
    assert_int_equal(provider_circuit(&p, 30 * SECOND - 1), CIRCUIT_OPEN);
    assert_false(provider_probe_wanted(&p, 30 * SECOND - 1));
    assert_int_equal(provider_circuit(&p, 30 * SECOND), CIRCUIT_HALF_OPEN);
    struct provider_ticket probe = provider_probe_begin(&p, 30 * SECOND);
    provider_succeeded(&p, probe, 10, 31 * SECOND);
    assert_int_equal(provider_circuit(&p, 31 * SECOND), CIRCUIT_CLOSED);
    assert_int_equal(p.successes, 2);
    assert_int_equal(p.failures, 5);
    assert_string_equal(p.last_error, "HTTP 503");
    assert_int_equal(p.failed_us, 0);
    assert_string_equal(provider_circuit_name(CIRCUIT_HALF_OPEN), "half-open");
}

static void each_failed_probe_doubles_the_wait_up_to_ten_minutes(void **state)
{
    (void)state;
    const int64_t waits[] = {30, 60, 120, 240, 480, 600, 600, 600};
    struct provider p = make("a", 0);
    int64_t now_us = 5 * SECOND;
    let_fail(&p, &broken, 3, now_us);
    for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++) {
        assert_int_equal(provider_ready_us(&p, now_us) - now_us, waits[i] * SECOND);
        now_us = provider_ready_us(&p, now_us);
        struct provider_ticket probe = provider_probe_begin(&p, now_us);
        provider_failed(&p, probe, &broken, now_us);
    }
    now_us = provider_ready_us(&p, now_us);
    provider_succeeded(&p, provider_probe_begin(&p, now_us), 1, now_us);
    let_fail(&p, &broken, 3, now_us);
    assert_int_equal(provider_ready_us(&p, now_us) - now_us, 30 * SECOND);
}

static void one_probe_at_a_time_and_a_lost_one_is_given_up(void **state)
{
    (void)state;
    struct provider p = make("a", 0);
    let_fail(&p, &broken, 3, 0);
    struct provider_ticket first = provider_probe_begin(&p, 30 * SECOND);
    assert_false(provider_probe_wanted(&p, 30 * SECOND));
    assert_int_equal(provider_ready_us(&p, 30 * SECOND), 90 * SECOND);
    assert_false(provider_probe_wanted(&p, 90 * SECOND - 1));
    assert_true(provider_probe_wanted(&p, 90 * SECOND));
    struct provider_ticket second = provider_probe_begin(&p, 90 * SECOND);
    provider_succeeded(&p, first, 1, 91 * SECOND);
    assert_int_equal(provider_circuit(&p, 91 * SECOND), CIRCUIT_HALF_OPEN);
    provider_failed(&p, first, &broken, 91 * SECOND);
    assert_int_equal(provider_ready_us(&p, 91 * SECOND), 150 * SECOND);
    provider_abandoned(&p, second);
    assert_true(provider_probe_wanted(&p, 91 * SECOND));
}

static void an_answer_from_before_the_opening_does_not_close_it(void **state)
{
    (void)state;
    struct provider p = make("a", 0);
    struct provider_ticket old = provider_ticket(&p);
    let_fail(&p, &broken, 3, 0);
    provider_succeeded(&p, old, 1, SECOND);
    assert_int_equal(provider_circuit(&p, SECOND), CIRCUIT_OPEN);
    provider_failed(&p, old, &broken, 2 * SECOND);
    assert_int_equal(provider_ready_us(&p, 2 * SECOND), 30 * SECOND);
    provider_succeeded(&p, provider_probe_begin(&p, 30 * SECOND), 1, 30 * SECOND);
    for (int i = 0; i < 9; i++)
        provider_failed(&p, old, &broken, 31 * SECOND);
    assert_int_equal(provider_circuit(&p, 31 * SECOND), CIRCUIT_CLOSED);
    assert_int_equal(p.failures, 13);
}

static void requests_under_way_together_fail_once(void **state)
{
    (void)state;
    struct provider p = make("a", 0);
    for (int round = 1; round <= 3; round++) {
        struct provider_ticket tickets[4];
        assert_int_equal(provider_circuit(&p, 0), CIRCUIT_CLOSED);
        for (int i = 0; i < 4; i++)
            tickets[i] = provider_ticket(&p);
        for (int i = 0; i < 4; i++)
            provider_failed(&p, tickets[i], &broken, 0);
        assert_int_equal(p.failures_in_row, round);
    }
    assert_int_equal(provider_circuit(&p, 0), CIRCUIT_OPEN);
    assert_int_equal(p.failures, 12); /* people see them all */
}

static void permanent_answers_leave_the_circuit_alone_and_bad_keys_open_it(void **state)
{
    (void)state;
    struct provider p = make("a", 0);
    let_fail(&p, &unknown, 100, 0);
    assert_int_equal(provider_circuit(&p, 0), CIRCUIT_CLOSED);
    assert_int_equal(p.health, PROVIDER_HEALTH_FULL);
    assert_int_equal(p.failures, 100);
    let_fail(&p, &refused, 1, 0);
    assert_int_equal(provider_circuit(&p, 0), CIRCUIT_OPEN);
    /* A probe that is answered at all, but not well, proves nothing and lengthens nothing. */
    provider_failed(&p, provider_probe_begin(&p, 30 * SECOND), &unknown, 30 * SECOND);
    assert_int_equal(provider_ready_us(&p, 30 * SECOND), 60 * SECOND);
}

static void rate_limits_pause_the_bucket_and_not_the_circuit(void **state)
{
    (void)state;
    struct provider p = make("a", 0);
    int64_t now_us = 0;
    for (int64_t wait = 1; wait <= 64; wait *= 2) {
        let_fail(&p, &limited, 5, now_us);
        assert_int_equal(bucket_closed_until(&p.bucket, now_us) - now_us, wait * SECOND);
        now_us += wait * SECOND;
    }
    let_fail(&p, &limited, 1, now_us);
    assert_int_equal(bucket_closed_until(&p.bucket, now_us) - now_us, 64 * SECOND);
    assert_int_equal(provider_circuit(&p, now_us), CIRCUIT_CLOSED);
    assert_int_equal(p.limited, 36);
    now_us += 64 * SECOND;
    provider_succeeded(&p, provider_ticket(&p), 1, now_us);
    let_fail(&p, &limited, 1, now_us);
    assert_int_equal(bucket_closed_until(&p.bucket, now_us) - now_us, SECOND);
    struct provider_failure told = {RETRY_TRANSIENT, 90 * SECOND, "HTTP 503"};
    let_fail(&p, &told, 3, now_us);
    assert_int_equal(provider_ready_us(&p, now_us) - now_us, 90 * SECOND);
}

static void a_closed_circuit_whose_last_answer_failed_wants_a_probe(void **state)
{
    (void)state;
    struct provider p = make("a", 0);
    assert_false(provider_probe_wanted(&p, 100 * SECOND));
    let_fail(&p, &broken, 1, 0);
    struct provider_ticket ordinary = provider_ticket(&p);
    assert_false(provider_probe_wanted(&p, 30 * SECOND - 1));
    struct provider_ticket probe = provider_probe_begin(&p, 30 * SECOND);
    assert_false(provider_probe_wanted(&p, 30 * SECOND));
    provider_failed(&p, ordinary, &broken, 31 * SECOND);
    assert_int_equal(p.failures_in_row, 2);
    provider_succeeded(&p, probe, 1, 32 * SECOND);
    assert_int_equal(p.failures_in_row, 0);
    assert_false(provider_probe_wanted(&p, 100 * SECOND));
}

static void scoring_is_priority_then_health_then_latency(void **state)
{
    (void)state;
    struct provider a = make("a", 1), b = make("b", 2), c = make("c", 1);
    let_fail(&a, &broken, 2, 0);
    assert_true(provider_compare(&a, &b) < 0);
    assert_true(provider_compare(&b, &a) > 0);
    assert_true(provider_compare(&c, &a) < 0);
    for (int i = 0; i < 100; i++)
        provider_succeeded(&a, provider_ticket(&a), 500, 0);
    assert_int_equal(a.latency_us, 500);
    assert_true(provider_compare(&c, &a) < 0); /* never measured: gets its chance */
    provider_succeeded(&c, provider_ticket(&c), 1000, 0);
    assert_true(provider_compare(&a, &c) < 0);
    for (int i = 0; i < 40; i++)
        provider_succeeded(&c, provider_ticket(&c), 100, 0);
    assert_true(provider_compare(&c, &a) < 0);
    c.latency_us = a.latency_us;
    assert_int_equal(provider_compare(&c, &a), 0);
}

/* Else one that never answers would come first for ever. */
static void never_measured_comes_first_for_a_few_tries_and_then_last(void **state)
{
    (void)state;
    struct provider a = make("a", 0), b = make("b", 0);
    provider_succeeded(&b, provider_ticket(&b), 30 * SECOND, 0);
    for (int i = 0; i < PROVIDER_UNKNOWN_TRIES; i++) {
        assert_true(provider_compare(&a, &b) < 0);
        provider_abandoned(&a, provider_ticket(&a));
    }
    assert_true(provider_compare(&a, &b) > 0);
    provider_succeeded(&a, provider_ticket(&a), 1 * SECOND, 0);
    assert_true(provider_compare(&a, &b) < 0);
}

static void being_outrun_costs_health_and_nothing_else(void **state)
{
    (void)state;
    struct provider a = make("a", 0), b = make("b", 0);
    provider_outrun(&a, provider_ticket(&a), "too slow");
    assert_true(provider_compare(&a, &b) > 0);
    assert_string_equal(a.last_error, "too slow");
    for (int i = 0; i < 100; i++)
        provider_outrun(&a, provider_ticket(&a), "too slow");
    assert_int_equal(provider_circuit(&a, 0), CIRCUIT_CLOSED);
    assert_int_equal(a.failures, 0);
    assert_int_equal(a.failures_in_row, 0);
    for (int i = 0; i < 100; i++)
        provider_succeeded(&a, provider_ticket(&a), 1, 0);
    provider_succeeded(&b, provider_ticket(&b), 2, 0);
    assert_true(provider_compare(&a, &b) < 0);
}

static void the_last_proof_is_kept(void **state)
{
    (void)state;
    struct provider p = make("a", 0);
    assert_int_equal(p.proof.at_us, -1);
    provider_proved(&p, &(struct provider_proof){500, -1, 10});
    provider_proved(&p, &(struct provider_proof){400, -1, 9});
    assert_int_equal(p.proof.block, 500);
    provider_proved(&p, &(struct provider_proof){-1, 300, 11});
    assert_int_equal(p.proof.block, -1);
    assert_int_equal(p.proof.time_us, 300);
}

static void words_are_one_line_and_cut_between_characters(void **state)
{
    (void)state;
    char out[8];
    assert_int_equal(provider_words_copy(out, sizeof out, "a\nb\tc"), 5);
    assert_string_equal(out, "a b c");
    assert_int_equal(provider_words_copy(out, sizeof out, "seven_7"), 7);
    assert_int_equal(provider_words_copy(out, sizeof out, "eight__8"), 7);
    assert_int_equal(provider_words_copy(out, sizeof out, "sixsix\xc3\xa9"), 6);
    assert_string_equal(out, "sixsix");
    assert_int_equal(provider_words_copy(out, 1, "anything"), 0);
}

/* What a node says is shown on terminals, in logs and in JSON: nothing in it steers any of them,
 * ends the line or turns its direction. Words of all languages stay. */
static void words_steer_nothing(void **state)
{
    (void)state;
    static const char *const steering[] = {
        "\x1b",         "\x7f",         "\xc2\x80",     "\xc2\x9b",     "\xc2\x9f",
        "\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaa",
        "\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x81\xa9", "\xd8\x9c",
    };
    static const char *const harmless[] = {"\xc2\xa0",     "\xc3\xa9",     "\xe2\x80\xa6",
                                           "\xe2\x80\xaf", "\xe2\x82\xac", "\xd7\xa9",
                                           "\xe2\x81\xaa", "\xe2\x80\x8d"};
    char out[16], words[16];
    for (size_t i = 0; i < sizeof steering / sizeof steering[0]; i++) {
        snprintf(words, sizeof words, "a%sb", steering[i]);
        assert_int_equal(provider_words_copy(out, sizeof out, words), 3);
        assert_string_equal(out, "a b");
    }
    for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++) {
        snprintf(words, sizeof words, "a%sb", harmless[i]);
        assert_int_equal(provider_words_copy(out, sizeof out, words), strlen(words));
        assert_string_equal(out, words);
    }
    /* Nothing is looked for behind the cut, nor behind the end. */
    assert_int_equal(provider_words_copy(out, 4, "ab\xe2\x80\xae"), 2);
    assert_int_equal(provider_words_copy(out, 8, "ab\xe2\x80"), 4);
    assert_int_equal(provider_words_copy(out, 8, "ab\xc2"), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_circuit_opens_probes_and_closes),
        cmocka_unit_test(each_failed_probe_doubles_the_wait_up_to_ten_minutes),
        cmocka_unit_test(one_probe_at_a_time_and_a_lost_one_is_given_up),
        cmocka_unit_test(an_answer_from_before_the_opening_does_not_close_it),
        cmocka_unit_test(requests_under_way_together_fail_once),
        cmocka_unit_test(permanent_answers_leave_the_circuit_alone_and_bad_keys_open_it),
        cmocka_unit_test(rate_limits_pause_the_bucket_and_not_the_circuit),
        cmocka_unit_test(a_closed_circuit_whose_last_answer_failed_wants_a_probe),
        cmocka_unit_test(scoring_is_priority_then_health_then_latency),
        cmocka_unit_test(never_measured_comes_first_for_a_few_tries_and_then_last),
        cmocka_unit_test(being_outrun_costs_health_and_nothing_else),
        cmocka_unit_test(the_last_proof_is_kept),
        cmocka_unit_test(words_are_one_line_and_cut_between_characters),
        cmocka_unit_test(words_steer_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
