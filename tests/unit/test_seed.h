/* SPDX-License-Identifier: Apache-2.0
 *
 * test_seed.h - repeatable randomness for property tests.
 *
 * The seed is TIDEMARK_SEED, or a fixed one; it is printed, so that a failure can be repeated. */
#ifndef TESTS_SEEDED_H
#define TESTS_SEEDED_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct seeded {
    uint64_t state;
};

static inline uint64_t seeded_next(struct seeded *random)
{
    /* splitmix64: every seed is a good one. */
    uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static inline uint64_t seeded_below(struct seeded *random, uint64_t bound)
{
    return seeded_next(random) % bound;
}

static inline struct seeded seeded_start(const char *what)
{
    const char *text = getenv("TIDEMARK_SEED");
    uint64_t seed = text == NULL ? 20251115 : strtoull(text, NULL, 10);
    printf("# %s: TIDEMARK_SEED=%" PRIu64 "\n", what, seed);
    return (struct seeded){seed};
}

#endif
