/* SPDX-License-Identifier: Apache-2.0
 *
 * ledger_stream_detail.h - records that need one more request each, and what is owed of those that
 * were not to be had: for the files a stream of a ledger is made of.
 *
 * A page's records are put together with their details in groups. A group is stored when it is
 * full, or when its next detail cannot be had now: what came is asked for once.
 *
 * Owner: the stream.  Thread: the ingest loop. */
#ifndef SOURCE_LEDGER_STREAM_DETAIL_H
#define SOURCE_LEDGER_STREAM_DETAIL_H

#include "source/ledger_stream_parts.h"

/* ---- details (ledger_stream_detail.c) ---- */

/* Reads over the page and fetches what its new records lack. */
must_check enum rc ledger_stream_open_details(struct ledger_stream *stream, struct err *err);
void ledger_stream_next_detail(struct ledger_stream *stream);
/* False: the answer lacks what has to be there. */
bool ledger_stream_detail_came(struct ledger_stream *stream);
void ledger_stream_take_detail(struct ledger_stream *stream);
/* The next detail is not asked for now: what its group has is to be stored; false: it is empty. */
bool ledger_stream_cut_group(struct ledger_stream *stream);
/* The page is asked for again, or another one is. */
void ledger_stream_drop_details(struct ledger_stream *stream);

/* ---- what earlier runs owe (ledger_stream_debt.c) ---- */

/* Asks the store for it; `loaded` goes on. */
must_check enum rc ledger_stream_ask_debts(struct ledger_stream *stream, lookup_fn *loaded);
void ledger_stream_take_debts(struct ledger_stream *stream, const struct lookup_answer *answer);
/* Where a walk has to begin to meet all of them; `otherwise`, if that is lower. */
int64_t ledger_stream_debts_from(const struct ledger_stream *stream, int64_t otherwise);
/* NULL: nothing is owed for this key. */
struct ledger_debt *ledger_stream_debt(struct ledger_stream *stream, struct bytes key);
/* The detail of a record is not to be had. */
void ledger_stream_owe(struct ledger_stream *stream, const struct ledger_detail *detail);
/* Adds what is owed since the last batch, and what no longer is; false: there is no room. */
bool ledger_stream_add_owed(struct ledger_stream *stream, struct batch *batch);
/* What was to be stored was not. */
void ledger_stream_drop_payments(struct ledger_stream *stream);

#endif
