/* SPDX-License-Identifier: Apache-2.0
 *
 * walk.h - how far one reader of a result has come, and the way back.
 *
 * A page is an interval of keys: after one place, up to and including another (I10). The walk keeps
 * the places between the pages around the reader, in the order of the result:
 *
 *     places[0] ... places[at]  places[at + 1] ... places[count - 1]
 *                      |_ the page _|
 *                       delivered last
 *
 * Always holds: an interval that was delivered is delivered again as long as both its places are
 * kept, whichever way the reader comes; beyond the places that are kept pages are read anew, from
 * the last place onwards or from the first one back, so neighbours never overlap and leave nothing
 * out. A place without a key is the beginning of the result and can only be the first.
 *
 * Numbers count steps: the first page is 0, the one before it -1. A step changes nothing until its
 * page is known.
 *
 * Pure: no I/O. Owner: a handle. */
#ifndef QUERY_WALK_H
#define QUERY_WALK_H

#include "query/order.h"

#define WALK_PLACES_MAX 6

struct walk_place {
    struct row_key key;
    uint16_t size; /* rows asked for by the page that ends here */
    bool empty;    /* it had none, and stays so */
};

struct walk {
    struct walk_place places[WALK_PLACES_MAX];
    int count;
    int at;         /* -1: no page was delivered yet */
    int64_t number; /* of the page delivered last; -1 */
    bool ended;     /* nothing follows the last place */
    int beyond;     /* 1: the reader was shown that nothing follows; -1: that nothing precedes */
};

enum walk_direction { WALK_NEXT, WALK_PREVIOUS };

enum walk_kind {
    WALK_KNOWN,   /* the interval between two known places */
    WALK_FORWARD, /* rows after the last place */
    WALK_BACK,    /* rows up to the first place */
    WALK_NOWHERE, /* nothing is there */
};

struct walk_step {
    enum walk_kind kind;
    int64_t number;
    int to;      /* index of the place it begins after; WALK_BACK: of the one it ends at */
    bool onward; /* which way it goes nowhere */
};

/* At the beginning of the result, with no page delivered. */
void walk_init(struct walk *walk);
void walk_clear(struct walk *walk);
/* What a request means: `page` is the number it asks for, NULL: the next one in its direction.
 * CONFLICT when that page is neither the last one delivered nor its neighbour. */
must_check enum rc walk_plan(const struct walk *walk, enum walk_direction direction,
                             const int64_t *page, struct walk_step *step, struct refusal *refusal);
/* Takes the step. WALK_FORWARD: `end`, which is taken over, is where the page ends, and `has_more`
 * whether anything follows; without a key it was empty. WALK_BACK: `end` is where it begins. */
void walk_take(struct walk *walk, const struct walk_step *step, struct row_key *end, bool has_more,
               unsigned size);
/* Begins around a row: the first page is what lies after `start` up to `end`, which are taken
 * over. */
void walk_begin_between(struct walk *walk, struct row_key *start, struct row_key *end,
                        bool has_more, unsigned size);
bool walk_has_more(const struct walk *walk);
bool walk_has_previous(const struct walk *walk);

/* As bytes, for keeping; the same on every machine. */
void walk_encode(const struct walk *walk, struct text *out);
/* False: these are no bytes of a walk whose keys have `terms` parts; it is then cleared. */
must_check bool walk_decode(struct walk *walk, struct bytes bytes, size_t terms);

#endif
