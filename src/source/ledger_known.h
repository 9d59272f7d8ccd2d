/* SPDX-License-Identifier: Apache-2.0
 *
 * ledger_known.h - the stored rows of the range that is about to be read again.
 *
 * A walk reads some blocks twice: the one it had come to, those another provider may see
 * differently, those a reorg may have taken. What is stored of them is loaded first, so that a row
 * that comes again unchanged is told from one that is new or has moved, and so that one that does
 * not come again can be missed.
 *
 * Always holds: at most LEDGER_KNOWN_MAX rows (I6). Where there are more, the store's unique key
 * does the rest (I3).
 *
 * Owner: a stream.  Thread: the ingest loop. */
#ifndef SOURCE_LEDGER_KNOWN_H
#define SOURCE_LEDGER_KNOWN_H

#include "base/digest.h"
#include "store/lookup.h"

#define LEDGER_KNOWN_MAX    5000
#define LEDGER_KNOWN_PARAMS 4

struct ledger_known_row {
    uint8_t id[EVENT_ID_SIZE];
    int64_t position; /* -1: in no block */
    int64_t block;    /* the same */
    char status[12];
    int64_t block_before; /* what is stored, if it came otherwise and was not handed over yet */
    char status_before[12];
    bool moved; /* it did */
    bool seen;
    bool doubted; /* somebody did not show it */
};

struct ledger_known {
    struct ledger_known_row *rows; /* sorted by id */
    size_t count;
    bool whole; /* it is all of the range */
    bool moved; /* some of them came otherwise */
};

/* Asked in pieces of event ids. A row keeps its id, and comes into a stream or changes its place in
 * it only with a batch of that stream: as long as none is under way, the pieces tell what one
 * question would tell, but for a row that another stream of the account has taken over meanwhile,
 * which is told or not, as it would be a little earlier or later.
 *
 * The rows of a stream from a position on; the parameters are account, stream, position and a
 * limit. Positions are blocks, or times where there are none. */
extern const char ledger_known_by_block_sql[], ledger_known_by_time_sql[];
/* How many rows of a stream are in force; the parameters are account and stream. A row per piece,
 * to be added up. */
extern const char ledger_known_count_sql[];

void ledger_known_take(struct ledger_known *known, const struct lookup_answer *answer);
void ledger_known_free(struct ledger_known *known);
/* NULL: it is not known. */
struct ledger_known_row *ledger_known_find(struct ledger_known *known,
                                           const uint8_t id[EVENT_ID_SIZE]);
/* It came, in this block and state, and goes into the next batch if that is not what is stored. */
void ledger_known_see(struct ledger_known *known, struct ledger_known_row *row, int64_t block,
                      const char *status);
/* That batch is handed over ... */
void ledger_known_keep(struct ledger_known *known);
/* ... or dropped: what is stored is what it was before. */
void ledger_known_undo(struct ledger_known *known);
/* Begins to look for them anew. */
void ledger_known_forget_seen(struct ledger_known *known);

#endif
