/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys that are known to be stored: some are forgotten, none is made up. */
#include "store/known_keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MANY 100000

static struct bytes key_of(int number, char out[40])
{
    snprintf(out, 40, "did:plc:%024d", number);
    return bytes_of(out);
}

static void what_was_added_is_held_until_all_is_cleared(void **state)
{
    (void)state;
    struct known_keys keys = {0};
    char out[40];
    assert_false(known_keys_hold(&keys, key_of(1, out)));
    for (int i = 0; i < 4; i++)
        known_keys_add(&keys, key_of(i, out));
    for (int i = 0; i < 4; i++)
        assert_true(known_keys_hold(&keys, key_of(i, out)));
    known_keys_clear(&keys);
    for (int i = 0; i < 4; i++)
        assert_false(known_keys_hold(&keys, key_of(i, out)));
    known_keys_deinit(&keys);
}

static void a_key_is_held_by_all_of_its_bytes(void **state)
{
    (void)state;
    struct known_keys keys = {0};
    char key[40] = "did:plc:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", longer[41];
    assert_int_equal(strlen(key), 39);
    snprintf(longer, sizeof longer, "%sa", key);
    known_keys_add(&keys, bytes_of(longer));
    assert_false(known_keys_hold(&keys, bytes_of(longer)));
    known_keys_add(&keys, bytes_of(key));
    assert_true(known_keys_hold(&keys, bytes_of(key)));
    assert_false(known_keys_hold(&keys, bytes_of(longer)));
    assert_false(known_keys_hold(&keys, bytes_make(key, 38)));
    known_keys_add(&keys, bytes_make(key, 0));
    assert_false(known_keys_hold(&keys, bytes_make(key, 0)));
    known_keys_deinit(&keys);
}

static void more_keys_than_places_push_out_older_ones_and_none_is_made_up(void **state)
{
    (void)state;
    struct known_keys keys = {0};
    char out[40];
    int held = 0;
    for (int i = 0; i < MANY; i++) {
        known_keys_add(&keys, key_of(i, out));
        assert_true(known_keys_hold(&keys, key_of(i, out)));
    }
    for (int i = 0; i < MANY; i++)
        held += known_keys_hold(&keys, key_of(i, out));
    assert_true(held > 20000 && held <= 32768);
    for (int i = MANY; i < 2 * MANY; i++)
        assert_false(known_keys_hold(&keys, key_of(i, out)));
    known_keys_deinit(&keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_added_is_held_until_all_is_cleared),
        cmocka_unit_test(a_key_is_held_by_all_of_its_bytes),
        cmocka_unit_test(more_keys_than_places_push_out_older_ones_and_none_is_made_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
