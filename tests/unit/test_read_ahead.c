/* SPDX-License-Identifier: Apache-2.0 */
#include "desk_clock.h"
#include "ingest/read_ahead.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MIB    ((size_t)1 << 20)
#define SIZE   (16 * MIB)
#define SECOND INT64_C(1000000)

struct desk {
    struct desk_clock clock;
    struct read_ahead ahead;
    bool held;
    unsigned times;
};

static void hold(void *arg, bool on)
{
    struct desk *desk = arg;
    assert_int_not_equal(desk->held, on);
    desk->held = on;
    desk->times++;
}

static void pass(struct desk *desk, int64_t us)
{
    struct timer *timer;
    desk->clock.mono_us += us;
    while ((timer = timer_heap_pop(&desk->clock.timers, desk->clock.mono_us)) != NULL)
        timer->fn(timer->arg);
}

static int set_up(void **state)
{
    static const struct runtime_ops ops = {
        .mono_us = desk_mono_us, .timer_arm = desk_arm, .timer_disarm = desk_disarm};
    static struct desk desk;
    desk = (struct desk){.clock = {.runtime = {.ops = &ops}}};
    read_ahead_init(&desk.ahead, &desk.clock.runtime, SIZE, hold, &desk);
    *state = &desk;
    return 0;
}

static int tear_down(void **state)
{
    struct desk *desk = *state;
    read_ahead_deinit(&desk->ahead);
    timer_heap_deinit(&desk->clock.timers);
    return 0;
}

static void the_wire_is_left_alone_while_much_waits(void **state)
{
    struct desk *desk = *state;
    for (int round = 0; round < 3; round++) {
        read_ahead_look(&desk->ahead, MIB);
        assert_false(desk->held);
        read_ahead_look(&desk->ahead, MIB + 1);
        assert_true(desk->held);
        pass(desk, SECOND - 1);
        read_ahead_look(&desk->ahead, MIB / 2 + 1);
        assert_true(desk->held);
        read_ahead_look(&desk->ahead, MIB / 2);
        assert_false(desk->held);
        pass(desk, 10 * SECOND);
        assert_int_equal(desk->times, 2 * (round + 1));
    }
}

/* A peer that hears no pong for five seconds goes. */
static void it_is_never_left_alone_for_long(void **state)
{
    struct desk *desk = *state;
    read_ahead_look(&desk->ahead, 2 * MIB);
    pass(desk, SECOND);
    assert_false(desk->held);
    read_ahead_look(&desk->ahead, 12 * MIB);
    assert_false(desk->held);
    read_ahead_look(&desk->ahead, 12 * MIB + 1);
    assert_true(desk->held);
    pass(desk, 3 * SECOND - 1);
    read_ahead_look(&desk->ahead, 11 * MIB);
    assert_true(desk->held);
    pass(desk, 1);
    assert_false(desk->held);
    read_ahead_look(&desk->ahead, SIZE);
    assert_false(desk->held);
    read_ahead_look(&desk->ahead, 0);
    read_ahead_look(&desk->ahead, 2 * MIB);
    assert_true(desk->held);
}

int main(void)
{
#define ON_DESK(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ON_DESK(the_wire_is_left_alone_while_much_waits),
        ON_DESK(it_is_never_left_alone_for_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
