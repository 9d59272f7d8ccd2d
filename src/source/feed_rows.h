/* SPDX-License-Identifier: Apache-2.0
 *
 * feed_rows.h - the rows that remember a reading: in the queue, and in what people look up.
 *
 * Each adds one record, or answers RC_AGAIN: it does not fit, and the batch is to be undone by
 * whoever began to fill it. Pure. */
#ifndef SOURCE_FEED_ROWS_H
#define SOURCE_FEED_ROWS_H

#include "source/feed_place.h"

/* The name under which an account `f` of `follows` has its place in `poll_state`: its handle, or
 * its DID where that is the one handle of all whose own cannot be verified. */
#define FEED_NAME_SQL                                                                              \
    "CASE WHEN f.handle = 'handle.invalid' AND length(f.did) <= 253 THEN f.did ELSE f.handle END"
_Static_assert(FEED_HANDLE_MAX == 253, "the name above is no longer than a handle");

/* Asks for a reading back to `since_us`, to be begun at `next_us`. */
must_check enum rc feed_rows_ask(struct batch *batch, struct bytes did, int priority,
                                 int64_t since_us, int64_t next_us, const char *reason,
                                 int64_t now_us);
/* Where it goes on, after so many failures; `why` NULL: there was none. */
must_check enum rc feed_rows_move(struct batch *batch, struct bytes did,
                                  const struct feed_place *place, int64_t attempts, int64_t next_us,
                                  const char *why, int64_t now_us);
/* It was read back to `since_us`; `priority` is what it was asked for with. */
must_check enum rc feed_rows_done(struct batch *batch, struct bytes did, int64_t priority,
                                  int64_t since_us, int64_t began_us, int64_t now_us);
must_check enum rc feed_rows_drop(struct batch *batch, struct bytes did, int64_t now_us);
/* `mark_us` 0: it stays as it is. `former`: the handle it had, absent when it is the same. */
must_check enum rc feed_rows_poll(struct batch *batch, struct bytes handle, struct bytes former,
                                  int64_t mark_us, int64_t fetched, int64_t now_us);

#endif
