/* SPDX-License-Identifier: Apache-2.0 */
#include "base/id_set.h"
#include "test_seed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct bytes plc_of(uint64_t number, char out[ID_SET_PLC_LEN])
{
    struct seeded random = {number};
    memcpy(out, "did:plc:", 8);
    for (int i = 8; i < ID_SET_PLC_LEN; i++)
        out[i] = "abcdefghijklmnopqrstuvwxyz234567"[seeded_below(&random, 32)];
    return bytes_make(out, ID_SET_PLC_LEN);
}

static void ids_are_added_found_and_removed_once(void **state)
{
    (void)state;
    struct id_set set;
    struct bytes did = bytes_of("did:plc:z72i7hdynmk6r22z27h6tvur");
    id_set_init(&set, 1);
    assert_int_equal(id_set_memory(&set), 0);
    assert_false(id_set_contains(&set, did) || id_set_remove(&set, did));
    assert_true(id_set_add(&set, did));
    assert_false(id_set_add(&set, did));
    assert_true(id_set_add(&set, bytes_of("did:web:example.com")));
    assert_false(id_set_add(&set, bytes_of("did:web:example.com")));
    assert_int_equal(id_set_count(&set), 2);
    assert_true(id_set_contains(&set, did));
    assert_true(id_set_contains(&set, bytes_of("did:web:example.com")));
    assert_true(id_set_remove(&set, did));
    assert_false(id_set_remove(&set, did));
    assert_false(id_set_contains(&set, did));
    assert_int_equal(id_set_count(&set), 1);
    id_set_clear(&set);
    assert_int_equal(id_set_count(&set) + id_set_memory(&set), 0);
    assert_false(id_set_contains(&set, bytes_of("did:web:example.com")));
    assert_true(id_set_add(&set, did));
    id_set_deinit(&set);
}

/* All of them almost the same id, and none of them the id. */
static void ids_that_look_alike_are_told_apart(void **state)
{
    (void)state;
    static const char *const ids[] = {
        "did:plc:aaaaaaaaaaaaaaaaaaaaaaaa", "did:plc:aaaaaaaaaaaaaaaaaaaaaaab",
        "did:plc:baaaaaaaaaaaaaaaaaaaaaaa", "did:plc:aaaaaaaaaaaaAaaaaaaaaaaa",
        "did:plc:aaaaaaaaaaaaaaaaaaaaaaa",  "did:plc:aaaaaaaaaaaaaaaaaaaaaaaaa",
        "did:plc:aaaaaaaaaaaaaaaaaaaaaaa1", "did:plc:aaaaaaaaaaaaaaaaaaaaaaa8",
        "did:plc:aaaaaaaaaaaaaaaaaaaaaaba", "did:plc:aaaaaaaaaaaaaaaaaaaaaaa2",
        "did:plc:aaaaaaaaaaaaaaaaaaaaaaa7", "did:plx:aaaaaaaaaaaaaaaaaaaaaaaa",
        "DID:PLC:aaaaaaaaaaaaaaaaaaaaaaaa", "did:plc:\xe1zzzzzzzzzzzzzzzzzzzzzzz",
        "aaaaaaaaaaaaaaaaaaaaaaaa",         "",
    };
    enum { COUNT = sizeof ids / sizeof ids[0] };
    struct id_set set;
    id_set_init(&set, 3);
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t j = 0; j < COUNT; j++)
            assert_int_equal(id_set_contains(&set, bytes_of(ids[j])), j < i);
        assert_true(id_set_add(&set, bytes_of(ids[i])));
    }
    assert_true(id_set_add(&set, bytes_make("a\0b", 3)));
    assert_false(id_set_contains(&set, bytes_make("a\0c", 3)));
    assert_false(id_set_contains(&set, bytes_of("a")));
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(id_set_remove(&set, bytes_of(ids[i])));
        for (size_t j = 0; j < COUNT; j++)
            assert_int_equal(id_set_contains(&set, bytes_of(ids[j])), j > i);
    }
    id_set_deinit(&set);
}

/* So many of one half that they meet in the table, and so many others that some share a hash. */
static void ids_that_meet_in_the_table_are_told_apart(void **state)
{
    (void)state;
    enum { COUNT = 300000 };
    struct seeded random = seeded_start(__func__);
    struct id_set set;
    char id[ID_SET_PLC_LEN], letters[ID_SET_PLC_LEN];
    id_set_init(&set, seeded_next(&random));
    for (uint64_t i = 0; i < COUNT; i++) {
        plc_of(i, letters);
        plc_of(0, id);
        memcpy(id + 8, letters + 8, 12);
        assert_true(id_set_add(&set, bytes_make(id, sizeof id)));
        plc_of(COUNT, id);
        memcpy(id + 20, letters + 20, 12);
        assert_true(id_set_add(&set, bytes_make(id, sizeof id)));
        int len = snprintf(id, sizeof id, "did:web:%09u", (unsigned)i);
        assert_true(id_set_add(&set, bytes_make(id, (size_t)len)));
    }
    assert_int_equal(id_set_count(&set), 3 * COUNT);
    id_set_deinit(&set);
}

static void a_million_dids_cost_at_most_32_bytes_each(void **state)
{
    (void)state;
    enum { COUNT = 1000000 };
    struct seeded random = seeded_start(__func__);
    uint64_t base = seeded_next(&random) >> 1;
    struct id_set set;
    char did[ID_SET_PLC_LEN];
    size_t worst = 0;
    id_set_init(&set, seeded_next(&random));
    for (uint64_t i = 0; i < COUNT; i++) {
        assert_true(id_set_add(&set, plc_of(base + i, did)));
        /* The bound holds all the way, also just after the table grew. */
        if (i >= 1000 && id_set_memory(&set) / id_set_count(&set) > worst)
            worst = id_set_memory(&set) / id_set_count(&set);
    }
    assert_int_equal(id_set_count(&set), COUNT);
    printf("bytes per DID: %.2f at the end, %zu at worst\n", (double)id_set_memory(&set) / COUNT,
           worst);
    assert_true(id_set_memory(&set) <= (size_t)32 * COUNT);
    assert_true(worst < 32);
    for (uint64_t i = 0; i < COUNT; i++) {
        assert_true(id_set_contains(&set, plc_of(base + i, did)));
        assert_false(id_set_contains(&set, plc_of(base + COUNT + i, did)));
    }
    id_set_deinit(&set);
}

enum { UNIVERSE = 6000 };

/* One in eight is no did:plc:, and some of those are very short or long. */
static struct bytes id_of(size_t number, char out[256])
{
    if (number % 8 != 0)
        return plc_of(number, out);
    int len = snprintf(out, 256, "did:web:%zu", number / 8);
    if (number % 16 == 0)
        len = snprintf(out, 256, "did:web:%0*zu.example.com", (int)(number / 16 % 200), number);
    return bytes_make(number % 24 == 0 ? out + 8 : out, (size_t)(number % 24 == 0 ? len - 8 : len));
}

static void assert_same(const struct id_set *set, const bool *model, size_t count)
{
    struct id_set_walk walk = id_set_walk(set);
    struct bytes id;
    size_t met = 0;
    char text[256];
    assert_int_equal(id_set_count(set), count);
    while (id_set_walk_next(&walk, &id)) {
        met++;
        assert_true(id_set_contains(set, id));
    }
    assert_int_equal(met, count);
    for (size_t i = 0; i < UNIVERSE; i++)
        assert_int_equal(id_set_contains(set, id_of(i, text)), model[i]);
}

static void a_million_random_operations_agree_with_a_naive_model(void **state)
{
    (void)state;
    struct seeded random = seeded_start(__func__);
    static bool model[UNIVERSE];
    struct id_set set;
    size_t count = 0, growing = 1;
    char text[256];
    id_set_init(&set, seeded_next(&random));
    for (int i = 0; i < 1000000; i++) {
        size_t number = seeded_below(&random, UNIVERSE);
        struct bytes id = id_of(number, text);
        size_t action = seeded_below(&random, 10);
        if (i % 20000 == 0)
            growing = seeded_below(&random, 7) + 1;
        if (action == 0 || action == 9) {
            assert_int_equal(id_set_contains(&set, id), model[number]);
        } else if (action <= growing) {
            assert_int_equal(id_set_add(&set, id), !model[number]);
            count += !model[number];
            model[number] = true;
        } else {
            assert_int_equal(id_set_remove(&set, id), model[number]);
            count -= model[number];
            model[number] = false;
        }
        if (i % 50000 == 0)
            assert_same(&set, model, count);
        if (i == 600000) {
            id_set_clear(&set);
            memset(model, 0, sizeof model);
            count = 0;
        }
    }
    assert_same(&set, model, count);
    /* What was removed does not pile up beside the table. */
    assert_true(set.others.len < (size_t)UNIVERSE / 8 * 256);
    id_set_deinit(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_added_found_and_removed_once),
        cmocka_unit_test(ids_that_look_alike_are_told_apart),
        cmocka_unit_test(ids_that_meet_in_the_table_are_told_apart),
        cmocka_unit_test(a_million_dids_cost_at_most_32_bytes_each),
        cmocka_unit_test(a_million_random_operations_agree_with_a_naive_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
