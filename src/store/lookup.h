/* SPDX-License-Identifier: Apache-2.0
 *
 * lookup.h - asks the store from a loop that must not wait for it.
 *
 * A question goes to a reader with its own connection; its rows come back to the loop, copied and
 * whole. Every question that was taken is answered exactly once, from a later turn of the loop,
 * also when the store cannot be read (RC_RETRY), when it took too long (RC_AGAIN) or when it has
 * more rows than anybody may ask for (RC_REJECT). A reader sees what was committed before the
 * question was asked.
 *
 * No reading lasts longer than 250 ms: SQLite cannot begin its log anew meanwhile. Those who look
 * again anyway are told so. A steady question is asked again, behind those that wait; one in pieces
 * with half as much to read. Each piece is a reading of its own: what is committed between two of
 * them is seen by the later one only, and a row is told once as long as its key stays.
 *
 * Owner: the daemon.  Thread: the ingest loop. */
#ifndef STORE_LOOKUP_H
#define STORE_LOOKUP_H

#include "store/store.h"

#define LOOKUP_PARAMS_MAX 8
#define LOOKUP_ROWS_MAX   100000
#define LOOKUP_TRIES_MAX  64

struct loop;
struct lookup;

/* Fields of all rows, row after row; borrowed for the call. */
struct lookup_answer {
    enum rc rc;
    struct err err;
    const struct field *fields;
    size_t columns, rows;
};

struct lookup_question {
    const char *sql; /* outlives the answer */
    const struct field *params;
    size_t param_count;
    /* `sql` has two parameters behind those: the first key of a piece, and the first behind it. The
     * answer has the rows of all pieces, by pieces in the order of their keys. */
    bool in_pieces;
    size_t rows_max; /* what is beyond is not asked for; 0: nothing is */
};

typedef void lookup_fn(void *arg, const struct lookup_answer *answer);

/* At most `asks_max` questions are under way at a time. */
struct lookup *lookup_new(struct loop *loop, const char *store_url, unsigned asks_max);
/* Whoever asked must be there still: what was not answered yet is answered with RC_AGAIN now. */
void lookup_free(struct lookup *lookup);
/* `sql` must outlive the answer; parameters are copied. RC_AGAIN: too many are under way, or the
 * lookup is being freed. */
must_check enum rc lookup_ask(struct lookup *lookup, const char *sql, const struct field *params,
                              size_t param_count, lookup_fn *fn, void *arg);
/* For those who would have to give up what they do: RC_AGAIN is answered only after
 * LOOKUP_TRIES_MAX readings in a row that took too long. */
must_check enum rc lookup_ask_steadily(struct lookup *lookup,
                                       const struct lookup_question *question, lookup_fn *fn,
                                       void *arg);

#endif
