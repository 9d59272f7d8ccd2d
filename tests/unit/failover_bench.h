/* SPDX-License-Identifier: Apache-2.0
 *
 * failover_bench.h - a group of providers without settings of its own, and a stream of it. */
#ifndef TESTS_FAILOVER_BENCH_H
#define TESTS_FAILOVER_BENCH_H

#include "ingest/failover.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define SECOND INT64_C(1000000)
#define MINUTE (60 * SECOND)

/* Bits that stand for cursor kinds; only the caller knows what they mean. */
enum { BLOCK = 1, TIME = 2, HASH = 4, SIGNATURE = 8, TOKEN = 16 };

extern const struct provider_failure broken;

/* Made anew for each test. */
extern struct failover group;
extern struct failover_stream stream;

#define ON_GROUP(test) cmocka_unit_test_setup(test, failover_bench_set_up)

int failover_bench_set_up(void **state);
/* A provider, which must be taken; its number. */
int add(const char *name, uint32_t kinds, uint32_t preferred, int32_t priority);
struct failover_offer offer_of(uint32_t portable, uint32_t scoped, int owner);
/* Somebody must be there. */
struct failover_pick choose(struct failover_stream *of, struct failover_offer offer,
                            int64_t now_us);
void let_fail(struct failover_stream *of, const struct failover_pick *pick, int64_t now_us);

#endif
