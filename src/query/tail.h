/* SPDX-License-Identifier: Apache-2.0
 *
 * tail.h - the changes of a collection as one query sees them.
 *
 *   enter    the row was inserted after `seq` and is in the result
 *   update   the row was there before and is in the result now: its values are new, or it is
 *   leave    the row was in the result before, or may have been, and is not now
 *
 * Where the past of rows is kept, what left is told exactly. Elsewhere a row has left when the
 * columns that never change do not keep it out of the result, and the ingest number tells the rest
 * apart: rows below `old_below` were there at `seq`, rows from `new_from` on were not, and of those
 * in between it is not known. Such a row enters, and when it is gone, leaves; hence a client may be
 * told of a row twice, or of the end of one it never had, but a change is never kept from it. For
 * whoever follows without a break the two numbers meet, and rows that come without being in the
 * result are not told. Who begins at the open may do so any number of times, and is always told of
 * all that left.
 *
 * Owner: whoever follows.  Thread: its own. */
#ifndef QUERY_TAIL_H
#define QUERY_TAIL_H

#include "base/json_write.h"
#include "query/changes.h"
#include "query/query_page.h"

#define TAIL_MARKS_MAX 1024

struct tail {
    const struct collection *collection;
    struct filter *filter; /* owned; NULL: all rows */
    int64_t seq;           /* told up to this commit */
    int64_t old_below, new_from;
};

/* Which ingest number came next at some of the latest commits. */
struct tail_marks {
    struct tail_mark {
        int64_t seq, next_n;
    } at[TAIL_MARKS_MAX]; /* in order, oldest first from `first` on */
    size_t first, count;
};

/* From commit `since` on, of a query that was opened at `opening`. `filter` is taken over. */
void tail_init(struct tail *tail, const struct collection *collection, struct filter *filter,
               const struct opening *opening, int64_t since, const struct tail_marks *marks);
void tail_deinit(struct tail *tail);
/* The same of its collection as that is declared now. RC_REJECT: it asks for what is not there. */
must_check enum rc tail_renew(struct tail *tail, const struct collection *collection,
                              struct refusal *refusal);
/* Writes what the query sees of the changes it was not told of yet, as elements of an array;
 * returns how many. `changes` must not begin after tail->seq; the tail is not moved. */
size_t tail_print(const struct tail *tail, const struct changes *changes,
                  struct json_writer *writer);
/* Whether there is anything to print. */
bool tail_sees(const struct tail *tail, const struct changes *changes);
/* It was told of all of them. */
void tail_move(struct tail *tail, const struct changes *changes);
void tail_marks_add(struct tail_marks *marks, const struct changes *changes);

#endif
