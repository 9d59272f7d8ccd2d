/* SPDX-License-Identifier: Apache-2.0
 *
 * gap.h - intervals of a stream that were asked for and not delivered.
 *
 * A gap is half-open, [from_us, to_us), and a row that people see. The open gaps of one stream are
 * kept here, sorted, disjoint and never touching: those that meet become one. A row is never moved:
 * a gap that grows, or of which a part is filled, gets its `closed_us` and what is open now are new
 * rows, all in one batch, so the open rows are exactly the open gaps at every commit. To close a
 * row closes every open row that lies inside it. A gap that has grown was found when its last part
 * was: what was read before that does not fill it.
 *
 * Where others close gaps in the store, a set does not know what is still open. It forgets what it
 * opened before it opens more: a gap that is found later is a row of its own, whatever it meets.
 *
 * The number of open gaps is bounded (I6). When there is no room for one more, the new gap takes in
 * what lies between it and its nearest neighbour: more is called missing than is, never less.
 *
 * What a batch that did not commit held is unknown afterwards: the gaps are read again.
 *
 * Owner: its source.  Thread: the owner's.  Allocates in init only, reads no clock, does no I/O. */
#ifndef INGEST_GAP_H
#define INGEST_GAP_H

#include "record_batch.h"

#define GAP_OPEN_MAX    256
#define GAP_REASON_MAX  128
#define GAP_LOAD_PARAMS 3
#define GAP_NOTED_MAX   8

struct gap {
    int64_t from_us, to_us, detected_us;
    char reason[GAP_REASON_MAX + 1];
};

struct gap_set {
    const char *source, *stream; /* must outlive it */
    struct gap *open;
    size_t count, capacity;
    bool unsure; /* a batch was lost: read the table again */
    struct {
        int64_t from_us, to_us;
        const char *reason;
    } noted[GAP_NOTED_MAX]; /* found, to be opened in the unit whose cursor passes them */
    size_t noted_count;
};

/* `capacity` 0: GAP_OPEN_MAX. */
void gap_set_init(struct gap_set *set, const char *source, const char *stream, size_t capacity);
void gap_set_deinit(struct gap_set *set);

/* Reading the open gaps, at the start and when unsure: begin, then the query over the row function.
 * Rows that meet, or that are too many, are taken together here. */
extern const char gap_load_sql[];
void gap_load_begin(struct gap_set *set, struct field params[GAP_LOAD_PARAMS]);
bool gap_load_row(void *set, const struct field *columns, size_t count);

/* Opens [from_us, to_us); an empty one, or one that is open already, does nothing. RC_AGAIN: the
 * batch is full, nothing has changed. */
must_check enum rc gap_open(struct gap_set *set, struct batch *batch, int64_t from_us,
                            int64_t to_us, const char *reason, int64_t now_us);
/* Notes a gap that was found; it is opened in the unit whose cursor passes it, so that both are
 * committed together (I2). When too many wait, the last ones become one wide gap. `reason` must
 * outlive the set. */
void gap_note(struct gap_set *set, int64_t from_us, int64_t to_us, const char *reason);
/* Opens every noted one. RC_AGAIN: the batch is full; what was opened stays opened. */
must_check enum rc gap_open_noted(struct gap_set *set, struct batch *batch, int64_t now_us);
/* What lies in [from_us, to_us) is there now. RC_AGAIN: the batch is full, or a gap would fall in
 * two and there is no room for both; nothing has changed, and the gap stays open. */
must_check enum rc gap_close(struct gap_set *set, struct batch *batch, int64_t from_us,
                             int64_t to_us, int64_t now_us);
/* To be called before noted ones are opened when others close gaps in the store: forgets the open
 * ones. Their rows stay as they are. */
void gap_forget(struct gap_set *set);
/* A gap without an end, [from_us, GAP_NO_END_US), which is in the store, ends at `to_us`; where
 * that lies before its beginning it was none. RC_AGAIN: the batch is full, nothing has changed. */
must_check enum rc gap_end(const struct gap_set *set, struct batch *batch, int64_t from_us,
                           int64_t to_us, const char *reason, int64_t now_us);
/* A batch that gaps were opened or closed in did not commit. */
void gap_abandoned(struct gap_set *set);

/* The earliest time from which on no gap is open; INT64_MIN when none is at all. */
int64_t gap_complete_since(const struct gap_set *set);
/* The first open gap that meets [from_us, to_us); NULL when the interval is complete. */
const struct gap *gap_find(const struct gap_set *set, int64_t from_us, int64_t to_us);

#endif
