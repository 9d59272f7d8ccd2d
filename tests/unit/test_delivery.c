/* SPDX-License-Identifier: Apache-2.0
 *
 * A source that wants a batch while there is none, on a clock that the test moves. */
#include "desk_clock.h"
#include "source/delivery.h"
#include "sys/batch_pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define A_WHILE_US 1000000
#define TURNS_MAX  100 /* of timers, in one such while */

struct desk {
    struct desk_clock clock; /* first */
    struct source_env env;
    struct delivery delivery;
    struct batch *others; /* the only one there is, and another source has it */
    unsigned ready;
};

static void note_ready(void *arg)
{
    ((struct desk *)arg)->ready++;
}

static void note_stored(void *arg, enum rc rc)
{
    (void)arg, (void)rc;
}

static int set_up(void **state)
{
    static const struct runtime_ops ops = {.wall_us = desk_wall_us,
                                           .mono_us = desk_mono_us,
                                           .random = desk_chance,
                                           .timer_arm = desk_arm,
                                           .timer_disarm = desk_disarm};
    struct desk *desk = memory_new_zeroed(1, sizeof *desk);
    desk->clock.runtime.ops = &ops;
    desk->env =
        (struct source_env){.runtime = &desk->clock.runtime, .pool = batch_pool_new(1, 1 << 16)};
    desk->others = batch_take(desk->env.pool);
    delivery_init(&desk->delivery, &desk->env, note_ready, note_stored, desk);
    *state = desk;
    return 0;
}

static void bring_back(struct desk *desk)
{
    if (desk->others != NULL)
        batch_give_back(desk->others);
    desk->others = NULL;
}

static int tear_down(void **state)
{
    struct desk *desk = *state;
    bring_back(desk);
    delivery_drop(&desk->delivery);
    batch_pool_free(desk->env.pool);
    timer_heap_deinit(&desk->clock.timers);
    free(desk);
    return 0;
}

/* As a loop does it: whatever is due. */
static void let_pass(struct desk *desk)
{
    struct timer *timer;
    desk->clock.mono_us += A_WHILE_US;
    for (int i = 0; (timer = timer_heap_pop(&desk->clock.timers, desk->clock.mono_us)) != NULL;
         i++) {
        assert_in_range(i, 0, TURNS_MAX);
        timer->fn(timer->arg);
    }
}

static void who_asks_again_while_there_is_none_waits_once(void **state)
{
    struct desk *desk = *state;
    for (int i = 0; i < 3; i++)
        assert_null(delivery_take(&desk->delivery));
    assert_int_equal(desk->clock.timers.count, 1);
    bring_back(desk);
    let_pass(desk);
    assert_int_equal(desk->ready, 1);
    assert_non_null(delivery_take(&desk->delivery));
    assert_int_equal(desk->clock.timers.count, 0);
}

static void who_asked_twice_and_gives_up_is_not_called(void **state)
{
    struct desk *desk = *state;
    assert_null(delivery_take(&desk->delivery));
    assert_null(delivery_take(&desk->delivery));
    delivery_drop(&desk->delivery);
    assert_int_equal(desk->clock.timers.count, 0);
    bring_back(desk);
    let_pass(desk);
    assert_int_equal(desk->ready, 0);
}

int main(void)
{
#define ON_DESK(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ON_DESK(who_asks_again_while_there_is_none_waits_once),
        ON_DESK(who_asked_twice_and_gives_up_is_not_called),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
