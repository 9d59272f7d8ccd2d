/* SPDX-License-Identifier: Apache-2.0
 *
 * gap.h - intervals of a stream that were asked for and not delivered.
 *
 * A gap is half-open, [from_us, to_us), and a row that people see. Who finds one notes it; it
 * becomes a row in the unit whose cursor passes it, so that both are committed together (I2).
 *
 * Others read what is missing and close the row in the store, without a word to whoever found it:
 * what is a row already is never looked at again. A gap that is found later is a row of its own,
 * whatever it meets, and only what was read since then fills it.
 *
 * The number of gaps that wait is bounded (I6). Those that meet are one; when there is no room for
 * one more, it is taken together with the last one and what lies between them: more is called
 * missing than is, never less.
 *
 * Owner: its source.  Thread: the owner's.  Never allocates, reads no clock, does no I/O. */
#ifndef INGEST_GAP_H
#define INGEST_GAP_H

#include "record_batch.h"

#define GAP_NOTED_MAX 8

struct gap {
    int64_t from_us, to_us;
    const char *reason; /* must outlive it */
};

struct gap_notes {
    const char *source, *stream; /* must outlive it */
    struct gap noted[GAP_NOTED_MAX];
    size_t count;
};

void gap_notes_init(struct gap_notes *notes, const char *source, const char *stream);
/* Notes [from_us, to_us). */
void gap_note(struct gap_notes *notes, int64_t from_us, int64_t to_us, const char *reason);
/* Adds a row for every noted one. RC_AGAIN: the batch is full; those that were added are no longer
 * noted. */
must_check enum rc gap_open_noted(struct gap_notes *notes, struct batch *batch, int64_t now_us);
/* A gap without an end, [from_us, GAP_NO_END_US), which is in the store, ends at `to_us`; where
 * that lies before its beginning it was none. RC_AGAIN: the batch is full, nothing has changed. */
must_check enum rc gap_end(const struct gap_notes *notes, struct batch *batch, int64_t from_us,
                           int64_t to_us, const char *reason, int64_t now_us);

#endif
