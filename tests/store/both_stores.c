/* SPDX-License-Identifier: Apache-2.0 */
#include "both_stores.h"

#include <stdio.h>

enum fixture_kind both_stores_kind;
unsigned both_stores_executed;

static int run_on(enum fixture_kind kind, const struct CMUnitTest *tests, size_t count)
{
    both_stores_kind = kind;
    both_stores_executed = 0;
    int failed = _cmocka_run_group_tests(fixture_kind_name(kind), tests, count, NULL, NULL);
    printf("store=%s tests=%u\n", fixture_kind_name(kind), both_stores_executed);
    return failed;
}

int both_stores_run(const struct CMUnitTest *tests, size_t count)
{
    return run_on(FIXTURE_SQLITE, tests, count) + run_on(FIXTURE_POSTGRES, tests, count);
}
