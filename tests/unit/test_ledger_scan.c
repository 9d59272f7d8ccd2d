/* SPDX-License-Identifier: Apache-2.0 */
#include "source/ledger_scan.h"

#include "chance.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define NUMBERS_MAX 400
#define RUNNING     4

/* A wallet, and what a scan has given out of it. */
struct wallet {
    bool used[EXTENDED_KEY_CHAINS][NUMBERS_MAX];
    unsigned given[EXTENDED_KEY_CHAINS][NUMBERS_MAX];
};

/* Four at a time, which are over in any order. */
static void scan_wallet(struct wallet *wallet, uint32_t gap, struct chance *chance)
{
    struct ledger_scan scan;
    struct scan_place running[RUNNING];
    unsigned count = 0;
    ledger_scan_init(&scan, gap);
    do {
        while (count < RUNNING && ledger_scan_next(&scan, &running[count])) {
            assert_true(running[count].number < NUMBERS_MAX);
            wallet->given[running[count].chain][running[count].number]++;
            count++;
        }
        if (count == 0)
            return;
        unsigned at = chance_below(chance, count);
        if (wallet->used[running[at].chain][running[at].number])
            ledger_scan_used(&scan, running[at]);
        running[at] = running[--count];
    } while (true);
}

/* One by one, as a person would do it. */
static uint32_t expected_end(const bool *used, uint32_t gap)
{
    uint32_t number = 0, unused = 0;
    for (; unused < gap; number++)
        unused = used[number] ? 0 : unused + 1;
    return number;
}

static void each_chain_is_read_until_enough_in_a_row_are_unused(void **state)
{
    struct chance chance = chance_init("scan");
    (void)state;
    for (unsigned round = 0; round < 500; round++) {
        struct wallet wallet = {0};
        uint32_t gap = 1 + chance_below(&chance, 25), spread = 1 + chance_below(&chance, 30);
        for (unsigned chain = 0; chain < EXTENDED_KEY_CHAINS; chain++)
            for (unsigned i = 0; i < NUMBERS_MAX / 2; i++)
                wallet.used[chain][i] = chance_below(&chance, spread) == 0;
        scan_wallet(&wallet, gap, &chance);
        for (unsigned chain = 0; chain < EXTENDED_KEY_CHAINS; chain++) {
            uint32_t end = expected_end(wallet.used[chain], gap);
            for (unsigned i = 0; i < NUMBERS_MAX; i++)
                assert_int_equal(wallet.given[chain][i], i < end);
        }
    }
}

static void a_wallet_that_was_never_used_costs_one_gap_on_each_chain(void **state)
{
    struct ledger_scan scan;
    struct scan_place place;
    unsigned given = 0;
    (void)state;
    ledger_scan_init(&scan, 20);
    while (ledger_scan_next(&scan, &place))
        given++;
    assert_int_equal(given, 40);
    /* An answer that comes late still counts. */
    ledger_scan_used(&scan, (struct scan_place){1, 19});
    assert_true(ledger_scan_next(&scan, &place));
    assert_int_equal(place.chain, 1);
    assert_int_equal(place.number, 20);
}

static void numbers_end_where_only_a_private_key_goes_on(void **state)
{
    struct ledger_scan scan;
    struct scan_place place;
    (void)state;
    ledger_scan_init(&scan, 20);
    scan.chains[0].next = scan.chains[0].end = EXTENDED_KEY_NUMBERS;
    ledger_scan_used(&scan, (struct scan_place){0, EXTENDED_KEY_NUMBERS - 1});
    while (ledger_scan_next(&scan, &place))
        assert_int_equal(place.chain, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_chain_is_read_until_enough_in_a_row_are_unused),
        cmocka_unit_test(a_wallet_that_was_never_used_costs_one_gap_on_each_chain),
        cmocka_unit_test(numbers_end_where_only_a_private_key_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
