/* SPDX-License-Identifier: Apache-2.0
 *
 * A history that another provider had to go on with comes back to the better one. */
#include "ledger_desk.h"

#include <string.h>

#define MINUTE (60000 * DESK_MS)

/* Complete, with its last pages from beta, since alpha failed; alpha is well again. */
static struct ledger_desk *complete_at_beta(const char *order, enum desk_fault fault)
{
    struct ledger_desk *desk = ledger_desk_new(order, 2, 95);
    ledger_desk_fault(desk, 0, fault, 2, 0);
    ledger_desk_expect_complete(desk);
    assert_non_null(strstr(desk->cursor, "\"providerName\":\"beta\""));
    ledger_desk_fault(desk, 0, FAULT_NONE, 0, 0);
    return desk;
}

static void expect_asked(struct ledger_desk *desk, unsigned alpha, unsigned beta)
{
    unsigned before[2] = {desk->asked[0], desk->asked[1]};
    ledger_desk_expect_complete(desk);
    assert_int_equal(desk->asked[0] - before[0], alpha);
    assert_int_equal(desk->asked[1] - before[1], beta);
}

/* The last row stands in block 131: once two blocks before it, and then from there on. R003-41 */
static void the_next_import_is_the_better_providers_again(void **state)
{
    (void)state;
    struct ledger_desk *desk = complete_at_beta("rise", FAULT_DEAD);
    http_desk_pass(&desk->http, 6 * MINUTE);
    ledger_desk_restart(desk, "rise", 2);
    ledger_desk_mine(desk, 140, 1);
    expect_asked(desk, 1, 0);
    assert_non_null(strstr(ledger_desk_url(desk, 0), "//alpha.example/rise?account=me&from=129"));
    assert_non_null(strstr(desk->cursor, "\"providerName\":\"alpha\""));
    expect_asked(desk, 1, 0);
    assert_non_null(strstr(ledger_desk_url(desk, 0), "from=140"));
    ledger_desk_expect_once(desk);
    ledger_desk_free(desk);
}

/* The daemon, too, which has seen it fail, and nobody has seen it work since. */
static void a_provider_that_was_seen_to_fail_is_tried_again(void **state)
{
    (void)state;
    struct ledger_desk *desk = complete_at_beta("rise", FAULT_DEAD);
    http_desk_pass(&desk->http, 6 * MINUTE);
    expect_asked(desk, 1, 0);
    /* It fails once more: one request is lost, and not one with every import. */
    ledger_desk_mine(desk, 140, 1);
    ledger_desk_fault(desk, 0, FAULT_DEAD, 0, 0);
    expect_asked(desk, 1, 1);
    expect_asked(desk, 0, 1);
    ledger_desk_free(desk);
}

static void who_has_just_failed_is_left_alone(void **state)
{
    (void)state;
    struct ledger_desk *desk = complete_at_beta("rise", FAULT_DEAD);
    ledger_desk_restart(desk, "rise", 2);
    expect_asked(desk, 0, 1);
    http_desk_pass(&desk->http, 6 * MINUTE);
    desk->http.clock.back_us = 365 * 24 * 60 * MINUTE; /* nothing is held for a year */
    expect_asked(desk, 1, 0);
    ledger_desk_free(desk);
}

/* It would refuse again, and every import would begin with that. */
static void who_refused_is_left_alone_for_a_day(void **state)
{
    (void)state;
    struct ledger_desk *desk = complete_at_beta("rise", FAULT_KEY);
    http_desk_pass(&desk->http, 60 * MINUTE);
    ledger_desk_restart(desk, "rise", 2);
    expect_asked(desk, 0, 1);
    http_desk_pass(&desk->http, 24 * 60 * MINUTE);
    ledger_desk_restart(desk, "rise", 2);
    expect_asked(desk, 1, 0);
    ledger_desk_free(desk);
}

/* Newest first there, oldest first here: what is complete is not read again. */
static void a_return_reads_no_more_than_what_is_new(void **state)
{
    (void)state;
    struct ledger_desk *desk = complete_at_beta("mixed", FAULT_DEAD);
    http_desk_pass(&desk->http, 6 * MINUTE);
    ledger_desk_restart(desk, "mixed", 2);
    ledger_desk_mine(desk, 140, 1);
    expect_asked(desk, 1, 0);
    ledger_desk_expect_once(desk);
    ledger_desk_free(desk);
}

/* Some minutes later, in the midst of a long one. */
static void a_long_import_comes_back_while_it_runs(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("rise", 2, 95);
    ledger_desk_fault(desk, 0, FAULT_DEAD, 2, 3);
    ledger_desk_begin(desk);
    while (desk->asked[1] < 3)
        assert_true(ledger_desk_step(desk));
    http_desk_pass(&desk->http, 6 * MINUTE);
    assert_int_equal(ledger_desk_finish(desk), LEDGER_COMPLETE);
    ledger_desk_expect_truth(desk);
    ledger_desk_expect_once(desk);
    assert_non_null(strstr(desk->cursor, "\"providerName\":\"alpha\""));
    ledger_desk_free(desk);
}

/* Elsewhere it would begin at its newest row again. */
static void a_sweep_that_was_interrupted_goes_on_where_it_was(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("fall", 2, 95);
    ledger_desk_fault(desk, 0, FAULT_DEAD, 0, 0);
    desk->batches_max = 2;
    ledger_desk_run(desk);
    desk->batches_max = 0;
    assert_non_null(strstr(desk->cursor, "\"providerName\":\"beta\""));
    ledger_desk_fault(desk, 0, FAULT_NONE, 0, 0);
    http_desk_pass(&desk->http, 6 * MINUTE);
    ledger_desk_restart(desk, "fall", 2);
    unsigned before = desk->asked[0];
    ledger_desk_expect_complete(desk);
    assert_int_equal(desk->asked[0], before);
    ledger_desk_expect_once(desk);
    ledger_desk_free(desk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_import_is_the_better_providers_again),
        cmocka_unit_test(a_provider_that_was_seen_to_fail_is_tried_again),
        cmocka_unit_test(who_has_just_failed_is_left_alone),
        cmocka_unit_test(who_refused_is_left_alone_for_a_day),
        cmocka_unit_test(a_return_reads_no_more_than_what_is_new),
        cmocka_unit_test(a_long_import_comes_back_while_it_runs),
        cmocka_unit_test(a_sweep_that_was_interrupted_goes_on_where_it_was),
    };
    return ledger_desk_run_tests(tests, sizeof tests / sizeof tests[0]);
}
