/* SPDX-License-Identifier: Apache-2.0
 *
 * seeded.h - numbers that look random and are a pure function of a seed.
 *
 * A draw is a short sequence begun from (seed, number, salt): the same three give the same
 * sequence on every machine. Different uses of one number take different salts, so that a new use
 * never changes what an old one drew. Not for secrets. */
#ifndef SIM_SEEDED_H
#define SIM_SEEDED_H

#include <stdint.h>

enum seeded_salt {
    SALT_DID = 1,
    SALT_HANDLE,
    SALT_FOLLOWS,
    SALT_TIME,
    SALT_EVENT,
    SALT_POST,
    SALT_CID,
    SALT_LINK,
    SALT_NAME,
    SALT_FIRST_FOLLOWS,
    SALT_SHARE,
    SALT_SITE,
    SALT_CHAIN_TX,
    SALT_CHAIN_ROWS,
    SALT_CHAIN_BLOCK,
    SALT_CHAIN_WITHDRAWAL,
    SALT_CHAIN_FORK,
    SALT_CHAIN_NAME, /* and the three after it */
    SALT_DOCUMENT = SALT_CHAIN_NAME + 4,
    SALT_DOC_BLOCK,
    SALT_DOC_HASH,
    SALT_HOST,
    SALT_PRESS,
};

struct draw {
    uint64_t state;
};

static inline uint64_t draw_next(struct draw *draw)
{
    uint64_t z = (draw->state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline struct draw draw_make(uint64_t seed, uint64_t number, enum seeded_salt salt)
{
    struct draw draw = {seed ^ ((uint64_t)salt << 56)};
    draw.state = draw_next(&draw) ^ number;
    return (struct draw){draw_next(&draw)};
}

/* A number in [0, bound); 0 when the bound is 0. */
static inline uint32_t draw_below(struct draw *draw, uint32_t bound)
{
    return (uint32_t)(((draw_next(draw) >> 32) * bound) >> 32);
}

/* The same, with small numbers far likelier: a few accounts and links get most of the attention. */
static inline uint32_t draw_skewed(struct draw *draw, uint32_t bound)
{
    uint64_t u = draw_next(draw) >> 32;
    return (uint32_t)((((u * u) >> 32) * bound) >> 32);
}

#endif
