/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/fault.h"
#include "sim/query_string.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void arm(struct fault_plan *plan, const char *query)
{
    struct err err;
    assert_int_equal(fault_plan_arm(plan, bytes_of(query), &err), RC_OK);
}

static void a_fault_fires_after_its_wait_as_often_as_planned(void **state)
{
    (void)state;
    struct fault_plan plan = {0};
    char fired[9] = "";
    arm(&plan, "name=drop&after=2&count=2");
    for (int i = 0; i < 8; i++)
        fired[i] = fault_plan_fire(&plan, FAULT_DROP, "x") == NULL ? '.' : '!';
    assert_string_equal(fired, "..!..!..");
    assert_int_equal(plan.fired[FAULT_DROP], 2);
    assert_int_equal(plan.armed_count, 0);
}

static void an_opportunity_of_another_kind_or_collection_does_not_count(void **state)
{
    (void)state;
    struct fault_plan plan = {0};
    arm(&plan, "name=stall&collection=app.bsky.feed.post&ms=7");
    assert_null(fault_plan_fire(&plan, FAULT_DROP, "app.bsky.feed.post"));
    assert_null(fault_plan_fire(&plan, FAULT_STALL, "app.bsky.feed.like"));
    const struct fault *fault = fault_plan_fire(&plan, FAULT_STALL, "app.bsky.feed.post");
    assert_non_null(fault);
    assert_int_equal(fault->ms, 7);
    assert_int_equal(plan.fired[FAULT_STALL], 1);
}

static void a_disarmed_fault_does_not_fire_and_keeps_its_count(void **state)
{
    (void)state;
    struct fault_plan plan = {0};
    struct err err;
    arm(&plan, "name=drop&count=5");
    arm(&plan, "name=reset&count=5");
    assert_non_null(fault_plan_fire(&plan, FAULT_DROP, ""));
    assert_true(fault_plan_disarm(&plan, bytes_of("drop")));
    assert_null(fault_plan_fire(&plan, FAULT_DROP, ""));
    assert_int_equal(plan.fired[FAULT_DROP], 1);
    assert_int_equal(plan.armed_count, 1);
    assert_true(fault_plan_disarm(&plan, BYTES_ABSENT));
    assert_int_equal(plan.armed_count, 0);
    assert_false(fault_plan_disarm(&plan, bytes_of("nothing")));
    assert_int_equal(fault_plan_arm(&plan, bytes_of("name=nothing"), &err), RC_REJECT);
}

static void parameters_are_decoded_and_may_repeat(void **state)
{
    (void)state;
    struct query_walk walk = query_walk(bytes_of("a=1&&a=%41+b%3d&c&d=%4"));
    const char *expected[] = {"a", "1", "a", "A b=", "c", "", "d", "%4"};
    for (size_t i = 0; i < 8; i += 2) {
        assert_true(query_walk_next(&walk));
        assert_true(bytes_equal_string(walk.name, expected[i]));
        assert_true(bytes_equal_string(walk.value, expected[i + 1]));
    }
    assert_false(query_walk_next(&walk));
    query_walk_deinit(&walk);
    assert_int_equal(query_get_u64(bytes_of("x=12&y=z"), "x", 3), 12);
    assert_int_equal(query_get_u64(bytes_of("x=12&y=z"), "y", 3), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fault_fires_after_its_wait_as_often_as_planned),
        cmocka_unit_test(an_opportunity_of_another_kind_or_collection_does_not_count),
        cmocka_unit_test(a_disarmed_fault_does_not_fire_and_keeps_its_count),
        cmocka_unit_test(parameters_are_decoded_and_may_repeat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
