/* SPDX-License-Identifier: Apache-2.0
 *
 * Imports on a scripted machine: providers that die, lie and forget, programs that are killed, and
 * a chain that goes on meanwhile. Each defect that a comparable program had is a test here. */
#include "ledger_desk.h"

#include <string.h>

/* R003-21 R003-28 R003-31 R003-33 R003-57: also the last page that is exactly full (exitbook
 * 1.8.8). */
static void an_import_is_complete_and_the_next_one_asks_once(void **state)
{
    (void)state;
    static const char *const orders[] = {"rise", "fall"};
    for (int i = 0; i < 2; i++) {
        struct ledger_desk *desk = ledger_desk_new(orders[i], 1, 20);
        /* By number a full last page is followed by an empty one. */
        assert_int_equal(ledger_desk_requests(desk, LEDGER_COMPLETE), i == 0 ? 3 : 2);
        ledger_desk_expect_truth(desk);
        assert_string_equal(desk->session, "completed");
        assert_non_null(strstr(desk->cursor, "\"isComplete\":true"));
        assert_non_null(strstr(desk->cursor, "\"value\":106")); /* the empty page took nothing */
        assert_non_null(strstr(desk->cursor, "\"totalFetched\":20"));
        assert_int_equal(ledger_desk_requests(desk, LEDGER_COMPLETE), 1);
        assert_non_null(strstr(desk->cursor, "\"totalFetched\":20"));
        ledger_desk_expect_once(desk);
        ledger_desk_free(desk);
    }
}

/* Exitbook 1.8.1 and 1.8.2: the stored token leads to the oldest page, so nothing new is found.
 * R003-59 */
static void new_rows_of_a_newest_first_source_are_found(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("fall", 1, 60);
    assert_int_equal(ledger_desk_requests(desk, LEDGER_COMPLETE), 6);
    for (unsigned i = 0; i < 5; i++)
        ledger_desk_mine(desk, 200 + i, 1);
    assert_int_equal(ledger_desk_requests(desk, LEDGER_COMPLETE), 1);
    ledger_desk_expect_truth(desk);
    ledger_desk_free(desk);
}

/* Killed after any batch: what is missing is read, nothing is stored twice. R003-26 R003-47 */
static void a_killed_import_goes_on_where_it_was(void **state)
{
    (void)state;
    static const char *const orders[] = {"rise", "fall", "span"};
    for (unsigned kill = 1; kill < 21; kill++) {
        struct ledger_desk *desk = ledger_desk_new(orders[kill % 3], 1, 95);
        desk->batches_max = kill;
        ledger_desk_run(desk);
        desk->batches_max = 0;
        ledger_desk_mine(desk, 300, 4);
        ledger_desk_expect_complete(desk);
        ledger_desk_free(desk);
    }
}

/* What a node gives by ranges of blocks: up to its head and not beyond, empty ranges too, and the
 * next import asks for the head and what came since. */
static void ranges_go_up_to_the_head(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("span", 1, 20); /* blocks 100 to 106 */
    assert_int_equal(ledger_desk_requests(desk, LEDGER_COMPLETE),
                     12); /* the head, and 0 to 106 in tens */
    ledger_desk_expect_truth(desk);
    assert_non_null(strstr(desk->cursor, "\"value\":107"));
    assert_int_equal(ledger_desk_requests(desk, LEDGER_COMPLETE), 1); /* there is no new block */
    ledger_desk_mine(desk, 130, 1);
    assert_int_equal(ledger_desk_requests(desk, LEDGER_COMPLETE), 4);
    assert_non_null(strstr(ledger_desk_url(desk, 2), "from=107&to=116"));
    assert_non_null(strstr(ledger_desk_url(desk, 0), "from=127&to=130"));
    ledger_desk_expect_truth(desk);
    ledger_desk_expect_once(desk);
    ledger_desk_free(desk);
}

/* Nodes limit the rows of an answer: the range is halved until it fits. */
static void a_range_that_is_too_large_is_halved(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("span", 1, 95); /* three rows in each block */
    desk->rows_max = 4;
    ledger_desk_expect_complete(desk);
    desk->rows_max = 2; /* not even one block is shown */
    ledger_desk_mine(desk, 300, 3);
    assert_int_equal(ledger_desk_run(desk), LEDGER_INCOMPLETE);
    assert_non_null(strstr(desk->error, "too many rows"));
    ledger_desk_free(desk);
}

/* A node whose head lies below what is stored has nothing to say about it. */
static void a_node_that_is_behind_is_not_asked_for_ranges(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("span", 2, 20);
    assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
    ledger_desk_mine(desk, 108, 2);
    desk->behind[0] = 6;
    ledger_desk_expect_complete(desk);
    assert_non_null(strstr(desk->cursor, "\"providerName\":\"beta\""));
    ledger_desk_free(desk);
}

/* Exitbook 1.8.3: a provider that dies in mid-stream ended the import although others were well.
 * The next one's first request is the position less its window, and only the first. R003-38 R003-40
 * R003-41 R003-45 */
static void another_provider_goes_on_a_window_before_the_position_once(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("rise", 2, 95);
    /* Two pages: rows 0 to 19, the last one in block 106. */
    ledger_desk_fault(desk, 0, FAULT_DEAD, 2, 0);
    ledger_desk_expect_complete(desk);
    const char *first = NULL;
    unsigned rewound = 0;
    for (size_t i = 0; i < desk->http.sent_count; i++) {
        const char *url = desk->http.sent[i].url;
        if (strstr(url, "//beta.") == NULL)
            continue;
        first = first == NULL ? url : first;
        rewound += strstr(url, "from=104") != NULL && strstr(url, "page=1") != NULL;
    }
    assert_non_null(first);
    assert_non_null(strstr(first, "from=104&page=1"));
    assert_int_equal(rewound, 1);
    assert_non_null(strstr(desk->cursor, "\"providerName\":\"beta\""));
    ledger_desk_free(desk);
}

/* What a failing provider gave since the last complete import is not trusted: it left a row out.
 * R003-41 */
static void another_provider_goes_back_to_where_the_first_was_proved(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("rise", 2, 20);
    ledger_desk_expect_complete(desk);
    for (unsigned i = 0; i < 40; i++)
        ledger_desk_mine(desk, 200 + i, 1);
    desk->hidden[0] = 25;
    ledger_desk_fault(desk, 0, FAULT_DEAD, desk->asked[0] + 2, 0);
    ledger_desk_expect_complete(desk);
    assert_non_null(strstr(desk->cursor, "\"providerName\":\"beta\""));
    ledger_desk_expect_once(desk);
    ledger_desk_free(desk);
}

/* R003-32 */
static void batches_of_all_providers_have_one_form(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("rise", 2, 95);
    ledger_desk_fault(desk, 0, FAULT_DEAD, 2, 0);
    assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
    assert_true(desk->forms[0][0] != 0);
    assert_memory_equal(desk->forms[0], desk->forms[1], sizeof desk->forms[0]);
    ledger_desk_free(desk);
}

/* R003-43: one sentence names each provider's reason, and a later run goes on. */
static void when_all_fail_the_session_says_why_and_can_be_continued(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("rise", 2, 40);
    desk->faults[0] = desk->faults[1] = FAULT_DEAD;
    desk->fault_at[0] = 2;
    assert_int_equal(ledger_desk_run(desk), LEDGER_INCOMPLETE);
    assert_string_equal(desk->session, "failed");
    assert_string_equal(desk->error,
                        "moves: all providers failed: alpha: HTTP 503; beta: HTTP 503");
    assert_int_equal(desk->row_count, 19); /* two pages, of which the second begins in a block */
    desk->faults[0] = desk->faults[1] = FAULT_NONE;
    http_desk_pass(&desk->http, 3600 * INT64_C(1000000));
    ledger_desk_expect_complete(desk);
    ledger_desk_free(desk);
}

/* R003-43: each is asked once, for a key does not become good by waiting. */
static void a_key_that_all_refuse_ends_the_import_at_once(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("rise", 2, 5);
    desk->faults[0] = desk->faults[1] = FAULT_KEY;
    int64_t begun_us = desk->http.clock.mono_us;
    assert_int_equal(ledger_desk_requests(desk, LEDGER_UNAUTHORIZED), 2);
    assert_in_range(desk->http.clock.mono_us - begun_us, 0, 5000 * DESK_MS);
    assert_non_null(strstr(desk->error, "alpha: HTTP 401; beta: HTTP 401"));
    assert_non_null(strstr(desk->error, "providers.alpha.api_key or providers.beta.api_key"));
    ledger_desk_free(desk);
}

static void who_is_only_ill_is_waited_for_though_another_refuses_the_key(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("rise", 2, 25);
    desk->faults[0] = FAULT_KEY;
    desk->faults[1] = FAULT_DEAD;
    desk->fault_end[1] = 2;
    ledger_desk_expect_complete(desk);
    assert_int_equal(desk->asked[0], 1);
    ledger_desk_free(desk);
}

static void answers_of_another_make_are_not_asked_for_again(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("rise", 1, 5);
    desk->faults[0] = FAULT_SHAPE;
    assert_int_equal(ledger_desk_requests(desk, LEDGER_INCOMPLETE), 1);
    assert_non_null(strstr(desk->error, "every provider refuses: alpha: "));
    ledger_desk_free(desk);
}

static void a_rate_limit_inside_a_good_answer_is_waited_out(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("rise", 1, 25);
    ledger_desk_fault(desk, 0, FAULT_LIMITED, 1, 3);
    assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
    assert_true(desk->throttled); /* people are told what it waits for */
    ledger_desk_expect_truth(desk);
    ledger_desk_free(desk);
}

/* R003-42 */
static void an_answer_that_cannot_be_read_leads_to_the_next_provider(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("rise", 2, 25);
    desk->faults[0] = FAULT_GARBLED;
    ledger_desk_expect_complete(desk);
    assert_string_equal(desk->rows[0].provider, "beta");
    ledger_desk_free(desk);
}

static void no_number_is_too_long_to_be_read(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("rise", 1, 25);
    for (size_t i = 0; i < desk->count; i++)
        desk->chain[i].wide = true;
    ledger_desk_expect_complete(desk);
    ledger_desk_free(desk);
}

/* Also after an import of the rest, and one that was interrupted before. */
static void expect_nothing_taken_for_read(const char *order, unsigned killed_after)
{
    struct ledger_desk *desk = ledger_desk_new(order, 1, 60); /* blocks 100 to 119 */
    int64_t since = killed_after == 0 ? 130 : 115;
    desk->batches_max = killed_after;
    assert_int_equal(ledger_desk_run(desk), killed_after > 0 ? LEDGER_UNDECIDED : LEDGER_COMPLETE);
    if (killed_after == 0) {
        ledger_desk_mine(desk, 125, 15);
        ledger_desk_mine(desk, 130, 5);
    }
    size_t older = ledger_desk_older(desk, since);
    desk->batches_max = 0;
    desk->since_us = ledger_desk_time_us(since);
    for (int i = 0; i < 2; i++) { /* the second time there is nothing new */
        assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
        assert_true(desk->row_count < desk->count);
        assert_int_equal(ledger_desk_older(desk, since), older);
        assert_int_equal(desk->row_count - older, killed_after == 0 ? 5 : 15);
    }
    desk->since_us = -1;
    ledger_desk_expect_complete(desk);
    ledger_desk_free(desk);
}

static void what_lies_before_the_time_asked_for_is_not_taken_for_read(void **state)
{
    static const char *const orders[] = {"timed", "rise", "dated", "fall", "half", "counted"};
    (void)state;
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++)
        for (unsigned killed_after = 0; killed_after < 3; killed_after++)
            expect_nothing_taken_for_read(orders[i], killed_after);
}

static void an_import_since_a_time_reads_little_else(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("dated", 1, 300); /* blocks 100 to 199 */
    desk->since_us = ledger_desk_time_us(198);
    assert_int_equal(ledger_desk_requests(desk, LEDGER_COMPLETE), 2);
    assert_non_null(strstr(ledger_desk_url(desk, 0), "from=198"));
    assert_int_equal(desk->row_count, 6);
    desk->since_us = ledger_desk_time_us(50); /* nobody has a block of that time */
    ledger_desk_expect_complete(desk);
    ledger_desk_free(desk);
    desk = ledger_desk_new("half", 1,
                           300); /* newest first, and one more request for each that is wanted */
    desk->since_us = ledger_desk_time_us(198);
    assert_int_equal(ledger_desk_requests(desk, LEDGER_COMPLETE), 1 + 6);
    assert_int_equal(desk->row_count, 6);
    ledger_desk_free(desk);
}

static void a_token_that_is_no_longer_known_begins_the_sweep_anew(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("fall", 1, 45);
    ledger_desk_fault(desk, 0, FAULT_TOKEN, 2, 3);
    ledger_desk_expect_complete(desk);
    ledger_desk_free(desk);
}

/* Exitbook 1.8.14: what was pending stays so for ever. */
static void a_pending_row_is_confirmed_by_a_later_run(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("fall", 1, 12);
    ledger_desk_mine(desk, -1, 1);
    ledger_desk_expect_complete(desk);
    size_t pending = 0;
    for (size_t i = 0; i < desk->row_count; i++)
        pending += strcmp(desk->rows[i].status, "pending") == 0;
    assert_int_equal(pending, 1);
    desk->chain[12].block = 120;
    ledger_desk_expect_complete(desk);
    ledger_desk_free(desk);
}

/* A reorg puts a transaction back among those that wait: its block is given up, and then it waits
 * again. */
static void a_row_that_left_its_block_is_pending_again(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("fall", 1, 8);
    assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
    desk->chain[7].block = -1;
    assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
    assert_int_equal(ledger_desk_orphans(desk), 1);
    ledger_desk_expect_complete(desk);
    ledger_desk_free(desk);
}

/* ---- details and counts ---- */

/* Exitbook 1.8.11: a record whose detail was not to be had disappeared. */
static void details_are_fetched_for_new_rows_and_missing_ones_are_owed(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("half", 1, 12);
    desk->unknown_detail = 5;
    assert_int_equal(ledger_desk_requests(desk, LEDGER_COMPLETE), 2 + 12);
    ledger_desk_expect_truth(desk);
    assert_string_equal(desk->owed, "h5");
    for (size_t i = 0; i < desk->row_count; i++)
        assert_int_equal(desk->rows[i].whole, strcmp(desk->rows[i].hash, "h5") != 0);
    ledger_desk_mine(desk, 200, 1);
    assert_int_equal(ledger_desk_requests(desk, LEDGER_COMPLETE), 2 + 2); /* down to it: in vain */
    ledger_desk_expect_truth(desk);
    assert_string_equal(desk->owed_state, "owed");
    assert_int_equal(desk->owed_attempts, 2);
    desk->unknown_detail = -1;
    assert_int_equal(ledger_desk_requests(desk, LEDGER_COMPLETE), 2 + 1);
    ledger_desk_expect_truth(desk);
    for (size_t i = 0; i < desk->row_count; i++)
        assert_true(desk->rows[i].whole);
    assert_string_equal(desk->owed_state, "done");
    assert_non_null(strstr(desk->cursor, "\"totalFetched\":13"));
    assert_int_equal(ledger_desk_requests(desk, LEDGER_COMPLETE), 1);
    ledger_desk_free(desk);
}

/* Exitbook 1.8.6 and 1.8.7: a short answer was taken for the end. */
static void fewer_rows_than_the_source_counts_are_not_all(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("counted", 1, 25);
    assert_int_equal(ledger_desk_requests(desk, LEDGER_COMPLETE), 3);
    assert_int_equal(ledger_desk_requests(desk, LEDGER_COMPLETE), 1);
    ledger_desk_mine(desk, 200, 1);
    desk->claimed = 2;
    assert_int_equal(ledger_desk_run(desk), LEDGER_INCOMPLETE);
    assert_non_null(strstr(desk->error, "counts 28 rows and has given 26"));
    assert_null(strstr(desk->cursor, "\"isComplete\":true"));
    ledger_desk_free(desk);
}

/* An index that was behind gets an old row: nothing new is shown first, but more is counted. */
static void an_old_row_that_is_counted_later_is_looked_for(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("counted", 1, 45);
    struct desk_event *late = &desk->chain[12], kept = *late;
    memmove(late, late + 1, (desk->count - 13) * sizeof *late);
    desk->count--;
    assert_int_equal(ledger_desk_requests(desk, LEDGER_COMPLETE), 5);
    assert_int_equal(ledger_desk_requests(desk, LEDGER_COMPLETE), 1);
    memmove(late + 1, late, (desk->count - 12) * sizeof *late);
    *late = kept;
    desk->count++;
    ledger_desk_expect_complete(desk);
    assert_int_equal(ledger_desk_requests(desk, LEDGER_COMPLETE), 1);
    ledger_desk_free(desk);
}

/* What is doubted at its end is not stored as complete: whoever goes on may not count. */
static void the_end_of_a_sweep_that_is_doubted_is_no_position(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("counted", 1, 95);
    ledger_desk_fault(desk, 0, FAULT_LAST, 3, 4);
    assert_int_equal(ledger_desk_run(desk), LEDGER_INCOMPLETE);
    assert_int_equal(desk->row_count, 40);
    assert_null(strstr(desk->cursor, "highWater"));
    ledger_desk_expect_complete(desk);
    ledger_desk_free(desk);
}

/* Exitbook 1.8.10: a last page of which nothing is wanted ended in an error. */
static void a_last_page_without_a_row_of_the_stream_is_an_end(void **state)
{
    (void)state;
    static const char *const orders[] = {"rise", "fall"};
    for (int i = 0; i < 2; i++) {
        struct ledger_desk *desk = ledger_desk_new(orders[i], 1, 13);
        for (size_t k = 0; k < 3; k++)
            desk->chain[i == 0 ? 10 + k : k].other = true;
        assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
        assert_string_equal(desk->session, "completed");
        assert_int_equal(desk->row_count, 10);
        ledger_desk_free(desk);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_import_is_complete_and_the_next_one_asks_once),
        cmocka_unit_test(new_rows_of_a_newest_first_source_are_found),
        cmocka_unit_test(a_killed_import_goes_on_where_it_was),
        cmocka_unit_test(ranges_go_up_to_the_head),
        cmocka_unit_test(a_range_that_is_too_large_is_halved),
        cmocka_unit_test(a_node_that_is_behind_is_not_asked_for_ranges),
        cmocka_unit_test(another_provider_goes_on_a_window_before_the_position_once),
        cmocka_unit_test(another_provider_goes_back_to_where_the_first_was_proved),
        cmocka_unit_test(batches_of_all_providers_have_one_form),
        cmocka_unit_test(when_all_fail_the_session_says_why_and_can_be_continued),
        cmocka_unit_test(a_key_that_all_refuse_ends_the_import_at_once),
        cmocka_unit_test(who_is_only_ill_is_waited_for_though_another_refuses_the_key),
        cmocka_unit_test(answers_of_another_make_are_not_asked_for_again),
        cmocka_unit_test(a_rate_limit_inside_a_good_answer_is_waited_out),
        cmocka_unit_test(an_answer_that_cannot_be_read_leads_to_the_next_provider),
        cmocka_unit_test(no_number_is_too_long_to_be_read),
        cmocka_unit_test(what_lies_before_the_time_asked_for_is_not_taken_for_read),
        cmocka_unit_test(an_import_since_a_time_reads_little_else),
        cmocka_unit_test(a_token_that_is_no_longer_known_begins_the_sweep_anew),
        cmocka_unit_test(a_pending_row_is_confirmed_by_a_later_run),
        cmocka_unit_test(a_row_that_left_its_block_is_pending_again),
        cmocka_unit_test(details_are_fetched_for_new_rows_and_missing_ones_are_owed),
        cmocka_unit_test(fewer_rows_than_the_source_counts_are_not_all),
        cmocka_unit_test(an_old_row_that_is_counted_later_is_looked_for),
        cmocka_unit_test(the_end_of_a_sweep_that_is_doubted_is_no_position),
        cmocka_unit_test(a_last_page_without_a_row_of_the_stream_is_an_end),
    };
    return ledger_desk_run_tests(tests, sizeof tests / sizeof tests[0]);
}
