/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/name_board.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define PLACES 64

static bool has(const struct name_board *board, const char *name)
{
    return name_board_has(board, bytes_of(name));
}

static void a_name_is_there_from_put_to_clear(void **state)
{
    struct name_board *board = name_board_new(PLACES, 7);
    (void)state;
    assert_false(has(board, "a"));
    name_board_put(board, PLACES - 1, bytes_of("a"));
    name_board_put(board, 0, bytes_of("b"));
    assert_true(has(board, "a") && has(board, "b"));
    assert_false(has(board, "") || has(board, "ab"));
    name_board_put(board, 0, bytes_of("c")); /* in its place */
    assert_true(has(board, "c"));
    assert_false(has(board, "b"));
    name_board_clear(board, PLACES - 1);
    assert_false(has(board, "a"));
    name_board_free(board);
    name_board_free(NULL);
}

/* Two blocks may want one document in two spellings. */
static void a_name_that_stands_twice_stays_until_both_are_gone(void **state)
{
    struct name_board *board = name_board_new(PLACES, 7);
    (void)state;
    name_board_put(board, 3, bytes_of("a"));
    name_board_put(board, 5, bytes_of("a"));
    name_board_clear(board, 3);
    assert_true(has(board, "a"));
    name_board_clear(board, 5);
    assert_false(has(board, "a"));
    name_board_free(board);
}

static void all_places_can_be_taken(void **state)
{
    struct name_board *board = name_board_new(PLACES, 7);
    char name[16];
    (void)state;
    for (uint32_t i = 0; i < PLACES; i++) {
        snprintf(name, sizeof name, "name %u", (unsigned)i);
        name_board_put(board, i, bytes_of(name));
    }
    for (uint32_t i = 0; i < PLACES; i++) {
        snprintf(name, sizeof name, "name %u", (unsigned)i);
        assert_true(has(board, name));
        name_board_clear(board, i);
        assert_false(has(board, name));
    }
    name_board_free(board);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_there_from_put_to_clear),
        cmocka_unit_test(a_name_that_stands_twice_stays_until_both_are_gone),
        cmocka_unit_test(all_places_can_be_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
