/* SPDX-License-Identifier: Apache-2.0
 *
 * Pieces of all keys: none is left out, none is told twice, however they are cut. */
#include "chance.h"
#include "store/key_piece.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define ROUNDS 2000

static int compare(struct bytes a, struct bytes b)
{
    int order = memcmp(a.data, b.data, a.len < b.len ? a.len : b.len);
    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

static void everything_is_one_piece(void **state)
{
    (void)state;
    struct key_piece piece = key_piece_all();
    char first[KEY_PIECE_KEY_MAX], end[KEY_PIECE_KEY_MAX], last[16];
    memset(last, 0xff, sizeof last);
    assert_true(compare(key_piece_first(&piece, first), bytes_make("\0\0\0\0\0\0\0\0", 8)) == 0);
    assert_true(compare(key_piece_end(&piece, end), bytes_make(last, sizeof last)) > 0);
    assert_false(key_piece_next(&piece));
}

static void behind_two_halves_comes_a_whole(void **state)
{
    (void)state;
    struct key_piece piece = key_piece_all();
    key_piece_halve(&piece);
    key_piece_halve(&piece);
    assert_true(piece.from == 0 && piece.bits == 62);
    assert_true(key_piece_next(&piece));
    assert_true(piece.from == UINT64_C(1) << 62 && piece.bits == 62);
    assert_true(key_piece_next(&piece));
    assert_true(piece.from == UINT64_C(1) << 63 && piece.bits == 63);
    assert_false(key_piece_next(&piece));
}

static void the_smallest_piece_stays(void **state)
{
    (void)state;
    struct key_piece piece = key_piece_all();
    for (unsigned i = 0; i < 2 * KEY_PIECE_BITS; i++)
        key_piece_halve(&piece);
    assert_int_equal(piece.bits, 0);
    for (unsigned i = 1; key_piece_next(&piece); i++)
        assert_true(i <= KEY_PIECE_BITS + 1); /* they grow again */
}

static void pieces_follow_each_other_without_gap_or_overlap(void **state)
{
    (void)state;
    struct chance chance = chance_init("key_piece");
    for (int round = 0; round < ROUNDS; round++) {
        struct key_piece piece = key_piece_all();
        char first[KEY_PIECE_KEY_MAX], end[KEY_PIECE_KEY_MAX], before[KEY_PIECE_KEY_MAX] = "";
        struct bytes from = bytes_make(before, 8);
        do {
            while (chance_below(&chance, 3) == 0)
                key_piece_halve(&piece);
            assert_true(compare(key_piece_first(&piece, first), from) == 0);
            from = key_piece_end(&piece, end);
            assert_true(compare(key_piece_first(&piece, first), from) < 0);
            memcpy(before, end, sizeof before);
            from.data = before;
        } while (key_piece_next(&piece));
        assert_int_equal(from.len, KEY_PIECE_KEY_MAX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_one_piece),
        cmocka_unit_test(behind_two_halves_comes_a_whole),
        cmocka_unit_test(the_smallest_piece_stays),
        cmocka_unit_test(pieces_follow_each_other_without_gap_or_overlap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
