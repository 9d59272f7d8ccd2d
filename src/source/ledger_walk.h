/* SPDX-License-Identifier: Apache-2.0
 *
 * ledger_walk.h - which page of a stream is asked for next, and what is complete by now.
 *
 * A walk goes through one stream at one provider, in the order the provider has:
 *   oldest first   from a position on, that position included, since a page may have cut its block.
 *                  Pages are counted from there; where the provider does not count far enough, the
 *                  walk goes on from the block it has come to. `complete` rises with every row.
 *   newest first   from the newest row down to the first one strictly below `complete`, so that
 *                  the block in which it stood is read whole. `complete` rises at the end, to the
 *                  newest row this sweep has met. A sweep that was interrupted goes on where it
 *                  was, if its token still holds, and then a sweep follows for what is newer, and
 *                  for the last blocks that the old one met: it was not asked yesterday.
 *   by ranges      oldest first, so many blocks at a time up to the head that the provider names
 *                  before the first of them; blocks without a row are passed, too.
 *   no order       everything, each time; `complete` rises at the end.
 * A stream in several partitions is one such walk for each; the one furthest behind is asked next,
 * and what all have passed is complete. The chain grows meanwhile: a partition that came to its end
 * before another met a newer row is asked once more. What is complete at the beginning is so for
 * the partitions of then; one that is new since is read whole.
 *
 * Always holds: everything strictly below `complete` was handed to the caller, in this walk or in
 * one before it. A page that is the same as the last one is refused rather than asked for ever, and
 * so is a row of LEDGER_EMPTY_MAX empty ones that lead to another. In the midst of a sweep an empty
 * page is asked for once more before it is the end; where only its length tells the last page, what
 * follows it is asked for, and pages that are numbered are refused if something does: the rest of
 * the short one is on none. A partition that has shown rows and now shows none is refused, too.
 *
 * Owner: a stream.  Thread: the ingest loop.  Pure but for the memory of the counters. */
#ifndef SOURCE_LEDGER_WALK_H
#define SOURCE_LEDGER_WALK_H

#include "base/err.h"
#include "decode/connector_request.h"
#include "decode/ledger_row.h"
#include "source/ledger_equals.h"

#define LEDGER_TOKEN_MAX 1024
#define LEDGER_LEGS_MAX  1024
#define LEDGER_EMPTY_MAX 1000

/* Where a walk begins. */
struct ledger_place {
    int64_t complete;   /* everything strictly below it is known; -1: nothing is */
    struct bytes token; /* of an interrupted sweep at this very provider; absent: none */
    int64_t top;        /* and the newest position it had met; -1: none */
    int64_t settle;     /* what lies no further below that may have changed since */
    int64_t head;       /* of a walk by ranges: the newest block there is */
};

/* One partition of the walk. */
struct ledger_leg {
    int64_t from;         /* its pages are counted from there; -1: from the beginning */
    int64_t page, offset; /* of the page that is asked for next */
    char token[LEDGER_TOKEN_MAX + 1];
    int64_t last;   /* position of the last row; -1: none yet */
    int64_t opened; /* the same when it was opened or reopened */
    int64_t floor;  /* a sweep ends below it; -1: it goes to the end */
    int64_t claim;  /* once it is over, nothing strictly below is missing; -1: nothing is claimed */
    bool started, over, reopened;
    bool whole;       /* nothing of it was read before: it is read to its end */
    bool seen;        /* it has shown rows before */
    bool asked_twice; /* for the page that is under way, since it was empty */
    bool shortened;   /* its last page was short, and looked like the end */
    bool below;       /* it has met a row below its floor */
    bool shown;       /* it had shown rows when the walk was begun anew */
    uint64_t traces;  /* of this page's rows, and of the page before */
    uint64_t traces_before;
    unsigned empty; /* pages in a row */
    size_t rows;
    struct ledger_equals equals;
};

struct ledger_walk {
    const struct connector_stream *shape;
    struct ledger_leg *legs;
    unsigned leg_count, leg; /* `leg` is the one whose page is under way */
    int64_t complete;        /* see above; -1: nothing is */
    int64_t top;             /* newest position met, or what was complete; -1: none */
    int64_t settle;          /* see above */
    int64_t head;            /* a walk by ranges ends there */
    int64_t span;            /* and asks for so many blocks at a time, at most the page's size */
    bool continued;          /* the sweep is an interrupted one, a fresh one follows */
    bool abrupt;             /* a sweep ended with an empty page: what is older may be missing */
    uint64_t rows;           /* handed over so far, all pages */
};

/* `listed` partitions that the source has named; -1: those that the connector says. */
void ledger_walk_init(struct ledger_walk *walk, const struct connector_stream *shape, int listed);
void ledger_walk_deinit(struct ledger_walk *walk);
/* Of a partition, before the walk begins: it had shown rows when `complete` was told, or not. */
void ledger_walk_tell_part(struct ledger_walk *walk, unsigned leg, bool seen);
void ledger_walk_begin(struct ledger_walk *walk, const struct ledger_place *place);
/* A token is no longer known: walks on from what is complete. */
void ledger_walk_restart(struct ledger_walk *walk);
/* Nothing has come yet, and to restart would be to ask for the same. */
bool ledger_walk_is_new(const struct ledger_walk *walk);

/* The range that was asked for is too large for the provider: the next one is half as large, until
 * it answers. False: it is the smallest, or the walk does not go by ranges. */
bool ledger_walk_shrink(struct ledger_walk *walk);

/* Sets what the next request asks for; false: the walk is over. */
bool ledger_walk_next(struct ledger_walk *walk, struct connector_vars *vars);
bool ledger_walk_over(const struct ledger_walk *walk);
/* A row of the page that was asked for, in the page's order: its position and its key. `ordinal` is
 * its number among its equals. RC_REJECT: the block has too many rows. */
must_check enum rc ledger_walk_row(struct ledger_walk *walk, const struct ledger_row *row,
                                   uint32_t *ordinal, struct err *err);
/* The page under way is the one with the newest row of a sweep. */
bool ledger_walk_at_top(const struct ledger_walk *walk);
/* The page under way is the last of its partition. */
void ledger_walk_end_leg(struct ledger_walk *walk);
/* A row at this position lies below the floor of a sweep: it was stored by one before. */
bool ledger_walk_below(const struct ledger_walk *walk, int64_t position);
/* The page was read to its end: it had this many records, `last` by the stop rules, and led to
 * `token`. RC_REJECT: the provider cannot be followed any further. */
must_check enum rc ledger_walk_page(struct ledger_walk *walk, size_t records, bool last,
                                    struct bytes token, struct err *err);
/* The token with which an interrupted sweep can be taken up; absent: there is none. */
struct bytes ledger_walk_token(const struct ledger_walk *walk);

/* A row's position in this stream: its block, or its time where there are no blocks; -1: none. */
int64_t ledger_walk_position(const struct connector_stream *shape, const struct ledger_row *row);

#endif
