/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows at places that cannot be: one of them must not take the stream's position with it. */
#include "ledger_desk.h"

#include <string.h>

#define PAST_HEAD INT64_C(1000000000000)
#define NEVER_YET INT64_MAX

/* A row of no account's history, at `block`; the last one of the list. */
static void lie(struct ledger_desk *desk, int64_t block)
{
    ledger_desk_mine(desk, block, 1);
}

/* The liar is gone from the list, and rows come: all are there but the lie. */
static void expect_the_rest(struct ledger_desk *desk, const char *reason, int64_t block)
{
    assert_int_equal(desk->row_count, desk->count - 1);
    assert_int_equal(desk->quarantined, 1);
    assert_non_null(strstr(desk->reason, reason));
    desk->count--;
    desk->chain[desk->count].number = 0;
    ledger_desk_expect_truth(desk);
    ledger_desk_mine(desk, block, 25);
    ledger_desk_expect_complete(desk);
}

/* What no chain has counted to, where nobody tells how far it is. */
static void a_block_that_no_chain_has_is_no_position(void **state)
{
    (void)state;
    static const char *const orders[] = {"rise", "fall", "headed"};
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        struct ledger_desk *desk = ledger_desk_new(orders[i], 1, 25);
        desk->head = -1;
        lie(desk, NEVER_YET);
        assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
        expect_the_rest(desk, "block 9223372036854775807", 130);
        ledger_desk_free(desk);
    }
}

/* What the provider's own head does not reach. */
static void a_block_above_the_providers_head_is_no_position(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("headed", 1, 25);
    desk->head = 108;
    lie(desk, PAST_HEAD);
    assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
    expect_the_rest(desk, "beyond block 108", 130);
    ledger_desk_free(desk);
}

static void a_row_outside_of_every_range_is_no_position(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("span", 1, 25);
    desk->stray = PAST_HEAD;
    assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
    ledger_desk_expect_truth(desk);
    assert_true(desk->quarantined > 0);
    desk->stray = 0;
    ledger_desk_mine(desk, 130, 25);
    ledger_desk_expect_complete(desk);
    ledger_desk_free(desk);
}

/* The head is asked for where a page leads far up, and not with every page. */
static void a_history_far_up_is_read_with_one_look_at_the_head(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("headed", 1, 0);
    for (unsigned i = 0; i < 95; i++)
        ledger_desk_mine(desk, 400000000 + 100 * i, 1);
    desk->head = 400000000 + 100 * 94;
    size_t requests = ledger_desk_requests(desk, LEDGER_COMPLETE);
    ledger_desk_expect_truth(desk);
    assert_int_equal(desk->quarantined, 0);
    struct ledger_desk *plain = ledger_desk_new("rise", 1, 0);
    memcpy(plain->chain, desk->chain, sizeof plain->chain);
    plain->count = desk->count;
    assert_int_equal(requests, ledger_desk_requests(plain, LEDGER_COMPLETE) + 1);
    ledger_desk_mine(desk, 500000000, 25); /* the head moved since */
    desk->head = 500000000 - 3;
    ledger_desk_expect_complete(desk);
    ledger_desk_free(plain);
    ledger_desk_free(desk);
}

/* Who does not tell its head, or fails to for a while, is read all the same. */
static void a_head_that_is_not_told_stops_nobody(void **state)
{
    (void)state;
    static const enum desk_fault faults[] = {FAULT_GONE, FAULT_DEAD, FAULT_EMPTY, FAULT_KEY};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        struct ledger_desk *desk = ledger_desk_new("headed", 1, 0);
        ledger_desk_mine(desk, 400000000, 25);
        desk->head = 400000000;
        ledger_desk_fault(desk, 0, faults[i], 1, 2);
        ledger_desk_expect_complete(desk);
        assert_int_equal(desk->quarantined, 0);
        ledger_desk_free(desk);
    }
}

/* Positions that are times: tomorrow is far enough. */
static void a_time_to_come_is_no_position(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("timed", 1, 25);
    lie(desk, INT64_C(3) * 1000 * 1000 * 1000);
    assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
    expect_the_rest(desk, "lies ahead of", 130);
    ledger_desk_free(desk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_that_no_chain_has_is_no_position),
        cmocka_unit_test(a_block_above_the_providers_head_is_no_position),
        cmocka_unit_test(a_row_outside_of_every_range_is_no_position),
        cmocka_unit_test(a_history_far_up_is_read_with_one_look_at_the_head),
        cmocka_unit_test(a_head_that_is_not_told_stops_nobody),
        cmocka_unit_test(a_time_to_come_is_no_position),
    };
    return ledger_desk_run_tests(tests, sizeof tests / sizeof tests[0]);
}
