/* SPDX-License-Identifier: Apache-2.0
 *
 * window.h - the last so many event ids, to save work on overlap.
 *
 * Overlap is normal: replay, a rewind after failover, pages that drift. The window is only a
 * shortcut and never the judge: the store's unique key decides what is a duplicate (I3), so
 * forgetting an id costs a refused insert and nothing else. Remembering an id whose row never
 * reached the store would lose the row. Hence two rules: an id is compared whole, never by its hash
 * alone, and what was added for a page that is then given up is taken back.
 *
 * Always holds: count <= size (I6); the table finds exactly the ids in the ring. An id seen again
 * is not made younger: the oldest addition leaves first.
 *
 * Owner: its source.  Thread: the owner's.  Allocates in init only. */
#ifndef INGEST_WINDOW_H
#define INGEST_WINDOW_H

#include "base/bytes.h"

#define WINDOW_PROVIDER_SIZE 500  /* one provider's pages */
#define WINDOW_STREAM_SIZE   1000 /* one stream, across its providers */
#define WINDOW_SIZE_MAX      (1U << 15)

struct window_id {
    uint8_t byte[16];
};

struct window {
    struct window_id *ring; /* the id of addition n lies at n % size */
    uint16_t *table;        /* open addressing: ring index + 1, 0 free */
    uint32_t size, mask;
    uint32_t count;
    uint64_t added; /* additions so far; the youngest is added - 1 */
};

void window_init(struct window *window, uint32_t size);
void window_deinit(struct window *window);
/* Forgets everything. */
void window_clear(struct window *window);

/* Adds the id that a cursor state calls its last (32 hex digits). False, and nothing happens, for
 * any other text: a state may carry an id of another make. */
bool window_seed(struct window *window, struct bytes last_transaction_id);
/* True when the id is new to the window, and remembers it; false when it was seen. */
bool window_add(struct window *window, const struct window_id *id);
bool window_contains(const struct window *window, const struct window_id *id);

/* Where the window stands, to take back what a page added. */
uint64_t window_mark(const struct window *window);
/* Forgets what was added since `mark`. What was pushed out meanwhile stays forgotten. */
void window_rewind(struct window *window, uint64_t mark);

#endif
