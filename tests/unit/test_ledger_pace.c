/* SPDX-License-Identifier: Apache-2.0
 *
 * Somebody who always asks as soon as he may stays within every limit of a provider. */
#include "source/ledger_pace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define SECOND   INT64_C(1000000)
#define SENT_MAX 20000

static int64_t sent[SENT_MAX];

/* Most requests in any half-open interval of that length. */
static size_t most_within(size_t count, int64_t length_us)
{
    size_t most = 0, first = 0;
    for (size_t i = 0; i < count; i++) {
        while (sent[i] - sent[first] >= length_us)
            first++;
        most = i - first + 1 > most ? i - first + 1 : most;
    }
    return most;
}

static size_t ask_for(struct ledger_pace *pace, int64_t until_us)
{
    size_t count = 0;
    for (int64_t now_us = 1; now_us < until_us && count < SENT_MAX;) {
        int64_t at_us;
        if (ledger_pace_take(pace, now_us, &at_us) == RC_OK) {
            sent[count++] = now_us;
            ledger_pace_release(pace);
            continue;
        }
        assert_true(at_us > now_us && at_us != BUCKET_NEVER);
        now_us = at_us;
    }
    return count;
}

static void all_limits_hold_at_once(void **state)
{
    (void)state;
    const struct connector_rate rate = {
        .per_1000_seconds = 3000, .per_minute = 100, .per_hour = 4000, .burst = 1};
    struct ledger_pace pace;
    ledger_pace_init(&pace, &rate, 0);
    size_t count = ask_for(&pace, 3 * 3600 * SECOND);
    assert_true(most_within(count, SECOND) <= 3);
    assert_true(most_within(count, 60 * SECOND) <= 100);
    assert_true(most_within(count, 3600 * SECOND) <= 4000);
    assert_true(count >= 3 * 4000 * 8 / 10); /* and nobody waits much longer than he has to */
}

static void a_pause_stops_everybody_and_places_are_waited_for(void **state)
{
    (void)state;
    const struct connector_rate rate = {.concurrency = 2};
    struct ledger_pace pace;
    int64_t at_us;
    ledger_pace_init(&pace, &rate, 0);
    assert_int_equal(ledger_pace_take(&pace, 1, &at_us), RC_OK);
    assert_int_equal(ledger_pace_take(&pace, 1, &at_us), RC_OK);
    assert_int_equal(ledger_pace_take(&pace, 1, &at_us), RC_AGAIN);
    assert_int_equal(at_us, BUCKET_NEVER);
    ledger_pace_release(&pace);
    ledger_pace_pause(&pace, 9 * SECOND, 1);
    assert_int_equal(ledger_pace_take(&pace, 1, &at_us), RC_AGAIN);
    assert_int_equal(at_us, 9 * SECOND);
    assert_int_equal(ledger_pace_take(&pace, at_us, &at_us), RC_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_limits_hold_at_once),
        cmocka_unit_test(a_pause_stops_everybody_and_places_are_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
