/* SPDX-License-Identifier: Apache-2.0
 *
 * changes.h - what changed in a collection since a commit.
 *
 * A row carries the number of the commit that changed it last, and so does the tombstone of one
 * that is gone. What changed since a commit are therefore the rows and tombstones with a higher
 * number, each once and as it is now, however often it changed: whoever reads late reads less, and
 * nothing has to wait in memory for those who are slow.
 *
 * Always holds: a reading is about whole commits, in their order; of one commit what left comes
 * before what came. Where the past of rows is kept, a row that went on to change in commits that
 * are not read yet is told of, too, as gone: what it is comes with the rest. One reading is
 * bounded: it ends after the commit in which its rows are enough, by their number or their bytes,
 * and says that more follow. When
 * deletes since that commit may have left no trace, or one commit changed more than fits, it is
 * refused with GAP instead of being incomplete.
 *
 * Owner: the caller.  Thread: any one that owns the store's connection. */
#ifndef QUERY_CHANGES_H
#define QUERY_CHANGES_H

#include "base/arena.h"
#include "query/collection.h"
#include "query/refusal.h"
#include "store/store.h"

#define CHANGES_ROWS_GOAL  1000 /* of a reading; its last commit is read whole */
#define CHANGES_ROWS_MAX   100000
#define CHANGES_BYTES_GOAL (1 << 20)  /* the same */
#define CHANGES_BYTES_MAX  (64 << 20) /* reserved; used as far as there are rows */

/* What a row was until a commit. */
struct past {
    int64_t seq;
    struct bytes id;
    const struct field *columns;
    bool joined; /* the first of a row's: what became of it is in the reading */
};

struct change {
    int64_t seq;
    int64_t n;                   /* 0 when there is no row any more: its id may have had several */
    struct bytes id;             /* as people see it */
    bool gone;                   /* from the collection */
    const struct field *columns; /* NULL when there is no row any more and nothing is known of it */
    uint64_t known;              /* which of them were the same before, a bit each */
    struct bytes item;           /* JSON; absent when it is gone */
    const struct past *pasts;    /* since the reading began, in order */
    size_t past_count;
};

struct changes {
    int64_t since, seq; /* commits after `since` up to and including `seq` */
    int64_t next_n;     /* the ingest number that came next when `seq` was committed */
    bool more;          /* later commits are there already; `next_n` is not known */
    struct change *items;
    size_t count, room;
    struct past *pasts;
    size_t past_count, past_room;
    struct arena arena;
};

/* RC_REJECT: see `refusal`. May be called again on the same reading. */
must_check enum rc changes_read(struct store *store, const struct collection *collection,
                                int64_t since, struct changes *changes, struct refusal *refusal,
                                struct err *err);
void changes_free(struct changes *changes);

#endif
