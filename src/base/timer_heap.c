/* SPDX-License-Identifier: Apache-2.0 */
#include "base/timer_heap.h"

#include "base/bytes.h"

#include <assert.h>
#include <stdlib.h>

static bool earlier(const struct timer *a, const struct timer *b)
{
    return a->due_us != b->due_us ? a->due_us < b->due_us : a->order < b->order;
}

static void place(struct timer_heap *heap, size_t at, struct timer *timer)
{
    heap->items[at] = timer;
    timer->index = at + 1;
}

static void sift_up(struct timer_heap *heap, size_t at)
{
    struct timer *timer = heap->items[at];
    while (at > 0 && earlier(timer, heap->items[(at - 1) / 2])) {
        place(heap, at, heap->items[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    place(heap, at, timer);
}

static void sift_down(struct timer_heap *heap, size_t at)
{
    struct timer *timer = heap->items[at];
    for (;;) {
        size_t child = at * 2 + 1;
        if (child >= heap->count)
            break;
        if (child + 1 < heap->count && earlier(heap->items[child + 1], heap->items[child]))
            child++;
        if (!earlier(heap->items[child], timer))
            break;
        place(heap, at, heap->items[child]);
        at = child;
    }
    place(heap, at, timer);
}

void timer_heap_arm(struct timer_heap *heap, struct timer *timer, int64_t due_us)
{
    assert(timer->fn != NULL);
    timer_heap_disarm(heap, timer);
    if (heap->count == heap->cap) {
        heap->cap = heap->cap == 0 ? 16 : heap->cap * 2;
        heap->items = memory_resize(heap->items, heap->cap * sizeof(struct timer *));
    }
    timer->due_us = due_us;
    timer->order = heap->next_order++;
    place(heap, heap->count++, timer);
    sift_up(heap, heap->count - 1);
}

void timer_heap_disarm(struct timer_heap *heap, struct timer *timer)
{
    if (timer->index == 0)
        return;
    size_t at = timer->index - 1;
    assert(at < heap->count && heap->items[at] == timer);
    timer->index = 0;
    struct timer *last = heap->items[--heap->count];
    if (last == timer)
        return;
    place(heap, at, last);
    sift_up(heap, at);
    sift_down(heap, last->index - 1);
}

bool timer_heap_next(const struct timer_heap *heap, int64_t *due_us)
{
    if (heap->count == 0)
        return false;
    *due_us = heap->items[0]->due_us;
    return true;
}

struct timer *timer_heap_pop(struct timer_heap *heap, int64_t now_us)
{
    if (heap->count == 0 || heap->items[0]->due_us > now_us)
        return NULL;
    struct timer *timer = heap->items[0];
    timer_heap_disarm(heap, timer);
    return timer;
}

void timer_heap_deinit(struct timer_heap *heap)
{
    assert(heap->count == 0);
    free(heap->items);
    *heap = (struct timer_heap){0};
}
