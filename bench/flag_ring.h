/* SPDX-License-Identifier: Apache-2.0
 *
 * flag_ring.h - the yardstick: a flag per unit in a ring, and nothing else.
 *
 * No payload, no children, no epochs, no checks: the least that can find a contiguous position. */
#ifndef BENCH_FLAG_RING_H
#define BENCH_FLAG_RING_H

#include <stdint.h>

struct flag_ring {
    unsigned char *flags;
    uint64_t base, next, mask;
};

/* `capacity` is a power of two. */
void flag_ring_init(struct flag_ring *ring, uint64_t capacity);
void flag_ring_deinit(struct flag_ring *ring);
uint64_t flag_ring_admit(struct flag_ring *ring);
/* Marks it and moves base over what is marked. */
void flag_ring_finish(struct flag_ring *ring, uint64_t ord);

#endif
