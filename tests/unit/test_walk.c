/* SPDX-License-Identifier: Apache-2.0
 *
 * Which page a request means, and which places are kept for the way back. */
#include "query/walk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int set_up(void **state)
{
    struct walk *walk = memory_new(sizeof *walk);
    walk_init(walk);
    *state = walk;
    return 0;
}

static int tear_down(void **state)
{
    struct walk *walk = *state;
    walk_clear(walk);
    free(walk);
    return 0;
}

static struct row_key key_at(int64_t value)
{
    struct row_key key = {0};
    const struct field parts[] = {field_int(value), field_int(-value)};
    assert_true(row_key_set(&key, parts, 2));
    return key;
}

static int64_t value_at(const struct walk *walk, int place)
{
    return walk->places[place].key.count == 0 ? 0 : walk->places[place].key.parts[0].i;
}

static struct walk_step plan(struct walk *walk, enum walk_direction direction, int64_t page)
{
    struct walk_step step;
    struct refusal refusal = {0};
    assert_int_equal(walk_plan(walk, direction, &page, &step, &refusal), RC_OK);
    assert_int_equal(step.number, page);
    return step;
}

static struct walk_step plan_unnamed(struct walk *walk, enum walk_direction direction)
{
    struct walk_step step;
    struct refusal refusal = {0};
    assert_int_equal(walk_plan(walk, direction, NULL, &step, &refusal), RC_OK);
    return step;
}

static void expect_conflict(struct walk *walk, enum walk_direction direction, int64_t page)
{
    struct walk_step step;
    struct refusal refusal = {0};
    assert_int_equal(walk_plan(walk, direction, &page, &step, &refusal), RC_REJECT);
    assert_int_equal(refusal.code, REFUSAL_CONFLICT);
}

/* Pages 0, 1, ... that end at 10, 20, ... */
static void go_on(struct walk *walk, int pages, bool has_more)
{
    for (int i = 0; i < pages; i++) {
        struct walk_step step = plan_unnamed(walk, WALK_NEXT);
        struct row_key end = key_at((step.number + 1) * 10);
        assert_int_equal(step.kind, WALK_FORWARD);
        walk_take(walk, &step, &end, has_more || i < pages - 1, 10);
        assert_int_equal(end.count, 0);
    }
}

static void a_fresh_walk_begins_with_page_0_at_the_first_row(void **state) /* R004-23 */
{
    struct walk *walk = *state;
    struct walk_step step = plan_unnamed(walk, WALK_NEXT);
    assert_int_equal(step.kind, WALK_FORWARD);
    assert_int_equal(step.number, 0);
    assert_int_equal(walk->places[step.to].key.count, 0);
    expect_conflict(walk, WALK_NEXT, 1);
    expect_conflict(walk, WALK_NEXT, -1);
    expect_conflict(walk, WALK_PREVIOUS, 0);
    expect_conflict(walk, WALK_PREVIOUS, -1);
    assert_true(walk_has_more(walk));
}

static void the_last_page_can_be_asked_for_again_and_its_neighbours(void **state) /* R004-16 */
{
    struct walk *walk = *state;
    go_on(walk, 4, true);
    for (enum walk_direction way = WALK_NEXT; way <= WALK_PREVIOUS; way++) {
        struct walk_step again = plan(walk, way, 3);
        assert_int_equal(again.kind, WALK_KNOWN);
        assert_int_equal(value_at(walk, again.to), 30);
        assert_int_equal(value_at(walk, again.to + 1), 40);
        walk_take(walk, &again, NULL, false, 0);
    }
    assert_int_equal(plan(walk, WALK_NEXT, 4).kind, WALK_FORWARD);
    assert_int_equal(plan(walk, WALK_PREVIOUS, 2).kind, WALK_KNOWN);
    expect_conflict(walk, WALK_NEXT, 2);
    expect_conflict(walk, WALK_NEXT, 5);
    expect_conflict(walk, WALK_PREVIOUS, 4);
    expect_conflict(walk, WALK_PREVIOUS, 1);
}

static void there_and_back_are_the_same_intervals(void **state)
{
    struct walk *walk = *state;
    go_on(walk, 5, false);
    for (int64_t page = 3; page >= 0; page--) {
        struct walk_step step = plan_unnamed(walk, WALK_PREVIOUS);
        assert_int_equal(step.kind, WALK_KNOWN);
        assert_int_equal(step.number, page);
        assert_int_equal(value_at(walk, step.to), page * 10);
        walk_take(walk, &step, NULL, false, 0);
        assert_true(walk_has_more(walk));
        assert_int_equal(walk_has_previous(walk), page > 0);
    }
    for (int64_t page = 1; page <= 4; page++) {
        struct walk_step step = plan_unnamed(walk, WALK_NEXT);
        assert_int_equal(step.kind, WALK_KNOWN);
        assert_int_equal(value_at(walk, step.to), page * 10);
        walk_take(walk, &step, NULL, false, 0);
        assert_int_equal(walk_has_more(walk), page < 4);
    }
}

static void beyond_an_end_is_nothing_and_the_way_back_is_the_last_page(void **state) /* R004-17 */
{
    struct walk *walk = *state;
    go_on(walk, 2, false);
    for (int i = 0; i < 5; i++) {
        struct walk_step step = plan_unnamed(walk, WALK_NEXT);
        assert_int_equal(step.kind, WALK_NOWHERE);
        assert_int_equal(step.number, 2);
        walk_take(walk, &step, NULL, false, 0);
        assert_false(walk_has_more(walk));
        assert_true(walk_has_previous(walk));
    }
    assert_int_equal(plan(walk, WALK_NEXT, 7).kind, WALK_NOWHERE);
    struct walk_step back = plan_unnamed(walk, WALK_PREVIOUS);
    assert_int_equal(back.kind, WALK_KNOWN);
    assert_int_equal(back.number, 1);
    walk_take(walk, &back, NULL, false, 0);
    back = plan_unnamed(walk, WALK_PREVIOUS);
    assert_int_equal(back.number, 0);
    walk_take(walk, &back, NULL, false, 0);
    back = plan_unnamed(walk, WALK_PREVIOUS);
    assert_int_equal(back.kind, WALK_NOWHERE);
    assert_int_equal(back.number, -1);
    walk_take(walk, &back, NULL, false, 0);
    assert_false(walk_has_previous(walk));
    assert_true(walk_has_more(walk));
    assert_int_equal(plan_unnamed(walk, WALK_NEXT).number, 0);
    assert_int_equal(plan_unnamed(walk, WALK_PREVIOUS).number, -1);
}

static void an_empty_result_is_page_0_and_stays_empty(void **state)
{
    struct walk *walk = *state;
    struct row_key none = {0};
    struct walk_step step = plan_unnamed(walk, WALK_NEXT);
    walk_take(walk, &step, &none, false, 10);
    assert_false(walk_has_more(walk));
    assert_false(walk_has_previous(walk));
    step = plan(walk, WALK_NEXT, 0);
    assert_int_equal(step.kind, WALK_KNOWN);
    assert_true(walk->places[step.to + 1].empty);
}

static void a_long_way_back_leaves_the_known_places(void **state)
{
    struct walk *walk = *state;
    go_on(walk, 100, false);
    assert_int_equal(walk->count, WALK_PLACES_MAX);
    for (int i = 0; i < WALK_PLACES_MAX - 2; i++) {
        struct walk_step step = plan_unnamed(walk, WALK_PREVIOUS);
        assert_int_equal(step.kind, WALK_KNOWN);
        walk_take(walk, &step, NULL, false, 0);
    }
    struct walk_step step = plan_unnamed(walk, WALK_PREVIOUS);
    assert_int_equal(step.kind, WALK_BACK);
    assert_int_equal(step.number, 100 - WALK_PLACES_MAX);
    assert_int_equal(value_at(walk, step.to), (100 - WALK_PLACES_MAX + 1) * 10);
    struct row_key start = key_at(7);
    walk_take(walk, &step, &start, true, 33);
    assert_int_equal(walk->count, WALK_PLACES_MAX);
    assert_int_equal(value_at(walk, walk->at), 7);
    assert_int_equal(walk->places[walk->at + 1].size, 33);
    assert_false(walk->ended); /* the last place went, and with it what is known of it */
    assert_true(walk_has_previous(walk));
    step = plan_unnamed(walk, WALK_PREVIOUS);
    walk_take(walk, &step, &(struct row_key){0}, true, 33);
    assert_false(walk_has_previous(walk));
}

static void a_walk_that_begins_in_the_middle_goes_both_ways(void **state)
{
    struct walk *walk = *state;
    struct row_key start = key_at(50), end = key_at(60);
    walk_begin_between(walk, &start, &end, true, 10);
    expect_conflict(walk, WALK_PREVIOUS, -1);
    struct walk_step step = plan_unnamed(walk, WALK_NEXT);
    assert_int_equal(step.kind, WALK_KNOWN);
    assert_int_equal(step.number, 0);
    walk_take(walk, &step, NULL, false, 0);
    assert_true(walk_has_previous(walk));
    assert_int_equal(plan(walk, WALK_NEXT, 1).kind, WALK_FORWARD);
    assert_int_equal(plan(walk, WALK_PREVIOUS, -1).kind, WALK_BACK);
}

static void bytes_are_the_walk_again(void **state)
{
    struct walk *walk = *state;
    struct walk copy;
    struct text bytes = {0}, twice = {0};
    const struct field parts[] = {field_real(-0.1), field_null(FIELD_TEXT),
                                  field_text(bytes_make("a\0b", 3)), field_text(bytes_of("")),
                                  field_int(INT64_MIN)};
    struct row_key key = {0};
    assert_true(row_key_set(&key, parts, 5));
    struct walk_step step = plan_unnamed(walk, WALK_NEXT);
    walk_take(walk, &step, &key, false, 1000);
    step = plan_unnamed(walk, WALK_NEXT);
    walk_take(walk, &step, NULL, false, 0);
    walk_encode(walk, &bytes);
    assert_true(walk_decode(&copy, text_bytes(&bytes), 5));
    walk_encode(&copy, &twice);
    assert_true(bytes_equal(text_bytes(&bytes), text_bytes(&twice)));
    assert_int_equal(copy.beyond, 1);
    assert_int_equal(copy.places[1].key.parts[2].b.len, 3);
    walk_clear(&copy);
    /* Anything else is no walk, and no byte of it is read that is not there. */
    assert_false(walk_decode(&copy, text_bytes(&bytes), 4));
    for (size_t len = 0; len < bytes.len; len++) {
        char *exact = memory_new(len + 1);
        memcpy(exact, bytes.data, len);
        exact = memory_resize(exact, len == 0 ? 1 : len);
        assert_false(walk_decode(&copy, bytes_make(exact, len), 5));
        free(exact);
    }
    for (size_t at = 0; at < bytes.len; at++) {
        for (int bit = 0; bit < 8; bit++) {
            bytes.data[at] = (char)(bytes.data[at] ^ 1 << bit);
            if (walk_decode(&copy, text_bytes(&bytes), 5))
                walk_clear(&copy);
            bytes.data[at] = (char)(bytes.data[at] ^ 1 << bit);
        }
    }
    text_free(&bytes);
    text_free(&twice);
}

int main(void)
{
#define WALK(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WALK(a_fresh_walk_begins_with_page_0_at_the_first_row),
        WALK(the_last_page_can_be_asked_for_again_and_its_neighbours),
        WALK(there_and_back_are_the_same_intervals),
        WALK(beyond_an_end_is_nothing_and_the_way_back_is_the_last_page),
        WALK(an_empty_result_is_page_0_and_stays_empty),
        WALK(a_long_way_back_leaves_the_known_places),
        WALK(a_walk_that_begins_in_the_middle_goes_both_ways),
        WALK(bytes_are_the_walk_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
