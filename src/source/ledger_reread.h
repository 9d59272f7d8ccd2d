/* SPDX-License-Identifier: Apache-2.0
 *
 * ledger_reread.h - which of the known rows have to come again with a walk, and which did not.
 *
 * A walk shows again what is known from a position on; a known row from there on that does not
 * come is absent. Whether it is gone, or the provider is wrong, is decided elsewhere.
 *
 * A sweep that goes on where it was interrupted is two: the rest of the old one, and a fresh one
 * that reads the newest blocks again. What lies between, the first part has shown already, and
 * nobody will again: it is excused. What lies below, the rest has to show, for it may have been
 * stored by a sweep before. Where nobody knows how far the first part came, nothing below the
 * newest blocks has to come.
 *
 * Always holds: rows in no block, rows that are orphaned, and rows that were seen or excused are
 * not absent. Where more rows are known than are kept, none is.
 *
 * Owner: a stream.  Thread: the ingest loop.  Pure. */
#ifndef SOURCE_LEDGER_REREAD_H
#define SOURCE_LEDGER_REREAD_H

#include "source/ledger_known.h"
#include "source/ledger_walk.h"

struct ledger_reread {
    struct ledger_known *known;
    int64_t from;       /* from there on known rows have to come; -1: the walk reads everything */
    int64_t fresh_from; /* of a sweep that goes on: from there on, the fresh one shows them */
};

void ledger_reread_init(struct ledger_reread *reread, struct ledger_known *known);
/* A walk begins at what is complete; -1: at the beginning. */
void ledger_reread_begin(struct ledger_reread *reread, int64_t complete);
/* After that: the walk is a sweep that goes on at `place`. `reached` is the last position that its
 * first part has shown; -1: nobody knows. */
void ledger_reread_resume(struct ledger_reread *reread, const struct ledger_place *place,
                          int64_t reached);
/* What lies at this position or below will not come. */
void ledger_reread_end_at(struct ledger_reread *reread, int64_t position);

/* The next row that is absent; NULL: there are no more. `at` begins with 0. */
const struct ledger_known_row *ledger_reread_absent(const struct ledger_reread *reread, size_t *at);
size_t ledger_reread_count_absent(const struct ledger_reread *reread);
/* Some row in [from, to) is absent. */
bool ledger_reread_misses(const struct ledger_reread *reread, int64_t from, int64_t to);
/* The sweep has passed rows that did not come. A run that went on below them would not know of
 * that: such a sweep is begun anew. */
bool ledger_reread_has_passed(const struct ledger_reread *reread, const struct ledger_walk *walk);
/* All that is absent is doubted from now on; the first position of it, -1: none is. */
int64_t ledger_reread_doubt(struct ledger_reread *reread);

#endif
