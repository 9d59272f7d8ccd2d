/* SPDX-License-Identifier: Apache-2.0
 *
 * How a stream comes back to a provider that failed: proofs, pauses and dwell times. */
#include "failover_bench.h"

#include <string.h>

/* Works at `b` from 0 on because `a`, which is preferred, broke three times; `a` is half-open. */
static void leave_a_for_b(int *a, int *b, struct failover_offer *offer)
{
    *a = add("a", BLOCK, BLOCK, 0);
    *b = add("b", BLOCK, BLOCK, 1);
    *offer = offer_of(BLOCK, 0, *a);
    struct failover_pick pick = choose(&stream, *offer, 0);
    for (int i = 0; i < 3; i++)
        let_fail(&stream, &pick, 0);
    pick = choose(&stream, *offer, 0);
    assert_int_equal(pick.provider, *b);
    failover_succeeded(&stream, &pick, 1000, 0);
    *offer = offer_of(BLOCK, 0, *b);
}

static void a_stream_returns_to_the_preferred_provider_after_probe_and_dwell(void **state)
{
    (void)state;
    int a, b;
    struct failover_offer offer;
    leave_a_for_b(&a, &b, &offer);
    /* Nobody has proved it: the dwell time alone is not enough. */
    assert_int_equal(choose(&stream, offer, 6 * MINUTE).provider, b);
    struct provider_ticket ticket;
    assert_int_equal(failover_probe_next(&group, 20 * SECOND, &ticket), PROVIDER_NONE);
    assert_int_equal(failover_probe_next(&group, 30 * SECOND, &ticket), a);
    assert_int_equal(failover_probe_next(&group, 30 * SECOND, &ticket), PROVIDER_NONE);
    provider_succeeded(&group.providers[a], ticket, 1000, 31 * SECOND);
    /* Proved: but the stream has just moved. */
    assert_int_equal(choose(&stream, offer, 31 * SECOND).provider, b);
    assert_int_equal(choose(&stream, offer, 5 * MINUTE - 1).provider, b);
    struct failover_pick pick = choose(&stream, offer, 5 * MINUTE);
    assert_int_equal(pick.provider, a);
    assert_true(pick.crossed);
    assert_int_equal(choose(&stream, offer, 5 * MINUTE).provider, a);
    assert_int_equal(group.switches, 2);
    assert_string_equal(failover_history(&group, 0)->reason, "a is preferred and works again");
    assert_int_equal(failover_history(&group, 1)->to, b);
}

static void a_single_failure_too_must_be_followed_by_a_proof(void **state)
{
    (void)state;
    int a = add("a", BLOCK, BLOCK, 0), b = add("b", BLOCK, BLOCK, 1);
    struct failover_offer offer = offer_of(BLOCK, 0, PROVIDER_NONE);
    struct failover_pick pick = choose(&stream, offer, 0);
    let_fail(&stream, &pick, 0);
    assert_int_equal(choose(&stream, offer, 0).provider, b);
    assert_int_equal(choose(&stream, offer, 10 * MINUTE).provider, b);
    struct provider_ticket ticket;
    assert_int_equal(failover_probe_next(&group, 10 * MINUTE, &ticket), a);
    provider_failed(&group.providers[a], ticket, &broken, 10 * MINUTE);
    assert_int_equal(choose(&stream, offer, 10 * MINUTE).provider, b);
    assert_int_equal(failover_probe_next(&group, 11 * MINUTE, &ticket), a);
    provider_succeeded(&group.providers[a], ticket, 5, 11 * MINUTE);
    assert_int_equal(choose(&stream, offer, 11 * MINUTE).provider, a);
}

/* Its caller knows how long ago it failed. */
static void who_is_wanted_back_is_tried_without_a_proof(void **state)
{
    (void)state;
    int a = add("a", BLOCK, BLOCK, 0), b = add("b", BLOCK, BLOCK, 1);
    struct failover_offer offer = offer_of(BLOCK, 0, a);
    struct failover_pick pick = choose(&stream, offer, 0);
    for (int i = 0; i < 3; i++) {
        pick.ticket = provider_ticket(&group.providers[a]); /* one after the other */
        let_fail(&stream, &pick, 0);
    }
    offer.wanted = 1U << a;
    assert_int_equal(choose(&stream, offer, 0).provider, b);
    assert_int_equal(choose(&stream, offer, 29 * SECOND).provider, b); /* its circuit is open */
    pick = choose(&stream, offer, 30 * SECOND);
    assert_int_equal(pick.provider, a);
    assert_int_not_equal(pick.ticket.probe, 0);
    assert_string_equal(failover_history(&group, 0)->reason, "a is preferred and is tried again");
    let_fail(&stream, &pick, 30 * SECOND);
    assert_int_equal(choose(&stream, offer, 30 * SECOND).provider, b);
}

static void a_resumed_stream_begins_with_a_better_provider_that_is_wanted(void **state)
{
    (void)state;
    int a = add("a", BLOCK, BLOCK, 0), b = add("b", BLOCK, BLOCK, 1);
    struct failover_offer offer = offer_of(BLOCK, 0, b);
    struct failover_stream other;
    failover_stream_init(&other, &group, "ethereum/token");
    assert_int_equal(choose(&other, offer, 0).provider, b);
    offer.wanted = 1U << a;
    assert_true(choose(&stream, offer, 0).crossed);
    assert_int_equal(stream.current, a);
    assert_int_equal(choose(&stream, offer, 0).provider, a);
}

static void who_would_begin_anew_is_not_returned_to(void **state)
{
    (void)state;
    int a = add("a", BLOCK, BLOCK, 0), b = add("b", BLOCK, BLOCK, 1);
    struct failover_offer offer = offer_of(BLOCK, 0, b);
    offer.wanted = offer.avoided = 1U << a;
    assert_int_equal(choose(&stream, offer, 0).provider, b);
    struct failover_pick pick = choose(&stream, offer, 10 * MINUTE);
    assert_int_equal(pick.provider, b);
    let_fail(&stream, &pick, 10 * MINUTE);
    assert_int_equal(choose(&stream, offer, 10 * MINUTE).provider, a);
}

static void equal_priority_is_no_reason_to_move(void **state)
{
    (void)state;
    int a = add("a", BLOCK, BLOCK, 0);
    add("b", BLOCK, BLOCK, 0);
    struct failover_offer offer = offer_of(BLOCK, 0, PROVIDER_NONE);
    for (int64_t i = 0; i < 100; i++) {
        struct failover_pick pick = choose(&stream, offer, i * MINUTE);
        assert_int_equal(pick.provider, a);
        failover_succeeded(&stream, &pick, 1000000, i * MINUTE);
    }
    assert_int_equal(group.switches, 0);
}

static void only_one_of_two_streams_gets_the_probe(void **state)
{
    (void)state;
    int a = add("a", BLOCK, BLOCK, 0);
    struct failover_stream other;
    failover_stream_init(&other, &group, "ethereum/token");
    struct failover_offer offer = offer_of(BLOCK, 0, a);
    struct failover_pick pick = choose(&stream, offer, 0), second;
    for (int i = 0; i < 3; i++) {
        pick.ticket = provider_ticket(&group.providers[a]); /* one after the other */
        let_fail(&stream, &pick, 0);
    }
    struct err err;
    assert_int_equal(failover_choose(&other, &offer, 0, &second, &err), RC_RETRY);
    assert_non_null(strstr(err.text, "a: circuit open for 30 s after: HTTP 503"));
    assert_int_equal(second.at_us, 30 * SECOND);
    pick = choose(&stream, offer, 30 * SECOND);
    assert_int_not_equal(pick.ticket.probe, 0);
    assert_int_equal(failover_choose(&other, &offer, 30 * SECOND, &second, &err), RC_RETRY);
    assert_non_null(strstr(err.text, "a: being probed after: HTTP 503"));
    assert_int_equal(second.at_us, 90 * SECOND);
    failover_abandoned(&stream, &pick);
    pick = choose(&other, offer, 31 * SECOND);
    failover_succeeded(&other, &pick, 10, 32 * SECOND);
    assert_int_equal(choose(&stream, offer, 32 * SECOND).ticket.probe, 0);
    assert_int_equal(choose(&other, offer, 32 * SECOND).ticket.probe, 0);
}

static void a_short_pause_is_waited_out_and_a_long_one_is_not(void **state)
{
    (void)state;
    int a = add("a", BLOCK, BLOCK, 0), b = add("b", BLOCK, BLOCK, 1);
    struct failover_offer offer = offer_of(BLOCK, 0, PROVIDER_NONE);
    struct provider_failure limited = {RETRY_RATE_LIMITED, 5 * SECOND, "HTTP 429"};
    struct failover_pick pick = choose(&stream, offer, 0);
    failover_failed(&stream, &pick, &limited, 0, RETRY_CENTRE);
    pick = choose(&stream, offer, 0);
    assert_int_equal(pick.provider, a);
    assert_int_equal(pick.at_us, 5 * SECOND);
    limited.retry_after_us = 6 * SECOND;
    failover_failed(&stream, &pick, &limited, 5 * SECOND, RETRY_CENTRE);
    pick = choose(&stream, offer, 5 * SECOND);
    assert_int_equal(pick.provider, b);
    assert_int_equal(pick.at_us, 5 * SECOND);
    assert_string_equal(failover_history(&group, 0)->reason, "pauses for 6 s: HTTP 429");
    /* A limit is no illness: its end is proof enough. */
    assert_int_equal(choose(&stream, offer, 6 * MINUTE).provider, a);
}

static void a_permanent_failure_is_checked_again_a_day_later(void **state)
{
    (void)state;
    int a = add("a", BLOCK, BLOCK, 0);
    struct failover_offer offer = offer_of(BLOCK, 0, a);
    struct provider_failure gone = {RETRY_PERMANENT, -1, "HTTP 404"};
    struct failover_pick pick = choose(&stream, offer, 0);
    failover_failed(&stream, &pick, &gone, 0, RETRY_CENTRE);
    assert_int_equal(failover_choose(&stream, &offer, 0, &pick, NULL), RC_RETRY);
    assert_int_equal(pick.at_us, 1440 * MINUTE);
    struct failover_stream other;
    failover_stream_init(&other, &group, "another account");
    assert_int_equal(choose(&other, offer, 0).provider, a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_GROUP(a_stream_returns_to_the_preferred_provider_after_probe_and_dwell),
        ON_GROUP(a_single_failure_too_must_be_followed_by_a_proof),
        ON_GROUP(who_is_wanted_back_is_tried_without_a_proof),
        ON_GROUP(a_resumed_stream_begins_with_a_better_provider_that_is_wanted),
        ON_GROUP(who_would_begin_anew_is_not_returned_to),
        ON_GROUP(equal_priority_is_no_reason_to_move),
        ON_GROUP(only_one_of_two_streams_gets_the_probe),
        ON_GROUP(a_short_pause_is_waited_out_and_a_long_one_is_not),
        ON_GROUP(a_permanent_failure_is_checked_again_a_day_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
