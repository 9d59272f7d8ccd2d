/* SPDX-License-Identifier: Apache-2.0
 *
 * both_stores.h - runs a group of tests on SQLite and on PostgreSQL.
 *
 * `both_stores_kind` says which database the next set-up takes; every set-up counts itself in
 * `both_stores_executed`. */
#ifndef TESTS_BOTH_STORES_H
#define TESTS_BOTH_STORES_H

#include "fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

extern enum fixture_kind both_stores_kind;
extern unsigned both_stores_executed;

/* Prints how many ran on each, and gives the failures. */
int both_stores_run(const struct CMUnitTest *tests, size_t count);

#endif
