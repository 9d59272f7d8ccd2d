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
    ledger_desk_expect_complete(desk);
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
        ledger_desk_fault(desk, 0, FAULT_EMPTY, 2, 3);
        desk->batches_max = kill;
        ledger_desk_run(desk);
        desk->batches_max = 0;
        ledger_desk_mine(desk, 300, 4);
        ledger_desk_expect_complete(desk);
        ledger_desk_free(desk);
    }
    struct ledger_desk *desk = ledger_desk_new("fall", 1, 45); /* there is nobody else */
    ledger_desk_fault(desk, 0, FAULT_EMPTY, 2, 0);
    assert_int_equal(ledger_desk_requests(desk, LEDGER_COMPLETE), 4); /* it says so twice */
    assert_int_equal(desk->row_count, 20);
    ledger_desk_free(desk);
}

/* One empty page of the only provider, where it had said that there are more rows, is a slip. */
static void an_empty_page_is_asked_for_again_before_it_is_the_end(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("fall", 1, 45);
    ledger_desk_fault(desk, 0, FAULT_EMPTY, 2, 3);
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
        ledger_desk_expect_complete(desk);
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

/* The only one to be asked does not show a row and counts it: that is no word about the row. */
static void what_is_counted_and_not_shown_is_not_gone(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("counted", 1, 24);
    assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
    desk->chain[22] = desk->chain[23]; /* of the last block one is left out ... */
    desk->count = 23;
    desk->claimed = 1;
    assert_int_equal(ledger_desk_run(desk), LEDGER_INCOMPLETE);
    assert_int_equal(ledger_desk_orphans(desk), 0);
    desk->claimed = 0; /* ... and then it is counted no more */
    assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
    assert_int_equal(ledger_desk_orphans(desk), 1);
    ledger_desk_free(desk);
}

/* Runs an import during which a row comes: on top, or below what was read already. */
static enum ledger_outcome run_growing(struct ledger_desk *desk, int64_t block)
{
    size_t before = desk->answered;
    ledger_desk_begin(desk);
    while (desk->answered < before + 2)
        assert_true(ledger_desk_step(desk));
    ledger_desk_mine(desk, block, 1);
    struct desk_event late = desk->chain[desk->count - 1];
    size_t at = desk->count - 1;
    for (; at > 0 && desk->chain[at - 1].block > block; at--)
        desk->chain[at] = desk->chain[at - 1];
    desk->chain[at] = late;
    return ledger_desk_finish(desk);
}

/* What comes after the newest row of a sweep was shown is the next one's business: who has rows all
 * the time is complete some time. */
static void a_row_that_comes_during_a_sweep_is_not_missed_by_it(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("counted", 1, 45);
    assert_int_equal(run_growing(desk, 200), LEDGER_COMPLETE);
    assert_int_equal(desk->row_count, 45);
    assert_int_equal(ledger_desk_requests(desk, LEDGER_COMPLETE), 1);
    ledger_desk_expect_truth(desk);
    ledger_desk_free(desk);
    desk = ledger_desk_new("counted", 1, 45); /* also when the sweep is one that goes on */
    desk->store_last = false;
    desk->batches_max = 3;
    assert_int_equal(ledger_desk_run(desk), LEDGER_UNDECIDED);
    desk->batches_max = 0;
    ledger_desk_mine(desk, 190, 15);
    assert_int_equal(run_growing(desk, 200), LEDGER_COMPLETE);
    ledger_desk_expect_complete(desk);
    ledger_desk_free(desk);
}

/* ... but a row that came where nobody looked is counted by the next one, and looked for. */
static void a_row_that_came_below_a_sweep_is_found_by_the_next(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("counted", 1, 45); /* blocks 100 to 114 */
    assert_int_equal(run_growing(desk, 112), LEDGER_COMPLETE);
    assert_int_equal(desk->row_count, 45);
    ledger_desk_expect_complete(desk);
    assert_int_equal(ledger_desk_requests(desk, LEDGER_COMPLETE), 1);
    ledger_desk_free(desk);
}

/* (I7) It was given, and is kept with the reason: nobody waits for it. */
static void a_record_that_cannot_be_read_is_not_missing(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("counted", 1, 45);
    desk->chain[30].block = INT64_MAX;
    assert_int_equal(ledger_desk_requests(desk, LEDGER_COMPLETE), 5);
    assert_int_equal(desk->row_count, 44);
    assert_int_equal(desk->quarantined, 1);
    assert_int_equal(ledger_desk_requests(desk, LEDGER_COMPLETE), 1);
    ledger_desk_mine(desk, 200, 1);
    assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
    assert_int_equal(desk->row_count, 45);
    ledger_desk_free(desk);
    desk =
        ledger_desk_new("counted", 1, 45); /* it does not stand for another, though it came twice */
    desk->chain[30].block = INT64_MAX;
    desk->claimed = 1;
    ledger_desk_fault(desk, 0, FAULT_TOKEN, 3, 4);
    assert_int_equal(ledger_desk_run(desk), LEDGER_INCOMPLETE);
    assert_int_equal(desk->quarantined, 2);
    ledger_desk_free(desk);
}

/* Where the count is a request of its own, it is the first one of a first import, and the only one
 * when all came. */
static void how_much_there_is_is_asked_before_it_is_read(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("summed", 1, 25);
    assert_int_equal(ledger_desk_requests(desk, LEDGER_COMPLETE), 1 + 3);
    assert_non_null(strstr(ledger_desk_url(desk, 3), "/sum"));
    assert_int_equal(ledger_desk_requests(desk, LEDGER_COMPLETE), 1);
    ledger_desk_mine(desk, 200, 1);
    assert_int_equal(ledger_desk_requests(desk, LEDGER_COMPLETE), 1 + 1);
    assert_non_null(strstr(ledger_desk_url(desk, 0), "/sum"));
    ledger_desk_expect_truth(desk);
    ledger_desk_free(desk);
    for (int less = 0; less < 2; less++) { /* more was counted: is it less by now? */
        desk = ledger_desk_new("summed", 1, 25);
        desk->claimed = 2;
        ledger_desk_begin(desk);
        while (desk->answered == 0)
            assert_true(ledger_desk_step(desk));
        desk->claimed = less > 0 ? 0 : 2;
        assert_int_equal(ledger_desk_finish(desk), less > 0 ? LEDGER_COMPLETE : LEDGER_INCOMPLETE);
        assert_int_equal(desk->row_count, 25);
        assert_int_equal(desk->http.sent_count, 1 + 3 + 1);
        ledger_desk_free(desk);
    }
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
    ledger_desk_expect_complete(desk); /* nothing was marked, the new rows came */
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
    ledger_desk_expect_complete(desk);
    assert_int_equal(ledger_desk_orphans(desk), 3);
    ledger_desk_free(desk);
}

/* A sweep was interrupted, and when it goes on the newest rows that it had stored are gone; they
 * are out of reach of any later import, for the chain has grown. */
static void what_was_replaced_while_a_sweep_was_interrupted_is_marked(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("settled", 1, 60); /* blocks 100 to 119 */
    desk->store_last = false;
    desk->batches_max = 3; /* the session, and two pages */
    assert_int_equal(ledger_desk_run(desk), LEDGER_UNDECIDED);
    assert_int_equal(desk->row_count, 20);
    desk->batches_max = 0;
    for (size_t i = 54; i < 60; i++) /* of blocks 118 and 119 */
        desk->chain[i].number = (unsigned)(500 + i);
    for (unsigned i = 0; i < 20; i++)
        ledger_desk_mine(desk, 150 + i, 1);
    size_t first = desk->http.sent_count;
    assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
    assert_non_null(strstr(desk->http.sent[first].url, "token="));
    assert_int_equal(ledger_desk_orphans(desk), 6);
    ledger_desk_expect_truth(desk);
    ledger_desk_free(desk);
}

/* Rows of an interrupted sweep are gone; the next one, from the newest row on, has passed their
 * place when it is interrupted, too: it alone knew that they did not come. */
static void what_an_interrupted_sweep_did_not_meet_is_looked_for_again(void **state)
{
    (void)state;
    for (unsigned kills = 1; kills < 4; kills++) { /* after each page, or after several */
        struct ledger_desk *desk = ledger_desk_new("fall", 1, 60);
        desk->store_last = false;
        desk->batches_max = 3;
        assert_int_equal(ledger_desk_run(desk), LEDGER_UNDECIDED);
        for (size_t i = 54; i < 60; i++)
            desk->chain[i].number = (unsigned)(500 + i);
        for (unsigned i = 0; i < 20; i++)
            ledger_desk_mine(desk, 150 + i, 1);
        /* It cannot go on where it was. */
        ledger_desk_fault(desk, 0, FAULT_TOKEN, desk->asked[0], desk->asked[0] + 1);
        for (unsigned i = 0; i < kills; i++) {
            desk->batches_max = desk->batches + 1 + 4 - kills; /* the session, and some pages */
            assert_int_equal(ledger_desk_run(desk), LEDGER_UNDECIDED);
        }
        desk->batches_max = 0;
        assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
        assert_int_equal(ledger_desk_orphans(desk), 6);
        ledger_desk_expect_truth(desk);
        ledger_desk_free(desk);
    }
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

/* A row that waits comes where all was complete: what is complete does not move back, but the row
 * is looked at until it is settled, also when that is interrupted. */
static void a_row_that_waits_far_below_the_mark_is_read_again(void **state)
{
    (void)state;
    for (unsigned kill = 0; kill < 6; kill++) {
        struct ledger_desk *desk = ledger_desk_new("counted", 1, 45);
        struct desk_event *late = &desk->chain[12], kept = *late;
        memmove(late, late + 1, (desk->count - 13) * sizeof *late);
        desk->count--;
        assert_int_equal(ledger_desk_requests(desk, LEDGER_COMPLETE), 5);
        memmove(late + 1, late, (desk->count - 12) * sizeof *late);
        *late = kept;
        late->waits = true;
        desk->count++;
        ledger_desk_expect_complete(desk);
        ledger_desk_mine(desk, 200, 15);
        ledger_desk_expect_complete(desk);
        late->waits = false;
        desk->batches_max = kill == 0 ? 0 : desk->batches + kill;
        ledger_desk_run(desk);
        desk->batches_max = 0;
        assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
        ledger_desk_expect_truth(desk);
        for (size_t i = 0; i < desk->row_count; i++)
            assert_string_equal(desk->rows[i].status, "confirmed");
        ledger_desk_run(desk);
        assert_in_range(ledger_desk_requests(desk, LEDGER_COMPLETE), 1, 2);
        ledger_desk_free(desk);
    }
}

/* The one who had shown rows is gone, and the next one says that there are none. */
static void what_another_has_shown_in_this_run_is_not_denied_by_one(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("fall", 2, 45);
    ledger_desk_fault(desk, 0, FAULT_DEAD, 1, 0);
    desk->faults[1] = FAULT_EMPTY;
    assert_int_equal(ledger_desk_run(desk), LEDGER_INCOMPLETE);
    desk->faults[0] = desk->faults[1] = FAULT_NONE;
    ledger_desk_expect_complete(desk);
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
    ledger_desk_fault(desk, 0, FAULT_DEAD, desk->asked[0], desk->asked[0] + 1); /* once */
    desk->faults[1] = FAULT_EMPTY;
    ledger_desk_expect_complete(desk);
    ledger_desk_free(desk);
}

/* What is covered is complete: nothing is, while the end of a sweep is doubted. */
static void an_end_that_is_doubted_covers_nothing(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("fall", 2, 45);
    ledger_desk_fault(desk, 0, FAULT_EMPTY, 2, 0);
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
        cmocka_unit_test(what_is_counted_and_not_shown_is_not_gone),
        cmocka_unit_test(a_row_that_comes_during_a_sweep_is_not_missed_by_it),
        cmocka_unit_test(a_row_that_came_below_a_sweep_is_found_by_the_next),
        cmocka_unit_test(a_record_that_cannot_be_read_is_not_missing),
        cmocka_unit_test(how_much_there_is_is_asked_before_it_is_read),
        cmocka_unit_test(what_only_one_of_two_denies_is_not_gone),
        cmocka_unit_test(an_empty_answer_where_rows_are_known_is_checked_with_another),
        cmocka_unit_test(rows_that_a_reorg_took_are_marked_when_two_agree),
        cmocka_unit_test(what_was_replaced_while_a_sweep_was_interrupted_is_marked),
        cmocka_unit_test(what_an_interrupted_sweep_did_not_meet_is_looked_for_again),
        cmocka_unit_test(a_row_that_waits_at_its_place_is_read_again),
        cmocka_unit_test(a_row_that_waits_far_below_the_mark_is_read_again),
        cmocka_unit_test(what_another_has_shown_in_this_run_is_not_denied_by_one),
        cmocka_unit_test(an_empty_page_does_not_end_the_sweep_of_another),
        cmocka_unit_test(an_end_that_is_doubted_covers_nothing),
    };
    return ledger_desk_run_tests(tests, sizeof tests / sizeof tests[0]);
}
