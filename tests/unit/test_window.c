/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/window.h"

#include "test_seed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct window_id id_of(uint64_t number)
{
    struct window_id id = {{0}};
    memcpy(id.byte, &number, sizeof number);
    return id;
}

static bool add(struct window *window, uint64_t number)
{
    struct window_id id = id_of(number);
    return window_add(window, &id);
}

static bool contains(const struct window *window, uint64_t number)
{
    struct window_id id = id_of(number);
    return window_contains(window, &id);
}

/* R003-49: the 501st id evicts the first. */
static void the_provider_window_keeps_the_last_500(void **state)
{
    (void)state;
    struct window window;
    window_init(&window, WINDOW_PROVIDER_SIZE);
    for (uint64_t i = 1; i <= 500; i++)
        assert_true(add(&window, i));
    assert_true(contains(&window, 1));
    assert_false(add(&window, 1));
    assert_true(add(&window, 501));
    assert_false(contains(&window, 1));
    assert_true(contains(&window, 2));
    assert_int_equal(window.count, 500);
    window_deinit(&window);
}

/* R003-49: the seed is recognised on the first page. R003-06: it comes from lastTransactionId. */
static void the_last_transaction_id_seeds_the_window(void **state)
{
    (void)state;
    struct window window;
    struct window_id id = {{0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb,
                            0xcc, 0xdd, 0xee, 0xff}};
    window_init(&window, WINDOW_STREAM_SIZE);
    assert_false(window_seed(&window, bytes_of("")));
    assert_false(window_seed(&window, BYTES_ABSENT));
    assert_false(window_seed(&window, bytes_of("0xabc:empty")));
    assert_false(window_seed(&window, bytes_of("00112233445566778899aabbccddeefg")));
    assert_int_equal(window.count, 0);
    assert_true(window_seed(&window, bytes_of("00112233445566778899aabbccddEEFF")));
    assert_false(window_add(&window, &id));
    assert_true(window_seed(&window, bytes_of("00112233445566778899aabbccddEEFF")));
    assert_int_equal(window.count, 1);
    window_deinit(&window);
}

/* R003-50: an overlap of 1,000 after a failover hands nothing on twice. */
static void an_overlap_of_a_whole_stream_window_is_absorbed(void **state)
{
    (void)state;
    struct window window;
    window_init(&window, WINDOW_STREAM_SIZE);
    for (uint64_t i = 0; i < 3000; i++)
        assert_true(add(&window, i));
    for (uint64_t i = 2000; i < 3000; i++)
        assert_false(add(&window, i));
    assert_true(add(&window, 3000));
    assert_true(add(&window, 1999)); /* older than the window: the store's key decides */
    window_deinit(&window);
}

static void a_page_given_up_is_forgotten(void **state)
{
    (void)state;
    struct window window;
    window_init(&window, 4);
    add(&window, 1);
    add(&window, 2);
    uint64_t mark = window_mark(&window);
    add(&window, 3);
    add(&window, 2); /* seen before the page: stays */
    add(&window, 4);
    add(&window, 5); /* pushes 1 out */
    window_rewind(&window, mark);
    assert_false(contains(&window, 3));
    assert_false(contains(&window, 5));
    assert_true(contains(&window, 2));
    assert_false(contains(&window, 1));
    assert_true(add(&window, 3));
    for (uint64_t i = 10; i < 20; i++)
        add(&window, i);
    window_rewind(&window, mark);
    assert_int_equal(window.count, 0);
    assert_true(add(&window, 3));
    window_deinit(&window);
}

/* Ids that share their first or last half are different ids: they are compared whole. */
static void ids_are_compared_whole(void **state)
{
    (void)state;
    struct window window;
    struct window_id id = {{0}};
    window_init(&window, 64);
    for (unsigned i = 0; i < sizeof id.byte; i++) {
        assert_true(window_add(&window, &id));
        id.byte[i] = 1;
        assert_false(window_contains(&window, &id));
    }
    window_deinit(&window);
}

/* A plain model: the ids in order of addition, searched from end to end. */
struct plain {
    uint64_t id[WINDOW_STREAM_SIZE];
    size_t count, size;
};

static bool plain_contains(const struct plain *m, uint64_t number)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->id[i] == number)
            return true;
    return false;
}

static bool plain_add(struct plain *m, uint64_t number)
{
    if (plain_contains(m, number))
        return false;
    if (m->count == m->size)
        memmove(m->id, m->id + 1, --m->count * sizeof *m->id);
    m->id[m->count++] = number;
    return true;
}

static void random_round(struct seeded *random, size_t size, int operations)
{
    static struct plain m;
    struct window window;
    uint64_t mark = 0;
    window_init(&window, (uint32_t)size);
    m.count = 0;
    m.size = size;
    for (int i = 0; i < operations; i++) {
        uint64_t number = seeded_below(random, size * 2 + 1), dice = seeded_below(random, 1000);
        if (dice < 700) {
            assert_true(add(&window, number) == plain_add(&m, number));
        } else if (dice < 980) {
            assert_true(contains(&window, number) == plain_contains(&m, number));
        } else if (dice < 990) {
            mark = window_mark(&window);
        } else if (dice < 999) {
            uint64_t since = window_mark(&window) - mark;
            window_rewind(&window, mark);
            m.count -= since < m.count ? (size_t)since : m.count;
        } else if (dice == 999 && i % 8 == 0) {
            window_clear(&window);
            m.count = 0;
        }
        assert_int_equal(window.count, m.count);
    }
    for (uint64_t number = 0; number <= size * 2; number++)
        assert_true(contains(&window, number) == plain_contains(&m, number));
    window_deinit(&window);
}

static void it_agrees_with_a_plain_model_over_random_operations(void **state)
{
    (void)state;
    struct seeded random = seeded_start("window");
    for (int round = 0; round < 10; round++) {
        random_round(&random, 1, 10000);
        random_round(&random, 2, 10000);
        random_round(&random, 3, 20000);
        random_round(&random, 7, 20000);
        random_round(&random, 31, 30000);
        random_round(&random, 64, 30000);
    }
    random_round(&random, WINDOW_PROVIDER_SIZE, 10000);
    random_round(&random, WINDOW_STREAM_SIZE, 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_provider_window_keeps_the_last_500),
        cmocka_unit_test(the_last_transaction_id_seeds_the_window),
        cmocka_unit_test(an_overlap_of_a_whole_stream_window_is_absorbed),
        cmocka_unit_test(a_page_given_up_is_forgotten),
        cmocka_unit_test(ids_are_compared_whole),
        cmocka_unit_test(it_agrees_with_a_plain_model_over_random_operations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
