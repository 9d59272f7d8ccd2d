/* SPDX-License-Identifier: Apache-2.0
 *
 * gaps.h - intervals that were asked for and not delivered, on their way into the store.
 *
 * A gap is noted when it is found and joins the unit whose cursor passes it, so that both are
 * committed together (I2). Always holds: what was noted is covered by what is added; when there are
 * too many at a time, the last ones become one wide gap (I6).
 *
 * Owner: a source.  Thread: the owner's.  Never allocates, never logs. */
#ifndef INGEST_GAPS_H
#define INGEST_GAPS_H

#include "record_batch.h"

#define GAPS_MAX 8

struct gaps {
    const char *source, *stream;
    struct {
        int64_t from_us, to_us;
    } noted[GAPS_MAX];
    unsigned count;
};

void gaps_init(struct gaps *gaps, const char *source, const char *stream);
void gaps_note(struct gaps *gaps, int64_t from_us, int64_t to_us);
/* Adds a row for each and forgets them; RC_AGAIN when they do not fit: what was added stays added.
 */
must_check enum rc gaps_add(struct gaps *gaps, struct batch *batch, const char *reason,
                            int64_t now_us);

#endif
