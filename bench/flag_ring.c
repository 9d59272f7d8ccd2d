/* SPDX-License-Identifier: Apache-2.0 */
#include "flag_ring.h"

#include "base/bytes.h"

#include <stdlib.h>

void flag_ring_init(struct flag_ring *ring, uint64_t capacity)
{
    *ring = (struct flag_ring){.mask = capacity - 1};
    ring->flags = memory_new_zeroed(capacity, 1);
}

void flag_ring_deinit(struct flag_ring *ring)
{
    free(ring->flags);
    *ring = (struct flag_ring){0};
}

uint64_t flag_ring_admit(struct flag_ring *ring)
{
    ring->flags[ring->next & ring->mask] = 0;
    return ring->next++;
}

void flag_ring_finish(struct flag_ring *ring, uint64_t ord)
{
    ring->flags[ord & ring->mask] = 1;
    while (ring->base < ring->next && ring->flags[ring->base & ring->mask])
        ring->base++;
}
