/* SPDX-License-Identifier: Apache-2.0
 *
 * Imports from providers that are gone, refuse to begin, or are all down at once. */
#include "ledger_desk.h"

#include <string.h>

/* R003-41: whatever one answers, the next one is asked; nobody is left when all are gone. */
static void who_is_gone_for_good_leaves_the_work_to_others(void **state)
{
    (void)state;
    for (unsigned from = 0; from < 3; from++) {
        struct ledger_desk *desk = ledger_desk_new("rise", 2, 95);
        ledger_desk_fault(desk, 0, FAULT_GONE, from, 0);
        ledger_desk_expect_complete(desk);
        ledger_desk_free(desk);
    }
    struct ledger_desk *desk = ledger_desk_new("rise", 2, 95);
    desk->faults[0] = desk->faults[1] = FAULT_GONE;
    assert_int_equal(ledger_desk_requests(desk, LEDGER_FAILED), 2);
    assert_non_null(strstr(desk->error, "alpha: HTTP 410; beta: HTTP 410"));
    ledger_desk_free(desk);
}

/* A list that cannot even be begun is not begun again and again. */
static void a_first_page_that_is_refused_is_not_asked_for_again(void **state)
{
    (void)state;
    static const char *const lists[] = {"rise", "fall"};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        struct ledger_desk *desk = ledger_desk_new(lists[i], 2, 95);
        desk->faults[0] = desk->faults[1] = FAULT_TOKEN;
        assert_int_equal(ledger_desk_requests(desk, LEDGER_INCOMPLETE), 2);
        ledger_desk_free(desk);
    }
}

/* Streams share their providers: what one has learned of the dead, all have. */
static void several_streams_give_up_as_soon_as_one_would(void **state)
{
    (void)state;
    struct ledger_desk *desk = ledger_desk_new("crowd", 2, 40);
    desk->faults[0] = desk->faults[1] = FAULT_DEAD;
    int64_t begun_us = desk->http.clock.mono_us;
    assert_int_equal(ledger_desk_run(desk), LEDGER_INCOMPLETE);
    assert_in_range(desk->http.clock.mono_us - begun_us, 60000 * DESK_MS, 600000 * DESK_MS);
    assert_non_null(strstr(desk->error, "503"));
    ledger_desk_free(desk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_gone_for_good_leaves_the_work_to_others),
        cmocka_unit_test(a_first_page_that_is_refused_is_not_asked_for_again),
        cmocka_unit_test(several_streams_give_up_as_soon_as_one_would),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
