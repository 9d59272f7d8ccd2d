/* SPDX-License-Identifier: Apache-2.0
 *
 * chance.h - random numbers of a property test, repeatable by their seed.
 *
 * The seed comes from the environment variable TIDEMARK_SEED, else it is a constant; it is printed,
 * so that a failing run can be had again. */
#ifndef TESTS_CHANCE_H
#define TESTS_CHANCE_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct chance {
    uint64_t state;
};

static inline struct chance chance_init(const char *name)
{
    const char *given = getenv("TIDEMARK_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 0) : UINT64_C(20251212);
    printf("%s: TIDEMARK_SEED=%" PRIu64 "\n", name, seed);
    return (struct chance){seed};
}

/* SplitMix64. */
static inline uint64_t chance_next(struct chance *chance)
{
    uint64_t z = chance->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* 0 ... `bound` - 1. */
static inline uint32_t chance_below(struct chance *chance, uint32_t bound)
{
    return (uint32_t)((chance_next(chance) >> 32) * bound >> 32);
}

#endif
