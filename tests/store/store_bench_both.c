/* SPDX-License-Identifier: Apache-2.0 */
#include "store_bench_both.h"

#include <stdio.h>

enum fixture_kind store_bench_kind;
unsigned store_bench_executed;

static int run_on(enum fixture_kind kind, const struct CMUnitTest *tests, size_t count)
{
    store_bench_kind = kind;
    store_bench_executed = 0;
    int failed = _cmocka_run_group_tests(fixture_kind_name(kind), tests, count, NULL, NULL);
    printf("store=%s tests=%u\n", fixture_kind_name(kind), store_bench_executed);
    return failed;
}

int store_bench_run_both(const struct CMUnitTest *tests, size_t count)
{
    return run_on(FIXTURE_SQLITE, tests, count) + run_on(FIXTURE_POSTGRES, tests, count);
}
