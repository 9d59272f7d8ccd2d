/* SPDX-License-Identifier: Apache-2.0 */
#include "source/ledger_reread.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define ROWS 10

/* Ten rows at the positions 10, 20, ... 100, and what of them a walk has to show again. */
struct shelf {
    struct ledger_known_row rows[ROWS];
    struct ledger_known known;
    struct ledger_reread reread;
    struct ledger_leg leg;
    struct ledger_walk walk;
};

static void fill(struct shelf *shelf)
{
    *shelf = (struct shelf){.known = {.rows = shelf->rows, .count = ROWS, .whole = true},
                            .leg = {.last = -1},
                            .walk = {.legs = &shelf->leg, .leg_count = 1}};
    for (int i = 0; i < ROWS; i++) {
        shelf->rows[i] = (struct ledger_known_row){.position = 10 * (i + 1)};
        snprintf(shelf->rows[i].status, sizeof shelf->rows[i].status, "confirmed");
    }
    ledger_reread_init(&shelf->reread, &shelf->known);
}

/* They come, each of them. */
static void see(struct shelf *shelf, int64_t from, int64_t to)
{
    for (int i = 0; i < ROWS; i++)
        if (shelf->rows[i].position >= from && shelf->rows[i].position <= to)
            shelf->rows[i].seen = true;
}

static void what_does_not_come_from_where_the_walk_began_is_absent(void **state)
{
    struct shelf shelf;
    size_t at = 0;
    (void)state;
    fill(&shelf);
    ledger_reread_begin(&shelf.reread, 70);
    see(&shelf, 80, 90);
    assert_int_equal(ledger_reread_count_absent(&shelf.reread), 2);
    assert_int_equal(ledger_reread_absent(&shelf.reread, &at)->position, 70);
    assert_int_equal(ledger_reread_absent(&shelf.reread, &at)->position, 100);
    assert_null(ledger_reread_absent(&shelf.reread, &at));
    ledger_reread_begin(&shelf.reread, -1); /* everything is read */
    assert_int_equal(ledger_reread_count_absent(&shelf.reread), 8);
}

static void what_cannot_come_is_not_absent(void **state)
{
    struct shelf shelf;
    (void)state;
    fill(&shelf);
    shelf.rows[8].position = -1; /* in no block */
    snprintf(shelf.rows[7].status, sizeof shelf.rows[7].status, "orphaned");
    ledger_reread_begin(&shelf.reread, 70);
    assert_int_equal(ledger_reread_count_absent(&shelf.reread), 2);
    shelf.known.whole = false; /* more are known than are kept */
    assert_int_equal(ledger_reread_count_absent(&shelf.reread), 0);
}

static void what_is_too_old_to_be_asked_for_is_not_absent(void **state)
{
    struct shelf shelf;
    (void)state;
    fill(&shelf);
    ledger_reread_begin(&shelf.reread, -1);
    ledger_reread_end_at(&shelf.reread, 80);
    assert_int_equal(ledger_reread_count_absent(&shelf.reread), 2);
    ledger_reread_end_at(&shelf.reread, 50); /* it never gets more again */
    assert_int_equal(ledger_reread_count_absent(&shelf.reread), 2);
}

static void a_range_is_asked_about_without_its_end(void **state)
{
    struct shelf shelf;
    (void)state;
    fill(&shelf);
    ledger_reread_begin(&shelf.reread, 30);
    see(&shelf, 40, 100);
    assert_true(ledger_reread_misses(&shelf.reread, 30, 31));
    assert_false(ledger_reread_misses(&shelf.reread, 0, 30));
    assert_false(ledger_reread_misses(&shelf.reread, 31, INT64_MAX));
}

/* The first part of the sweep had come from 100 down to 60. */
static void what_the_first_part_of_a_sweep_has_shown_is_excused(void **state)
{
    struct shelf shelf;
    const struct ledger_place place = {.complete = 20, .top = 100, .settle = 15};
    (void)state;
    fill(&shelf);
    ledger_reread_begin(&shelf.reread, place.complete);
    ledger_reread_resume(&shelf.reread, &place, 60);
    assert_true(ledger_reread_misses(&shelf.reread, 20, 60)); /* the rest of it shows these, ... */
    assert_false(ledger_reread_misses(&shelf.reread, 60, 85));
    assert_true(ledger_reread_misses(&shelf.reread, 85, 101)); /* ... and the fresh one these */
    assert_int_equal(ledger_reread_count_absent(&shelf.reread), 6);
}

static void a_sweep_that_nobody_knows_the_place_of_answers_for_the_newest_rows_only(void **state)
{
    struct shelf shelf;
    const struct ledger_place place = {.complete = -1, .top = 100, .settle = 15};
    (void)state;
    fill(&shelf);
    ledger_reread_begin(&shelf.reread, place.complete);
    ledger_reread_resume(&shelf.reread, &place, -1);
    assert_false(ledger_reread_misses(&shelf.reread, 0, 85));
    assert_int_equal(ledger_reread_count_absent(&shelf.reread), 2);
    fill(&shelf); /* it was at its first blocks, all of which are read again */
    ledger_reread_begin(&shelf.reread, 90);
    ledger_reread_resume(&shelf.reread,
                         &(struct ledger_place){.complete = 90, .top = 100, .settle = 15}, -1);
    assert_int_equal(ledger_reread_count_absent(&shelf.reread), 2);
}

/* Whoever reads less than everything may find the rest by reading it all. */
static void a_sweep_that_goes_on_does_not_read_everything(void **state)
{
    struct shelf shelf;
    const struct ledger_place place = {.complete = -1, .top = 100};
    (void)state;
    fill(&shelf);
    ledger_reread_begin(&shelf.reread, place.complete);
    assert_true(shelf.reread.from < 0);
    ledger_reread_resume(&shelf.reread, &place, 60);
    assert_int_equal(shelf.reread.from, 0);
}

static void a_sweep_has_passed_what_lies_above_its_last_row_and_did_not_come(void **state)
{
    struct shelf shelf;
    (void)state;
    fill(&shelf);
    ledger_reread_begin(&shelf.reread, -1);
    assert_false(ledger_reread_has_passed(&shelf.reread, &shelf.walk)); /* it has shown nothing */
    see(&shelf, 90, 100);
    shelf.leg.last = 90;
    assert_false(ledger_reread_has_passed(&shelf.reread, &shelf.walk));
    shelf.leg.last = 70; /* without 80 */
    assert_true(ledger_reread_has_passed(&shelf.reread, &shelf.walk));
    shelf.walk.leg_count = 2; /* of several parts none says that of the others */
    assert_false(ledger_reread_has_passed(&shelf.reread, &shelf.walk));
}

static void the_rest_of_a_sweep_has_not_passed_what_the_fresh_one_will_show(void **state)
{
    struct shelf shelf;
    const struct ledger_place place = {.complete = -1, .top = 100, .settle = 15};
    (void)state;
    fill(&shelf);
    ledger_reread_begin(&shelf.reread, place.complete);
    ledger_reread_resume(&shelf.reread, &place, 60);
    shelf.walk.continued = true;
    see(&shelf, 50, 50);
    shelf.leg.last = 50;
    assert_false(ledger_reread_has_passed(&shelf.reread, &shelf.walk));
    shelf.leg.last = 30; /* without 40, which another sweep has stored */
    assert_true(ledger_reread_has_passed(&shelf.reread, &shelf.walk));
}

static void what_is_absent_can_be_doubted_and_the_first_of_it_is_told(void **state)
{
    struct shelf shelf;
    (void)state;
    fill(&shelf);
    ledger_reread_begin(&shelf.reread, 50);
    see(&shelf, 50, 70);
    assert_int_equal(ledger_reread_doubt(&shelf.reread), 80);
    for (int i = 0; i < ROWS; i++)
        assert_int_equal(shelf.rows[i].doubted, shelf.rows[i].position >= 80);
    see(&shelf, 80, 100);
    assert_int_equal(ledger_reread_doubt(&shelf.reread), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_not_come_from_where_the_walk_began_is_absent),
        cmocka_unit_test(what_cannot_come_is_not_absent),
        cmocka_unit_test(what_is_too_old_to_be_asked_for_is_not_absent),
        cmocka_unit_test(a_range_is_asked_about_without_its_end),
        cmocka_unit_test(what_the_first_part_of_a_sweep_has_shown_is_excused),
        cmocka_unit_test(a_sweep_that_nobody_knows_the_place_of_answers_for_the_newest_rows_only),
        cmocka_unit_test(a_sweep_that_goes_on_does_not_read_everything),
        cmocka_unit_test(a_sweep_has_passed_what_lies_above_its_last_row_and_did_not_come),
        cmocka_unit_test(the_rest_of_a_sweep_has_not_passed_what_the_fresh_one_will_show),
        cmocka_unit_test(what_is_absent_can_be_doubted_and_the_first_of_it_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
