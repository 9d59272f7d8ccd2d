/* SPDX-License-Identifier: Apache-2.0
 *
 * The numbers of signed requests: whatever becomes of the clock and the process, they rise. */
#include "ledger_desk.h"
#include "source/ledger_nonces.h"

#include <stdlib.h>
#include <string.h>

#define HOUR_US INT64_C(3600000000)

/* Those of all requests so far, which rise and were all reserved; the last one. */
static int64_t expect_rising(const struct ledger_desk *desk)
{
    int64_t last = 0;
    for (size_t i = 0; i < desk->http.sent_count; i++) {
        const char *at = strstr(desk->http.sent[i].url, "nonce=");
        assert_non_null(at);
        int64_t nonce = strtoll(at + strlen("nonce="), NULL, 10);
        assert_true(nonce > last);
        last = nonce;
    }
    assert_true(last <= desk->nonce);
    return last;
}

/* The process dies after each of its batches, with a request or a batch on its way, and the clock
 * is set back an hour before the next one begins. */
static void a_clock_that_was_set_back_does_not_lead_down(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("numbered", 1, 95);
    for (unsigned kill = 1; kill < 12; kill++) {
        size_t before = desk->http.sent_count;
        desk->batches_max = desk->batches + kill;
        ledger_desk_run(desk);
        assert_true(desk->http.sent_count > before || kill == 1);
        expect_rising(desk);
        desk->http.clock.back_us += HOUR_US;
        ledger_desk_restart(desk, "numbered", 1);
    }
    desk->batches_max = 0;
    int64_t last = expect_rising(desk);
    ledger_desk_mine(desk, 300, 15);
    assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
    assert_true(expect_rising(desk) > last);
    ledger_desk_expect_truth(desk);
    ledger_desk_free(desk);
}

/* While it runs, too; and when nothing is wrong with the clock, it is the nonce. */
static void the_clock_is_followed_while_it_rises(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("numbered", 1, 95);
    assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
    assert_in_range(expect_rising(desk), DESK_T0 / 1000, desk->nonce);
    http_desk_pass(&desk->http, HOUR_US);
    int64_t now_ms = (DESK_T0 + HOUR_US) / 1000;
    ledger_desk_mine(desk, 300, 15);
    assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
    assert_in_range(expect_rising(desk), now_ms, now_ms + LEDGER_NONCES_AHEAD);
    desk->http.clock.back_us = HOUR_US;
    ledger_desk_mine(desk, 400, 15);
    assert_int_equal(ledger_desk_run(desk), LEDGER_COMPLETE);
    expect_rising(desk);
    ledger_desk_free(desk);
}

static int64_t announce(struct ledger_nonces *nonces, int64_t now_ms)
{
    struct record *row = calloc(1, sizeof *row + SESSION_FIELDS * sizeof row->fields[0]);
    assert_non_null(row);
    row->field_count = SESSION_FIELDS;
    int64_t announced = ledger_nonces_announce(nonces, now_ms, row);
    assert_int_equal(announced, row->fields[SESSION_NONCE].i);
    free(row);
    return announced;
}

static void nothing_is_given_out_that_is_not_committed(void **state)
{
    (void)state;
    struct ledger_nonces nonces = {0};
    int64_t nonce = 0, last = 0;
    assert_int_equal(announce(&nonces, 1000), 0); /* what the store has is not known */
    assert_false(ledger_nonces_take(&nonces, 1000, &nonce));
    ledger_nonces_begin(&nonces, 5000);
    int64_t first = announce(&nonces, 1000);
    assert_int_equal(first, 5000 + LEDGER_NONCES_AHEAD);
    assert_false(ledger_nonces_take(&nonces, 1000, &nonce));
    ledger_nonces_reserve(&nonces, first);
    ledger_nonces_begin(&nonces, first); /* another import that began meanwhile */
    assert_true(ledger_nonces_take(&nonces, 6000, &nonce));
    assert_int_equal(nonce, 6000);
    assert_int_equal(announce(&nonces, 1), 6000 + LEDGER_NONCES_AHEAD);
    for (last = nonce; ledger_nonces_take(&nonces, first + 1, &nonce); last = nonce)
        assert_int_equal(nonce, last + 1); /* the clock has run away */
    assert_int_equal(last, first);
    ledger_nonces_reserve(&nonces, announce(&nonces, first + 10));
    assert_true(ledger_nonces_take(&nonces, first + 10, &nonce));
    assert_int_equal(nonce, first + 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clock_that_was_set_back_does_not_lead_down),
        cmocka_unit_test(the_clock_is_followed_while_it_rises),
        cmocka_unit_test(nothing_is_given_out_that_is_not_committed),
    };
    return ledger_desk_run_tests(tests, sizeof tests / sizeof tests[0]);
}
