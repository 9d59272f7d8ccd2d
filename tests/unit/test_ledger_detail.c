/* SPDX-License-Identifier: Apache-2.0
 *
 * Records that need one more request each: what came of them is kept, whatever becomes of the
 * rest. */
#include "ledger_desk.h"

#include <stdio.h>
#include <string.h>

/* An import of which every so manyth request to the first provider fails. */
static enum ledger_outcome run_failing(struct ledger_desk *desk, enum desk_fault fault,
                                       unsigned nth)
{
    ledger_desk_begin(desk);
    for (unsigned idle = 0; !desk->over && idle < 5000;) {
        unsigned at = desk->asked[0] / nth * nth + nth - 1;
        ledger_desk_fault(desk, 0, fault, at, at + 1);
        if (ledger_desk_step(desk))
            continue;
        http_desk_pass(&desk->http, 500 * DESK_MS);
        idle++;
    }
    assert_true(desk->over);
    return ledger_desk_finish(desk);
}

static size_t count_asked(const struct ledger_desk *desk, const char *part)
{
    size_t asked = 0;
    for (size_t i = 0; i < desk->http.sent_count; i++)
        asked += strstr(desk->http.sent[i].url, part) != NULL;
    return asked;
}

/* How often the details of rows [from, to) were asked of a provider. */
static size_t count_details(const struct ledger_desk *desk, const char *provider, unsigned from,
                            unsigned to)
{
    size_t asked = 0;
    for (unsigned row = from; row < to; row++) {
        char url[64];
        snprintf(url, sizeof url, "//%s.example/one?key=h%u", provider, row);
        for (size_t i = 0; i < desk->http.sent_count; i++)
            asked += strstr(desk->http.sent[i].url, url) != NULL &&
                     strspn(strstr(desk->http.sent[i].url, url) + strlen(url), "0123456789") == 0;
    }
    return asked;
}

/* A page of which some detail always fails would never be read whole if it began anew each time. */
static void a_detail_that_fails_is_asked_for_again_and_nothing_else(void **state)
{
    (void)state;
    static const enum desk_fault faults[] = {FAULT_DEAD, FAULT_LIMITED};
    for (int i = 0; i < 2; i++) {
        struct ledger_desk *desk = ledger_desk_new("half", 1, 60);
        desk->page_rows = 60;
        assert_int_equal(run_failing(desk, faults[i], 8), LEDGER_COMPLETE);
        ledger_desk_expect_truth(desk);
        ledger_desk_expect_once(desk);
        for (size_t k = 0; k < desk->row_count; k++)
            assert_true(desk->rows[k].whole);
        assert_int_equal(count_asked(desk, "/fall?"), 1);
        assert_int_equal(desk->http.sent_count, 61 + 61 / 7);
        ledger_desk_free(desk);
    }
}

/* Who goes on knows what the one before has brought of a page, and asks only for the rest. */
static void what_came_of_a_page_is_stored_before_another_goes_on(void **state)
{
    (void)state;
    static const enum desk_fault faults[] = {FAULT_DEAD, FAULT_LIMITED, FAULT_GONE};
    for (int i = 0; i < 3; i++) {
        struct ledger_desk *desk = ledger_desk_new("half", 2, 30);
        ledger_desk_fault(desk, 0, faults[i], 7, 0); /* a page and six details */
        ledger_desk_expect_complete(desk);
        ledger_desk_expect_once(desk);
        assert_int_equal(count_details(desk, "beta", 24, 30), 0);
        assert_int_equal(count_details(desk, "beta", 0, 24), 24);
        ledger_desk_free(desk);
    }
}

/* R003-26: the next import does not ask for what came. */
static void who_is_stopped_among_details_stores_those_that_came(void **state)
{
    (void)state;
    for (unsigned after = 2; after < 24; after++) {
        struct ledger_desk *desk = ledger_desk_new("half", 1, 30);
        desk->stop_after = after;
        assert_int_equal(ledger_desk_run(desk), LEDGER_STOPPED);
        assert_string_equal(desk->session, "cancelled");
        size_t stored = after - count_asked(desk, "/fall?");
        assert_in_range(desk->row_count, stored, stored + 1); /* a page may be on its way */
        stored = desk->row_count;
        desk->stop_after = 0;
        size_t before = count_asked(desk, "/one?");
        ledger_desk_expect_complete(desk);
        ledger_desk_expect_once(desk);
        assert_int_equal(count_asked(desk, "/one?") - before, 30 - stored);
        ledger_desk_free(desk);
    }
}

static void what_came_is_stored_when_nobody_answers_any_more(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("half", 1, 30);
    ledger_desk_fault(desk, 0, FAULT_DEAD, 7, 0);
    assert_int_equal(ledger_desk_run(desk), LEDGER_INCOMPLETE);
    assert_non_null(strstr(desk->error, "alpha: HTTP 503"));
    assert_int_equal(desk->row_count, 6);
    assert_null(strstr(desk->cursor, "\"isComplete\":true"));
    desk->faults[0] = FAULT_NONE;
    http_desk_pass(&desk->http, 3600 * INT64_C(1000000));
    ledger_desk_expect_complete(desk);
    ledger_desk_expect_once(desk);
    assert_int_equal(count_details(desk, "alpha", 24, 30), 6);
    ledger_desk_free(desk);
}

/* (I2) The store refuses a page while details of the next one are asked for: those are not stored
 * without it. */
static void what_follows_a_page_that_was_not_stored_is_not_stored_either(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("half", 1, 30);
    desk->store_last = true;
    ledger_desk_begin(desk);
    while (desk->answered < 15) /* two pages, ten details of the first and three of the second */
        assert_true(ledger_desk_step(desk));
    assert_int_equal(desk->handed_count, 1);
    struct batch *refused = desk->handed[0];
    desk->handed_count = 0;
    refused->answered(refused->owner, refused, RC_FATAL);
    assert_int_equal(ledger_desk_finish(desk), LEDGER_INCOMPLETE);
    assert_int_equal(desk->row_count, 0);
    ledger_desk_expect_complete(desk);
    ledger_desk_expect_once(desk);
    ledger_desk_free(desk);
}

/* A node that has no old transactions owes one for every record of a page: more than a batch has
 * room for beside the rows. */
static void a_page_of_which_every_detail_is_owed_is_stored(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("half", 1, 505);
    desk->page_rows = 505;
    desk->unknown_detail = -2;
    ledger_desk_expect_complete(desk);
    assert_int_equal(desk->http.sent_count, 506);
    ledger_desk_free(desk);
}

/* A list of inputs and outputs names a transaction as often as it touches the account. */
static void what_a_page_names_several_times_is_asked_for_once(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("half", 1, 30); /* three rows in each block */
    desk->page_rows = 30;
    for (size_t i = 3; i < 6; i++) /* one after the other, and one between others */
        desk->chain[i].number = desk->chain[3].number;
    desk->chain[14].number = desk->chain[12].number;
    assert_int_equal(ledger_desk_requests(desk, LEDGER_COMPLETE), 1 + 27);
    assert_int_equal(desk->row_count, 27);
    ledger_desk_expect_once(desk);
    for (size_t i = 0; i < desk->row_count; i++)
        assert_true(desk->rows[i].whole);
    assert_int_equal(ledger_desk_requests(desk, LEDGER_COMPLETE), 1);
    ledger_desk_free(desk);
}

/* A sum over some of the outputs is no amount. */
static void a_detail_that_is_not_whole_is_owed(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("half", 1, 1);
    desk->unknown_detail = -3;
    ledger_desk_expect_complete(desk);
    assert_string_equal(desk->owed, "h0");
    assert_int_equal(desk->row_count, 1);
    assert_false(desk->rows[0].part);
    desk->unknown_detail = -1;
    ledger_desk_expect_complete(desk);
    assert_true(desk->rows[0].whole);
    assert_string_equal(desk->owed_state, "done");
    ledger_desk_free(desk);
}

/* Its list tells all there is. */
static void who_needs_no_details_pays_what_another_owes(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("partly", 2, 12);
    desk->unknown_detail = 5;
    ledger_desk_fault(desk, 0, FAULT_DEAD, 0, 0);
    ledger_desk_expect_complete(desk);
    assert_string_equal(desk->owed, "h5");
    assert_string_equal(desk->owed_state, "new");
    ledger_desk_fault(desk, 0, FAULT_NONE, 0, 0);
    http_desk_pass(&desk->http, 600000 * DESK_MS);
    unsigned asked = desk->asked[1];
    ledger_desk_expect_complete(desk);
    assert_int_equal(desk->asked[1], asked);
    assert_string_equal(desk->owed_state, "done");
    ledger_desk_free(desk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_detail_that_fails_is_asked_for_again_and_nothing_else),
        cmocka_unit_test(what_came_of_a_page_is_stored_before_another_goes_on),
        cmocka_unit_test(who_is_stopped_among_details_stores_those_that_came),
        cmocka_unit_test(what_came_is_stored_when_nobody_answers_any_more),
        cmocka_unit_test(what_follows_a_page_that_was_not_stored_is_not_stored_either),
        cmocka_unit_test(a_page_of_which_every_detail_is_owed_is_stored),
        cmocka_unit_test(what_a_page_names_several_times_is_asked_for_once),
        cmocka_unit_test(a_detail_that_is_not_whole_is_owed),
        cmocka_unit_test(who_needs_no_details_pays_what_another_owes),
    };
    return ledger_desk_run_tests(tests, sizeof tests / sizeof tests[0]);
}
