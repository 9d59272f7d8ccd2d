/* SPDX-License-Identifier: Apache-2.0
 *
 * test_random.h - repeatable randomness for property tests.
 *
 * Every run takes a new seed and prints it; TEST_SEED in the environment repeats a run. */
#ifndef TESTS_UNIT_TEST_RANDOM_H
#define TESTS_UNIT_TEST_RANDOM_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct test_random {
    uint64_t state;
};

static inline uint64_t test_random_next(struct test_random *random)
{
    uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* From 0 to `end` - 1. */
static inline size_t test_random_below(struct test_random *random, size_t end)
{
    return (size_t)(test_random_next(random) % end);
}

static inline struct test_random test_random_start(const char *test)
{
    const char *given = getenv("TEST_SEED");
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t seed = (uint64_t)now.tv_sec * 1000000007u + (uint64_t)now.tv_nsec;
    if (given != NULL)
        seed = strtoull(given, NULL, 10);
    printf("%s: TEST_SEED=%llu\n", test, (unsigned long long)seed);
    fflush(stdout);
    return (struct test_random){seed};
}

#endif
