/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/timer_heap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void an_error_keeps_its_code_and_sentence(void **state)
{
    (void)state;
    struct err err;
    assert_int_equal(err_set(&err, RC_REJECT, "bad %s", "thing"), RC_REJECT);
    assert_string_equal(err.text, "bad thing");
    assert_int_equal(err_wrap(&err, RC_RETRY, "line %d", 7), RC_RETRY);
    assert_string_equal(err.text, "line 7: bad thing");
    assert_int_equal(err_set(NULL, RC_FATAL, "nobody listens"), RC_FATAL);
}

static void numbers_are_read_strictly(void **state)
{
    (void)state;
    uint64_t u;
    int64_t i;
    assert_true(bytes_to_u64(bytes_of("18446744073709551615"), &u));
    assert_true(u == UINT64_MAX);
    assert_false(bytes_to_u64(bytes_of("18446744073709551616"), &u));
    assert_false(bytes_to_u64(bytes_of(""), &u));
    assert_false(bytes_to_u64(bytes_of("1 "), &u));
    assert_true(bytes_to_i64(bytes_of("-9223372036854775808"), &i));
    assert_true(i == INT64_MIN);
    assert_false(bytes_to_i64(bytes_of("-9223372036854775809"), &i));
    assert_false(bytes_to_i64(bytes_of("-"), &i));
}

static void a_full_arena_answers_null_and_moves_nothing(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena, 64);
    struct bytes copy = arena_copy(&arena, bytes_of("kept"));
    assert_non_null(arena_take(&arena, 48));
    assert_null(arena_take(&arena, 1));
    assert_null(arena_copy(&arena, bytes_of("x")).data);
    assert_true(bytes_equal_string(copy, "kept"));
    arena_reset(&arena);
    assert_non_null(arena_take(&arena, 64));
    arena_deinit(&arena);
}

static void mark(void *arg)
{
    (*(int *)arg)++;
}

static void timers_fire_in_order_of_time_then_arming(void **state)
{
    (void)state;
    enum { COUNT = 500 };
    struct timer_heap heap = {0};
    static struct timer timers[COUNT];
    int fired = 0;
    srand(7);
    for (int i = 0; i < COUNT; i++) {
        timers[i] = (struct timer){.fn = mark, .arg = &fired};
        timer_heap_arm(&heap, &timers[i], rand() % 50);
    }
    for (int i = 0; i < COUNT; i += 3)
        timer_heap_disarm(&heap, &timers[i]);
    int64_t due = -1;
    uint64_t order = 0;
    assert_null(timer_heap_pop(&heap, -1));
    for (struct timer *t; (t = timer_heap_pop(&heap, 50)) != NULL; t->fn(t->arg)) {
        assert_true(t->due_us > due || (t->due_us == due && t->order > order));
        due = t->due_us;
        order = t->order;
    }
    assert_int_equal(fired, COUNT - (COUNT + 2) / 3);
    timer_heap_deinit(&heap);
}

static void text_grows_and_stays_terminated(void **state)
{
    (void)state;
    struct text text = {0};
    assert_string_equal(text_string(&text), "");
    for (int i = 0; i < 1000; i++)
        text_appendf(&text, "%d,", i);
    assert_int_equal(strlen(text_string(&text)), text.len);
    text_clear(&text);
    text_append_string(&text, "again");
    assert_string_equal(text_string(&text), "again");
    text_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_keeps_its_code_and_sentence),
        cmocka_unit_test(numbers_are_read_strictly),
        cmocka_unit_test(a_full_arena_answers_null_and_moves_nothing),
        cmocka_unit_test(timers_fire_in_order_of_time_then_arming),
        cmocka_unit_test(text_grows_and_stays_terminated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
