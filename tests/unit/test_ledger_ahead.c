/* SPDX-License-Identifier: Apache-2.0
 *
 * Imports into a store that is slower than the providers. */
#include "ledger_desk.h"
#include "source/ledger_stream_parts.h"

#include <string.h>

/* A store that takes its time holds nobody up: pages come meanwhile and share the next batch; what
 * is stored is never behind its cursor, wherever the program is killed. */
static void the_next_page_is_read_while_the_last_one_is_stored(void **state)
{
    (void)state;
    static const char *const orders[] = {"rise", "fall"};
    for (unsigned kill = 0; kill < 8; kill++) {
        struct ledger_desk *desk = ledger_desk_new(orders[kill % 2], 1, 95);
        desk->batches_max = kill / 2;
        ledger_desk_run(desk);
        assert_true(desk->batches_max == 1 || desk->overlaps >= 9);
        desk->batches_max = 0;
        ledger_desk_expect_complete(desk);
        assert_non_null(strstr(desk->cursor, "\"totalFetched\":95"));
        ledger_desk_free(desk);
    }
}

/* R003-24: who takes no more batches gets no more requests than fill the one after the next; and
 * when batches are taken again, it all comes. */
static void who_takes_no_batches_gets_no_more_requests(void **state)
{
    (void)state;
    const size_t ahead = (LEDGER_CHUNK_ROWS + LEDGER_DESK_SIZE - 1) / LEDGER_DESK_SIZE;
    struct ledger_desk *desk = ledger_desk_new("fall", 1, 1300);
    desk->store_last = false;
    desk->stored_max = 2; /* the session, and the first page */
    ledger_desk_begin(desk);
    size_t asked = 0;
    for (int i = 0; i < 20; i++) {
        for (bool more = true; more;)
            more = ledger_desk_step(desk);
        assert_true(i == 0 || desk->http.sent_count == asked); /* time alone changes nothing */
        asked = desk->http.sent_count;
        http_desk_pass(&desk->http, 60000 * DESK_MS);
    }
    assert_int_equal(desk->row_count, LEDGER_DESK_SIZE);
    assert_in_range(asked, 3, 2 + ahead + 1); /* stored, on its way, and those of one batch */
    desk->stored_max = 0;
    assert_int_equal(ledger_desk_finish(desk), LEDGER_COMPLETE);
    ledger_desk_expect_truth(desk);
    ledger_desk_free(desk);
}

/* What was read and waits to be stored is stored before another goes on from there. */
static void what_waits_for_the_store_is_not_lost_in_a_switch(void **state)
{
    (void)state;
    for (unsigned dead_at = 1; dead_at < 9; dead_at++) {
        struct ledger_desk *desk = ledger_desk_new("rise", 2, 95);
        ledger_desk_fault(desk, 0, FAULT_DEAD, dead_at, 0);
        ledger_desk_expect_complete(desk);
        assert_non_null(strstr(desk->cursor, "\"totalFetched\":95"));
        for (size_t i = 0; i < desk->row_count; i++)
            assert_int_equal(desk->rows[i].times, 1);
        ledger_desk_free(desk);
    }
}

/* Stopped while a request is out and a batch on its way: both batches are stored first. */
static void who_is_stopped_stores_what_was_read(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("rise", 1, 95);
    desk->stop_after = 5;
    assert_int_equal(ledger_desk_run(desk), LEDGER_STOPPED);
    assert_string_equal(desk->session, "cancelled");
    assert_int_equal(desk->row_count, 46); /* five pages; the last block of each came twice */
    desk->stop_after = 0;
    ledger_desk_expect_complete(desk);
    ledger_desk_free(desk);
}

/* A page that leads nowhere takes those with it that wait beside it: what they said of known rows
 * is news when the next provider says it. */
static void what_was_refused_with_a_page_is_not_taken_for_stored(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("fall", 2, 30);
    ledger_desk_mine(desk, -1, 1);
    assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
    desk->chain[30].block = 200; /* it has got into a block */
    for (unsigned i = 0; i < 29; i++)
        ledger_desk_mine(desk, 201 + i, 1);
    /* The page after the one with that row. */
    ledger_desk_fault(desk, 0, FAULT_AGAIN, desk->asked[0] + 3, 0);
    assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
    assert_non_null(strstr(desk->cursor, "\"providerName\":\"beta\""));
    ledger_desk_expect_truth(desk);
    ledger_desk_free(desk);
}

/* R003-51: the token of an interrupted sweep is not known any more, so all that was stored comes
 * again; it is counted as skipped and not written. */
static void a_restart_inside_a_long_overlap_stores_nothing_twice(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("fall", 1, 780);
    desk->store_last = false; /* a page is a batch */
    desk->batches_max = 72;
    assert_int_equal(ledger_desk_run(desk), LEDGER_UNDECIDED);
    size_t stored = desk->row_count;
    assert_in_range(stored, 700, 779);
    desk->batches_max = 0;
    desk->skipped = 0;
    ledger_desk_fault(desk, 0, FAULT_TOKEN, desk->asked[0], desk->asked[0] + 1);
    ledger_desk_expect_complete(desk);
    assert_int_equal(desk->skipped, stored);
    for (size_t i = 0; i < desk->row_count; i++)
        assert_int_equal(desk->rows[i].times, 1);
    ledger_desk_free(desk);
}

/* R003-55: a list by time, like an exchange's, is read from its beginning without a key, from its
 * own key, and never from one that somebody else has given. */
static void a_sweep_goes_on_from_its_own_key_only(void **state)
{
    (void)state;
    static const char *const owners[] = {NULL, "alpha", "gamma"};
    for (int i = 0; i < 3; i++) {
        struct ledger_desk *desk = ledger_desk_new("timed", 1, 95);
        desk->store_last = false;
        if (owners[i] != NULL) {
            desk->batches_max = 4;
            ledger_desk_run(desk);
            desk->batches_max = 0;
            assert_non_null(strstr(desk->cursor, "pageToken"));
            for (char *at = desk->cursor; (at = strstr(at, "alpha")) != NULL; at++)
                memcpy(at, owners[i], strlen("alpha"));
        }
        size_t first = desk->http.sent_count;
        assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
        assert_int_equal(strstr(desk->http.sent[first].url, "token=") != NULL, i == 1);
        ledger_desk_expect_truth(desk);
        ledger_desk_free(desk);
    }
}

int main(void)
{
    ledger_desk_slow = true;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_page_is_read_while_the_last_one_is_stored),
        cmocka_unit_test(who_takes_no_batches_gets_no_more_requests),
        cmocka_unit_test(what_waits_for_the_store_is_not_lost_in_a_switch),
        cmocka_unit_test(who_is_stopped_stores_what_was_read),
        cmocka_unit_test(what_was_refused_with_a_page_is_not_taken_for_stored),
        cmocka_unit_test(a_restart_inside_a_long_overlap_stores_nothing_twice),
        cmocka_unit_test(a_sweep_goes_on_from_its_own_key_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
