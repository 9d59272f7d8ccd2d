/* SPDX-License-Identifier: Apache-2.0
 *
 * timer_heap.h - who wants to be woken when.
 *
 * A binary heap of caller-owned timers, ordered by due time and then by arming order, so that a
 * simulated run is repeatable. Always holds: a timer is in at most one heap, `index` is its place
 * plus one, 0 means not armed. The heap never reads a clock.
 *
 * Owner: the loop that fires it.  Thread: that loop's. */
#ifndef BASE_TIMER_HEAP_H
#define BASE_TIMER_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void timer_fn(void *arg);

struct timer {
    int64_t due_us;
    uint64_t order;
    size_t index;
    timer_fn *fn;
    void *arg;
};

struct timer_heap {
    struct timer **items;
    size_t count, cap;
    uint64_t next_order;
};

/* Arms `timer` (re-arms it when it is armed already). The function is called once. */
void timer_heap_arm(struct timer_heap *heap, struct timer *timer, int64_t due_us);
/* Forgets `timer`; nothing happens when it is not armed. */
void timer_heap_disarm(struct timer_heap *heap, struct timer *timer);
/* Due time of the earliest timer; false when none is armed. */
bool timer_heap_next(const struct timer_heap *heap, int64_t *due_us);
/* Takes the earliest timer if it is due at `now_us`, else NULL. The caller calls its function. */
struct timer *timer_heap_pop(struct timer_heap *heap, int64_t now_us);
void timer_heap_deinit(struct timer_heap *heap);

#endif
