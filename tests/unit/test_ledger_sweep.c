/* SPDX-License-Identifier: Apache-2.0
 *
 * What a walk makes of single pages that are odd: the same again, short, empty, or of a sweep that
 * goes on where another one stopped. */
#include "ledger_walk_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* From the newest row down, a row a page; the caller frees it. */
static struct ledger_walk *begin_sweep(struct connector_stream *shape)
{
    struct ledger_walk *walk = calloc(1, sizeof *walk);
    *shape = (struct connector_stream){.order = ORDER_DESC, .page.size = 1, .page.by = PAGE_TOKEN};
    shape->map[FIELD_BLOCK].mapped = true;
    ledger_walk_init(walk, shape, -1);
    ledger_walk_begin(walk, &(struct ledger_place){.complete = -1, .top = -1});
    return walk;
}

static void the_same_page_again_is_refused(void **state)
{
    (void)state;
    struct connector_stream shape;
    struct ledger_walk *walk = begin_sweep(&shape);
    struct connector_vars vars = {0};
    struct ledger_row row = {.block = 7};
    uint32_t ordinal;
    struct err err;
    for (int page = 0; page < 2; page++) {
        assert_true(ledger_walk_next(walk, &vars));
        assert_int_equal(ledger_walk_row(walk, &row, &ordinal, &err), RC_OK);
        assert_int_equal(ledger_walk_page(walk, 1, false, bytes_of("t"), &err),
                         page == 0 ? RC_OK : RC_REJECT);
    }
    ledger_walk_deinit(walk);
    free(walk);
}

/* Newest first by number and without a count: a short page looks like the last one. If it was cut
 * off by a slip, the next page has rows, and the rest of it is nowhere. */
static void a_numbered_page_that_was_short_in_the_midst_is_noticed(void **state)
{
    (void)state;
    for (size_t more = 0; more < 2; more++) {
        struct connector_stream shape = {.order = ORDER_DESC, .page.size = 2};
        struct ledger_walk walk;
        struct connector_vars vars = {0};
        struct ledger_row row = {.block = 7};
        uint32_t ordinal;
        struct err err;
        shape.page.by = PAGE_NUMBER;
        shape.page.stop = STOP_SHORT_PAGE;
        shape.map[FIELD_BLOCK].mapped = true;
        ledger_walk_init(&walk, &shape, -1);
        ledger_walk_begin(&walk, &(struct ledger_place){.complete = -1, .top = -1});
        assert_true(ledger_walk_next(&walk, &vars));
        assert_int_equal(ledger_walk_row(&walk, &row, &ordinal, &err), RC_OK);
        assert_int_equal(ledger_walk_page(&walk, 1, true, BYTES_ABSENT, &err), RC_OK);
        assert_true(ledger_walk_next(&walk, &vars)); /* what would follow it */
        assert_int_equal(vars.page, 1);
        row.block = 6;
        if (more > 0)
            assert_int_equal(ledger_walk_row(&walk, &row, &ordinal, &err), RC_OK);
        assert_int_equal(ledger_walk_page(&walk, more, true, BYTES_ABSENT, &err),
                         more > 0 ? RC_REJECT : RC_OK);
        assert_int_equal(ledger_walk_over(&walk), more == 0);
        assert_int_equal(walk.complete, more > 0 ? -1 : 7);
        ledger_walk_deinit(&walk);
    }
}

/* A sweep whose token was lost begins anew; if nothing comes then, that is not the end. */
static void a_sweep_that_begins_anew_is_not_over_with_an_empty_page(void **state)
{
    (void)state;
    struct connector_stream shape;
    struct ledger_walk *walk = begin_sweep(&shape);
    struct connector_vars vars = {0};
    struct ledger_row row = {.block = 7};
    uint32_t ordinal;
    struct err err;
    assert_true(ledger_walk_next(walk, &vars));
    assert_int_equal(ledger_walk_row(walk, &row, &ordinal, &err), RC_OK);
    assert_int_equal(ledger_walk_page(walk, 1, false, bytes_of("t"), &err), RC_OK);
    ledger_walk_restart(walk);
    for (int page = 0; page < 2; page++) {
        assert_true(ledger_walk_next(walk, &vars));
        assert_int_equal(ledger_walk_page(walk, 0, true, BYTES_ABSENT, &err), RC_OK);
        assert_int_equal(ledger_walk_over(walk), page == 1);
    }
    assert_true(walk->abrupt);
    ledger_walk_deinit(walk);
    free(walk);
}

/* What an interrupted sweep met first may have been taken by a reorg before it goes on. */
static void the_newest_rows_of_an_interrupted_sweep_are_read_again(void **state)
{
    (void)state;
    struct walk_world *world = calloc(1, sizeof *world);
    struct ledger_walk *walk = calloc(1, sizeof *walk);
    struct connector_vars vars = {0};
    struct ledger_row row = {0};
    uint32_t ordinal;
    struct err err;
    world->chance = chance_init("settle");
    world->shape = walk_shape(&world->chance, ORDER_DESC, PAGE_TOKEN);
    ledger_walk_init(walk, &world->shape, -1);
    ledger_walk_begin(walk, &(struct ledger_place){
                                .complete = 100, .token = bytes_of("t"), .top = 200, .settle = 10});
    row.block = 99;
    assert_true(ledger_walk_next(walk, &vars));
    assert_int_equal(ledger_walk_row(walk, &row, &ordinal, &err), RC_OK);
    assert_int_equal(ledger_walk_page(walk, 1, true, BYTES_ABSENT, &err), RC_OK);
    assert_int_equal(walk->complete, 200);
    assert_true(ledger_walk_next(walk, &vars)); /* the sweep for what is newer */
    assert_int_equal(vars.token.len, 0);
    assert_false(ledger_walk_below(walk, 190));
    assert_true(ledger_walk_below(walk, 189));
    ledger_walk_deinit(walk);
    free(walk);
    free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_page_again_is_refused),
        cmocka_unit_test(a_numbered_page_that_was_short_in_the_midst_is_noticed),
        cmocka_unit_test(a_sweep_that_begins_anew_is_not_over_with_an_empty_page),
        cmocka_unit_test(the_newest_rows_of_an_interrupted_sweep_are_read_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
