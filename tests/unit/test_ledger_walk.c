/* SPDX-License-Identifier: Apache-2.0
 *
 * Walks over a made-up chain: whatever the pages, ties, cut blocks, new rows and interruptions,
 * every row comes and no identity twice, with no request too many. */
#include "ledger_walk_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One import after another, some of them interrupted after any row, while the chain grows. */
static void live(struct walk_world *world)
{
    struct walk_shelf *shelf = calloc(1, sizeof *shelf);
    struct ledger_place place = {.complete = -1, .top = -1};
    struct err err;
    char token[LEDGER_TOKEN_MAX + 1] = "";
    walk_world_mine(world, chance_below(&world->chance, 400));
    for (unsigned run = 0; run < 6; run++) {
        struct ledger_walk *walk = calloc(1, sizeof *walk);
        bool last_run = run == 5, alive = true;
        place.token = token[0] != '\0' ? bytes_of(token) : BYTES_ABSENT;
        ledger_walk_init(walk, &world->shape, -1);
        ledger_walk_begin(walk, &place);
        while (alive && !ledger_walk_over(walk)) {
            size_t stop = !last_run && chance_below(&world->chance, 4) == 0
                              ? chance_below(&world->chance, 60)
                              : SIZE_MAX;
            alive = walk_world_ask(world, walk, shelf, stop, &err);
            if (!last_run && chance_below(&world->chance, 3) == 0)
                walk_world_mine(world, chance_below(&world->chance, 30));
        }
        /* What is stored is what stood at the end of the last whole page, or at any row. */
        assert_true(walk->complete >= place.complete);
        place.complete = walk->complete;
        place.top = walk->top;
        snprintf(token, sizeof token, "%.*s", (int)ledger_walk_token(walk).len,
                 ledger_walk_token(walk).len > 0 ? ledger_walk_token(walk).data : "");
        if (last_run)
            assert_true(ledger_walk_over(walk));
        ledger_walk_deinit(walk);
        free(walk);
    }
    walk_world_expect(world, shelf);
    free(shelf);
}

/* One walk by ranges, which may be interrupted; what is complete after it. */
static int64_t walk_ranges(struct walk_world *world, struct walk_shelf *shelf, int64_t complete,
                           bool whole)
{
    struct ledger_walk *walk = calloc(1, sizeof *walk);
    struct err err;
    ledger_walk_init(walk, &world->shape, -1);
    ledger_walk_begin(walk, &(struct ledger_place){
                                .complete = complete, .top = -1, .head = walk_world_head(world)});
    for (bool alive = true; alive && !ledger_walk_over(walk);) {
        size_t stop = !whole && chance_below(&world->chance, 9) == 0
                          ? chance_below(&world->chance, 20)
                          : SIZE_MAX;
        alive = walk_world_ask(world, walk, shelf, stop, &err);
        if (!whole && chance_below(&world->chance, 3) == 0)
            walk_world_mine(world, chance_below(&world->chance, 10));
    }
    assert_true(walk->complete >= complete);
    complete = walk->complete;
    ledger_walk_deinit(walk);
    free(walk);
    return complete;
}

static void try_many(enum connector_order order, enum connector_paging by, unsigned partitions,
                     enum connector_equals equals, const char *name)
{
    struct chance chance = chance_init(name);
    for (unsigned i = 0; i < 150; i++) {
        struct walk_world *world = calloc(1, sizeof *world);
        world->chance = (struct chance){chance_next(&chance)};
        world->shape = walk_shape(&world->chance, order, by);
        world->shape.partition_count = partitions;
        world->shape.equals = equals;
        if (order == ORDER_DESC)
            world->mempool = chance_below(&world->chance, 3);
        live(world);
        free(world);
    }
}

/* R003-47 R003-31: union equals truth over random cuts, also inside a block. */
static void oldest_first_by_number_finds_every_row(void **state)
{
    (void)state;
    try_many(ORDER_ASC, PAGE_KEYSET, 0, EQUALS_BLOCK, "keyset");
    try_many(ORDER_ASC, PAGE_NUMBER, 0, EQUALS_BLOCK, "number");
    try_many(ORDER_ASC, PAGE_OFFSET, 0, EQUALS_BLOCK, "offset");
}

static void oldest_first_by_token_finds_every_row(void **state)
{
    (void)state;
    try_many(ORDER_ASC, PAGE_TOKEN, 0, EQUALS_BLOCK, "token");
}

static void newest_first_finds_every_row(void **state)
{
    (void)state;
    try_many(ORDER_DESC, PAGE_TOKEN, 0, EQUALS_BLOCK, "newest first, token");
    try_many(ORDER_DESC, PAGE_OFFSET, 0, EQUALS_NONE, "newest first, offset");
    try_many(ORDER_DESC, PAGE_NUMBER, 0, EQUALS_NONE, "newest first, number");
}

static void partitions_are_walked_together(void **state)
{
    (void)state;
    try_many(ORDER_ASC, PAGE_TOKEN, 2, EQUALS_BLOCK, "two sides");
    try_many(ORDER_DESC, PAGE_TOKEN, 2, EQUALS_BLOCK, "two sides, newest first");
}

/* ---- requests ---- */

static unsigned run_once(struct walk_world *world, struct ledger_place *place,
                         struct walk_shelf *shelf)
{
    struct ledger_walk *walk = calloc(1, sizeof *walk);
    struct err err;
    world->requests = 0;
    ledger_walk_init(walk, &world->shape, -1);
    ledger_walk_begin(walk, place);
    while (!ledger_walk_over(walk))
        assert_true(walk_world_ask(world, walk, shelf, SIZE_MAX, &err));
    place->complete = walk->complete;
    ledger_walk_deinit(walk);
    free(walk);
    return world->requests;
}

static void fill_blocks(struct walk_world *world, size_t rows, size_t per_block)
{
    for (size_t i = 0; i < rows; i++) {
        size_t at = world->count++;
        world->chain[at] =
            (struct walk_entry){(int64_t)(at / per_block) + 100, (uint8_t)(at % 3), 3};
    }
}

/* rows / page + 1 for a first import, 1 when nothing is new; also when the last page is full. The
 * empty page that a sweep then ends with is asked for twice. */
static void no_request_is_made_for_nothing(void **state)
{
    (void)state;
    static const enum connector_order orders[] = {ORDER_ASC, ORDER_DESC};
    for (int i = 0; i < 4; i++) {
        struct walk_world *world = calloc(1, sizeof *world);
        struct walk_shelf *shelf = calloc(1, sizeof *shelf);
        struct ledger_place place = {.complete = -1, .top = -1};
        world->chance = chance_init("requests");
        world->shape = walk_shape(&world->chance, orders[i % 2], i < 2 ? PAGE_NUMBER : PAGE_TOKEN);
        world->shape.page.size = 100;
        world->shape.page.window_max = 0;
        fill_blocks(world, 1000, 2);
        unsigned expected = world->shape.page.by == PAGE_TOKEN ? 10
                            : orders[i % 2] == ORDER_DESC      ? 12
                                                               : 11;
        assert_int_equal(run_once(world, &place, shelf), expected);
        assert_int_equal(run_once(world, &place, shelf), 1);
        fill_blocks(world, 5, 2);
        assert_int_equal(run_once(world, &place, shelf), 1);
        walk_world_expect(world, shelf);
        free(shelf);
        free(world);
    }
}

/* Exitbook 1.8.9 and 1.8.13: a direction that was over was asked anew with every page of the other,
 * or never again. */
static void a_partition_that_is_over_is_left_alone_until_the_next_run(void **state)
{
    (void)state;
    struct walk_world *world = calloc(1, sizeof *world);
    struct walk_shelf *shelf = calloc(1, sizeof *shelf);
    struct ledger_place place = {.complete = -1, .top = -1};
    world->chance = chance_init("sides");
    world->shape = walk_shape(&world->chance, ORDER_ASC, PAGE_TOKEN);
    world->shape.partition_count = 2;
    world->shape.page.size = 10;
    fill_blocks(world, 100, 1);
    for (size_t i = 0; i < world->count; i++)
        world->chain[i].side = i < 5 ? 1 : 2;
    /* One for the short side, ten for the long one, one more when the long one went further. */
    assert_int_equal(run_once(world, &place, shelf), 12);
    world->chain[world->count] = (struct walk_entry){900, 0, 1};
    world->count++;
    assert_int_equal(run_once(world, &place, shelf), 2);
    walk_world_expect(world, shelf);
    free(shelf);
    free(world);
}

/* A walk over two lists, of which the first has shown a row in block 50, its only one. */
struct two_lists {
    struct connector_stream shape;
    struct connector_vars vars;
    struct ledger_walk walk;
};

/* A page of the list that is asked for, with one row; `block` < 0: with none. */
static void show(struct two_lists *lists, int64_t block, bool last)
{
    struct ledger_row row = {.block = block};
    uint32_t ordinal;
    struct err err;
    assert_true(ledger_walk_next(&lists->walk, &lists->vars));
    if (block >= 0)
        assert_int_equal(ledger_walk_row(&lists->walk, &row, &ordinal, &err), RC_OK);
    assert_int_equal(ledger_walk_page(&lists->walk, block >= 0, last, bytes_of("next"), &err),
                     RC_OK);
}

static void begin_two(struct two_lists *lists)
{
    const struct ledger_place beginning = {.complete = -1, .top = -1};
    *lists = (struct two_lists){
        .shape = {.order = ORDER_ASC, .partition_count = 2, .page.size = 2, .page.by = PAGE_TOKEN}};
    lists->shape.map[FIELD_BLOCK].mapped = true;
    lists->shape.resume.kind = RESUME_BLOCK_NUMBER;
    ledger_walk_init(&lists->walk, &lists->shape, -1);
    ledger_walk_begin(&lists->walk, &beginning);
    show(lists, 50, true);
}

/* The other list shows this, page by page; the last of them is its end, and then both are. */
static void expect_end_after(struct two_lists *lists, const int64_t *shown, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_true(lists->walk.complete < 50);
        show(lists, shown[i], i + 1 == count || shown[i] < 0);
        assert_int_equal(lists->vars.partition, 1);
    }
    assert_true(ledger_walk_over(&lists->walk));
    assert_int_equal(lists->walk.complete, 50);
    ledger_walk_deinit(&lists->walk);
}

/* What one list says of itself when it says nothing is not taken for what both have passed. */
static void a_partition_that_ends_with_nothing_is_asked_once_more(void **state)
{
    (void)state;
    static const int64_t shown[] = {-1, -1};
    struct two_lists lists;
    begin_two(&lists);
    expect_end_after(&lists, shown, 2);
}

/* The other list says nothing twice, with rows in between: there may be more behind them. */
static void a_partition_that_ends_with_nothing_again_may_have_more(void **state)
{
    (void)state;
    static const int64_t shown[] = {-1, 40, -1, 45};
    struct two_lists lists;
    begin_two(&lists);
    expect_end_after(&lists, shown, 4);
}

/* Exitbook 1.8.6: going on after the last block instead of in it loses the rest of that block. */
static void a_block_that_a_page_cuts_is_read_whole(void **state)
{
    (void)state;
    struct walk_world *world = calloc(1, sizeof *world);
    struct walk_shelf *shelf = calloc(1, sizeof *shelf);
    struct ledger_place place = {.complete = -1, .top = -1};
    world->shape.order = ORDER_ASC;
    world->shape.page.by = PAGE_KEYSET;
    world->shape.page.size = 1000;
    world->shape.page.first = 1;
    world->shape.page.window_max = 1000; /* the provider counts to one page only */
    world->shape.resume.kind = RESUME_BLOCK_NUMBER;
    world->shape.map[FIELD_BLOCK].mapped = true;
    world->shape.equals = EQUALS_BLOCK;
    fill_blocks(world, 1005, 10);
    run_once(world, &place, shelf);
    walk_world_expect(world, shelf);
    free(shelf);
    free(world);
}

static void a_provider_that_cannot_count_far_enough_is_refused(void **state)
{
    (void)state;
    struct connector_stream shape = {.order = ORDER_ASC, .page.size = 2, .page.by = PAGE_KEYSET};
    struct ledger_walk *walk = calloc(1, sizeof *walk);
    struct connector_vars vars = {0};
    struct ledger_row row = {.block = 7};
    uint32_t ordinal;
    struct err err;
    shape.page.window_max = 4;
    shape.page.first = 1;
    shape.resume.kind = RESUME_BLOCK_NUMBER;
    shape.map[FIELD_BLOCK].mapped = true;
    ledger_walk_init(walk, &shape, -1);
    ledger_walk_begin(walk, &(struct ledger_place){.complete = 7, .top = -1});
    for (int page = 0; page < 2; page++) {
        assert_true(ledger_walk_next(walk, &vars));
        assert_int_equal(vars.from, 7);
        assert_int_equal(vars.page, page + 1);
        for (uint8_t i = 0; i < 2; i++) {
            row.key[0] = (uint8_t)(page * 2 + i);
            assert_int_equal(ledger_walk_row(walk, &row, &ordinal, &err), RC_OK);
        }
        assert_int_equal(ledger_walk_page(walk, 2, false, BYTES_ABSENT, &err),
                         page == 0 ? RC_OK : RC_REJECT);
    }
    assert_non_null(strstr(err.text, "position 7"));
    ledger_walk_deinit(walk);
    free(walk);
}

/* Empty pages that lead on are followed, also many of them, but not for ever. */
static void a_provider_that_leads_from_nothing_to_nothing_is_refused(void **state)
{
    (void)state;
    static const enum connector_paging ways[] = {PAGE_TOKEN, PAGE_LINK, PAGE_OFFSET};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        struct connector_stream shape = {.order = ORDER_DESC, .page = {.size = 2, .by = ways[i]}};
        struct ledger_walk *walk = calloc(1, sizeof *walk);
        struct connector_vars vars = {0};
        struct ledger_row row = {.block = 7};
        uint32_t ordinal;
        struct err err;
        ledger_walk_init(walk, &shape, -1);
        ledger_walk_begin(walk, &(struct ledger_place){.complete = -1, .top = -1});
        for (unsigned page = 0; page < 2 * LEDGER_EMPTY_MAX; page++) {
            bool shows = page == LEDGER_EMPTY_MAX - 1;
            assert_true(ledger_walk_next(walk, &vars));
            if (shows)
                assert_int_equal(ledger_walk_row(walk, &row, &ordinal, &err), RC_OK);
            assert_int_equal(ledger_walk_page(walk, shows, false, bytes_of("on"), &err),
                             page < 2 * LEDGER_EMPTY_MAX - 1 ? RC_OK : RC_REJECT);
        }
        assert_non_null(strstr(err.text, "no rows"));
        ledger_walk_deinit(walk);
        free(walk);
    }
}

/* A row that an index adds late moves all others to another number, and a row that comes again with
 * the next page would be taken for one more that is equal to it. */
static void pages_are_counted_within_one_block_only(void **state)
{
    (void)state;
    static const struct {
        int64_t from, page, blocks[2];
    } asked[] = {{-1, 1, {5, 6}}, {6, 1, {6, 6}}, {6, 2, {6, 7}}, {7, 1, {7, 9}}, {9, 1, {9, 9}}};
    struct connector_stream shape = {
        .order = ORDER_ASC,
        .page = {.size = 2, .first = 1, .by = PAGE_KEYSET, .window_max = 100},
        .resume = {.kind = RESUME_BLOCK_NUMBER}};
    struct ledger_walk *walk = calloc(1, sizeof *walk);
    struct connector_vars vars = {0};
    struct err err;
    uint32_t ordinal;
    shape.map[FIELD_BLOCK].mapped = true;
    ledger_walk_init(walk, &shape, -1);
    ledger_walk_begin(walk, &(struct ledger_place){.complete = -1, .top = -1});
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        assert_true(ledger_walk_next(walk, &vars));
        assert_int_equal(vars.from, asked[i].from);
        assert_int_equal(vars.page, asked[i].page);
        for (unsigned row = 0; row < 2; row++) {
            struct ledger_row shown = {.block = asked[i].blocks[row]};
            shown.key[0] = (uint8_t)(2 * i + row);
            assert_int_equal(ledger_walk_row(walk, &shown, &ordinal, &err), RC_OK);
        }
        assert_int_equal(ledger_walk_page(walk, 2, false, BYTES_ABSENT, &err), RC_OK);
    }
    ledger_walk_deinit(walk);
    free(walk);
}

/* Its records are none of this stream, so that its pages look alike. */
static void a_provider_that_leads_back_to_its_page_is_refused(void **state)
{
    (void)state;
    static const char *const tokens[] = {"a", "b", "b"};
    struct connector_stream shape = {.order = ORDER_ASC,
                                     .page = {.size = 2, .by = PAGE_TOKEN},
                                     .resume = {.kind = RESUME_BLOCK_NUMBER}};
    struct ledger_walk *walk = calloc(1, sizeof *walk);
    struct connector_vars vars = {0};
    struct err err;
    ledger_walk_init(walk, &shape, -1);
    ledger_walk_begin(walk, &(struct ledger_place){.complete = -1, .top = -1});
    for (unsigned page = 0; page < 3; page++) {
        assert_true(ledger_walk_next(walk, &vars));
        assert_int_equal(ledger_walk_page(walk, 2, false, bytes_of(tokens[page]), &err),
                         page < 2 ? RC_OK : RC_REJECT);
    }
    assert_string_equal(err.text, "the page leads to itself");
    ledger_walk_deinit(walk);
    free(walk);
}

/* By ranges: random sizes, interruptions at any row, a chain that grows between and during walks.
 * Blocks without a row are passed, and a walk without a new block asks for nothing. */
static void ranges_pass_empty_blocks_and_lose_nothing(void **state)
{
    (void)state;
    struct chance chance = chance_init("ranges");
    for (unsigned i = 0; i < 150; i++) {
        struct walk_world *world = calloc(1, sizeof *world);
        struct walk_shelf *shelf = calloc(1, sizeof *shelf);
        world->chance = (struct chance){chance_next(&chance)};
        world->shape = walk_shape(&world->chance, ORDER_ASC, PAGE_RANGE);
        world->shape.page.size = 1 + chance_below(&world->chance, 30);
        world->shape.partition_count = chance_below(&world->chance, 2) * 2;
        walk_world_mine(world, chance_below(&world->chance, 200));
        int64_t complete = -1;
        for (unsigned run = 0; run < 6; run++)
            complete = walk_ranges(world, shelf, complete, run == 5);
        assert_int_equal(complete, walk_world_head(world) + 1);
        walk_world_expect(world, shelf);
        unsigned before = world->requests;
        assert_int_equal(walk_ranges(world, shelf, complete, true), complete);
        assert_int_equal(world->requests, before);
        free(shelf);
        free(world);
    }
}

/* An interrupted sweep goes on with its token, then what is newer follows. Exitbook 1.8.1. */
static void an_interrupted_sweep_is_finished_and_new_rows_are_found(void **state)
{
    (void)state;
    try_many(ORDER_DESC, PAGE_TOKEN, 0, EQUALS_NONE, "interrupted");
    struct walk_world *world = calloc(1, sizeof *world);
    struct walk_shelf *shelf = calloc(1, sizeof *shelf);
    struct ledger_walk *walk = calloc(1, sizeof *walk);
    struct err err;
    world->chance = chance_init("sweep");
    world->shape = walk_shape(&world->chance, ORDER_DESC, PAGE_TOKEN);
    world->shape.equals = EQUALS_NONE;
    world->shape.page.size = 25;
    fill_blocks(world, 100, 1);
    ledger_walk_init(walk, &world->shape, -1);
    ledger_walk_begin(walk, &(struct ledger_place){.complete = -1, .top = -1});
    assert_true(walk_world_ask(world, walk, shelf, SIZE_MAX, &err) &&
                walk_world_ask(world, walk, shelf, SIZE_MAX, &err));
    char token[LEDGER_TOKEN_MAX + 1];
    snprintf(token, sizeof token, "%s", ledger_walk_token(walk).data);
    struct ledger_place place = {
        .complete = walk->complete, .token = bytes_of(token), .top = walk->top};
    assert_int_equal(place.complete, -1); /* nothing is, until the sweep has ended */
    ledger_walk_deinit(walk);
    free(walk);
    fill_blocks(world, 5, 1);
    assert_int_equal(run_once(world, &place, shelf), 3); /* two of the old sweep, one for the new */
    walk_world_expect(world, shelf);
    free(shelf);
    free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(oldest_first_by_number_finds_every_row),
        cmocka_unit_test(oldest_first_by_token_finds_every_row),
        cmocka_unit_test(newest_first_finds_every_row),
        cmocka_unit_test(partitions_are_walked_together),
        cmocka_unit_test(no_request_is_made_for_nothing),
        cmocka_unit_test(a_partition_that_is_over_is_left_alone_until_the_next_run),
        cmocka_unit_test(a_partition_that_ends_with_nothing_is_asked_once_more),
        cmocka_unit_test(a_partition_that_ends_with_nothing_again_may_have_more),
        cmocka_unit_test(a_block_that_a_page_cuts_is_read_whole),
        cmocka_unit_test(a_provider_that_cannot_count_far_enough_is_refused),
        cmocka_unit_test(a_provider_that_leads_from_nothing_to_nothing_is_refused),
        cmocka_unit_test(a_provider_that_leads_back_to_its_page_is_refused),
        cmocka_unit_test(pages_are_counted_within_one_block_only),
        cmocka_unit_test(ranges_pass_empty_blocks_and_lose_nothing),
        cmocka_unit_test(an_interrupted_sweep_is_finished_and_new_rows_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
