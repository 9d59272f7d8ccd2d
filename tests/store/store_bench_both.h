/* SPDX-License-Identifier: Apache-2.0
 *
 * store_bench_both.h - runs a group of tests on SQLite and on PostgreSQL.
 *
 * `store_bench_kind` says which database the next set-up takes; every set-up counts itself in
 * `store_bench_executed`. */
#ifndef TESTS_STORE_BENCH_BOTH_H
#define TESTS_STORE_BENCH_BOTH_H

#include "fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

extern enum fixture_kind store_bench_kind;
extern unsigned store_bench_executed;

/* Prints how many ran on each, and gives the failures. */
int store_bench_run_both(const struct CMUnitTest *tests, size_t count);

#endif
