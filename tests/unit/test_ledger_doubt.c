/* SPDX-License-Identifier: Apache-2.0
 *
 * What an import does not believe: providers that deny, hide, lag and forget what is known. */
#include "ledger_desk.h"

#include <string.h>

static void nothing_at_all_is_believed_when_a_second_provider_agrees(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("rise", 2, 0);
    assert_int_equal(ledger_desk_requests(desk, LEDGER_COMPLETE), 2);
    assert_string_equal(desk->session, "completed");
    ledger_desk_free(desk);
    desk = ledger_desk_new("rise", 2, 12); /* the first one lies */
    desk->faults[0] = FAULT_EMPTY;
    assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
    ledger_desk_expect_truth(desk);
    ledger_desk_free(desk);
    desk = ledger_desk_new("rise", 1, 0); /* there is nobody else: R003-29 */
    assert_int_equal(ledger_desk_requests(desk, LEDGER_COMPLETE), 1);
    ledger_desk_mine(desk, 5, 3); /* and a later run finds what came */
    assert_int_equal(ledger_desk_requests(desk, LEDGER_COMPLETE), 1);
    ledger_desk_expect_truth(desk);
    ledger_desk_free(desk);
}

static void a_lone_provider_that_denies_known_rows_is_not_believed(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("rise", 1, 12);
    assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
    desk->faults[0] = FAULT_EMPTY;
    assert_int_equal(ledger_desk_run(desk), LEDGER_INCOMPLETE);
    assert_non_null(strstr(desk->error, "not believed"));
    ledger_desk_expect_truth(desk);
    ledger_desk_free(desk);
}

/* A sweep that ends with an empty page may have been cut off: another provider says whether. */
static void an_empty_page_after_a_full_one_is_checked_with_another(void **state)
{
    (void)state;
    for (unsigned kill = 0; kill < 9; kill++) {
        struct ledger_desk *desk = ledger_desk_new("fall", 2, 45);
        desk->faults[0] = FAULT_EMPTY;
        desk->fault_at[0] = 2;
        desk->fault_end[0] = 3;
        desk->batches_max = kill;
        ledger_desk_run(desk);
        desk->batches_max = 0;
        ledger_desk_mine(desk, 300, 4);
        assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
        ledger_desk_expect_truth(desk);
        ledger_desk_free(desk);
    }
    struct ledger_desk *desk = ledger_desk_new("fall", 1, 45); /* there is nobody else */
    desk->faults[0] = FAULT_EMPTY;
    desk->fault_at[0] = 2;
    assert_int_equal(ledger_desk_requests(desk, LEDGER_COMPLETE), 4); /* it says so twice */
    assert_int_equal(desk->row_count, 20);
    ledger_desk_free(desk);
}

/* One empty page of the only provider, where it had said that there are more rows, is a slip. */
static void an_empty_page_is_asked_for_again_before_it_is_the_end(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("fall", 1, 45);
    desk->faults[0] = FAULT_EMPTY;
    desk->fault_at[0] = 2;
    desk->fault_end[0] = 3;
    assert_int_equal(ledger_desk_requests(desk, LEDGER_COMPLETE), 6);
    ledger_desk_expect_truth(desk);
    ledger_desk_free(desk);
}

/* The only one to be asked is some blocks behind: what lies above is not gone. */
static void a_lone_provider_that_lags_takes_nothing_away(void **state)
{
    (void)state;
    for (int64_t head = -1; head <= 106; head += 107) {
        struct ledger_desk *desk = ledger_desk_new("headed", 1, 24);
        assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
        desk->count = 20; /* block 106 is shown in part, 107 not at all */
        desk->head = head;
        assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
        assert_int_equal(ledger_desk_orphans(desk), 1); /* of the block that is shown */
        desk->count = 24;
        assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
        ledger_desk_expect_truth(desk);
        ledger_desk_free(desk);
    }
}

/* A head above a row that does not come says that it is gone. */
static void what_a_lone_provider_looks_beyond_and_does_not_show_is_gone(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("headed", 1, 24);
    assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
    desk->count = 21;
    desk->head = 107;
    assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
    assert_int_equal(ledger_desk_orphans(desk), 3);
    ledger_desk_expect_truth(desk);
    ledger_desk_free(desk);
}

/* ... and so does a total: here of nothing, where one row was. */
static void what_is_neither_shown_nor_counted_is_gone(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("counted", 1, 1);
    assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
    desk->count = 0;
    assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
    assert_int_equal(ledger_desk_orphans(desk), 1);
    ledger_desk_free(desk);
}

/* Each of two does not show something else: nothing was said by two. */
static void what_only_one_of_two_denies_is_not_gone(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("rise", 2, 24);
    assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
    desk->hidden[0] = 22;
    desk->hidden[1] = 23;
    assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
    assert_int_equal(ledger_desk_orphans(desk), 0);
    ledger_desk_free(desk);
}

static void an_empty_answer_where_rows_are_known_is_checked_with_another(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("rise", 2, 12);
    assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
    desk->faults[0] = FAULT_EMPTY;
    ledger_desk_mine(desk, 400, 3);
    assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
    ledger_desk_expect_truth(desk); /* nothing was marked, the new rows came */
    ledger_desk_free(desk);
}

/* The last block was replaced by another; both providers say so. */
static void rows_that_a_reorg_took_are_marked_when_two_agree(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("rise", 2, 12);
    assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
    desk->count = 9;
    desk->chain[9] = (struct desk_event){.block = 103, .number = 500};
    desk->chain[10] = (struct desk_event){.block = 104, .number = 501};
    desk->count = 11;
    assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
    ledger_desk_expect_truth(desk);
    assert_int_equal(ledger_desk_orphans(desk), 3);
    ledger_desk_free(desk);
}

/* A row may have a place before it is settled: what came later does not hide it, also when the
 * first import was killed below it. */
static void a_row_that_waits_at_its_place_is_read_again(void **state)
{
    (void)state;
    for (unsigned kill = 0; kill < 4; kill++) {
        struct ledger_desk *desk = ledger_desk_new("timed", 1, 60);
        desk->chain[55].waits = true;
        desk->batches_max = kill;
        ledger_desk_run(desk);
        desk->batches_max = 0;
        assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
        ledger_desk_mine(desk, 300, 15);
        assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
        desk->chain[55].waits = false;
        assert_int_equal(ledger_desk_requests(desk, LEDGER_COMPLETE), 3);
        ledger_desk_expect_truth(desk);
        for (size_t i = 0; i < desk->row_count; i++)
            assert_string_equal(desk->rows[i].status, "confirmed");
        assert_int_equal(ledger_desk_requests(desk, LEDGER_COMPLETE),
                         2); /* its new rows are of one time */
        ledger_desk_free(desk);
    }
}

/* The one who had shown rows is gone, and the next one says that there are none. */
static void what_another_has_shown_in_this_run_is_not_denied_by_one(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("fall", 2, 45);
    desk->faults[0] = FAULT_DEAD;
    desk->fault_at[0] = 1;
    desk->faults[1] = FAULT_EMPTY;
    assert_int_equal(ledger_desk_run(desk), LEDGER_INCOMPLETE);
    desk->faults[0] = desk->faults[1] = FAULT_NONE;
    assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
    ledger_desk_expect_truth(desk);
    ledger_desk_free(desk);
}

/* I9: that a sweep was interrupted is not forgotten because of a page with nothing in it, even at a
 * provider that goes the other way. */
static void an_empty_page_does_not_end_the_sweep_of_another(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("mixed", 2, 45);
    desk->batches_max = 2; /* the session and a page */
    ledger_desk_run(desk);
    assert_int_equal(desk->row_count, 10);
    desk->batches_max = 0;
    desk->faults[0] = FAULT_DEAD; /* once */
    desk->fault_at[0] = desk->asked[0];
    desk->fault_end[0] = desk->asked[0] + 1;
    desk->faults[1] = FAULT_EMPTY;
    assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
    ledger_desk_expect_truth(desk);
    ledger_desk_free(desk);
}

/* What is covered is complete: nothing is, while the end of a sweep is doubted. */
static void an_end_that_is_doubted_covers_nothing(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("fall", 2, 45);
    desk->faults[0] = FAULT_EMPTY;
    desk->fault_at[0] = 2;
    desk->faults[1] = FAULT_DEAD;
    assert_int_equal(ledger_desk_run(desk), LEDGER_INCOMPLETE);
    assert_int_equal(desk->row_count, 20);
    assert_int_equal(desk->covered, 0);
    desk->faults[0] = desk->faults[1] = FAULT_NONE;
    assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
    assert_int_equal(desk->covered, desk->chain[44].block);
    ledger_desk_expect_truth(desk);
    ledger_desk_free(desk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_at_all_is_believed_when_a_second_provider_agrees),
        cmocka_unit_test(a_lone_provider_that_denies_known_rows_is_not_believed),
        cmocka_unit_test(an_empty_page_after_a_full_one_is_checked_with_another),
        cmocka_unit_test(an_empty_page_is_asked_for_again_before_it_is_the_end),
        cmocka_unit_test(a_lone_provider_that_lags_takes_nothing_away),
        cmocka_unit_test(what_a_lone_provider_looks_beyond_and_does_not_show_is_gone),
        cmocka_unit_test(what_is_neither_shown_nor_counted_is_gone),
        cmocka_unit_test(what_only_one_of_two_denies_is_not_gone),
        cmocka_unit_test(an_empty_answer_where_rows_are_known_is_checked_with_another),
        cmocka_unit_test(rows_that_a_reorg_took_are_marked_when_two_agree),
        cmocka_unit_test(a_row_that_waits_at_its_place_is_read_again),
        cmocka_unit_test(what_another_has_shown_in_this_run_is_not_denied_by_one),
        cmocka_unit_test(an_empty_page_does_not_end_the_sweep_of_another),
        cmocka_unit_test(an_end_that_is_doubted_covers_nothing),
    };
    return ledger_desk_run_tests(tests, sizeof tests / sizeof tests[0]);
}
