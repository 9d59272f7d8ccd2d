/* SPDX-License-Identifier: Apache-2.0
 *
 * ledger_stream_steps.h - what a stream of a ledger does, from one step to the next: for the files
 * it is made of. Each of these goes on by itself, or waits to be called back.
 *
 * Owner: the stream.  Thread: the ingest loop. */
#ifndef SOURCE_LEDGER_STREAM_STEPS_H
#define SOURCE_LEDGER_STREAM_STEPS_H

#include "source/ledger_stream_detail.h"

/* ---- where it begins (ledger_stream_place.c) ---- */

/* Asks the store; goes on with ledger_stream_choose. */
void ledger_stream_load(struct ledger_stream *stream);
/* A walk at the provider that was picked, from what is stored; first its partitions may have to be
 * listed, or its newest block named. */
void ledger_stream_begin_walk(struct ledger_stream *stream);
/* Lists them, or begins the walk where there is nothing to list. */
void ledger_stream_list_parts(struct ledger_stream *stream);
/* From what is stored, with as many partitions as were listed; -1: as the connector says. */
void ledger_stream_start_walk(struct ledger_stream *stream, int listed);
void ledger_stream_take_head(struct ledger_stream *stream);
/* A bit for each provider that would have to read anew what was read at the present one. */
uint32_t ledger_stream_avoided(const struct ledger_stream *stream);
/* The next rows of a file. */
void ledger_stream_read_file(struct ledger_stream *stream);
enum cursor_kind ledger_stream_kind(const struct connector_stream *shape);

/* ---- partitions that the source lists (ledger_stream_listed.c) ---- */

void ledger_stream_take_list(struct ledger_stream *stream);
/* Tells the walk which of those that were listed had shown rows when its beginning was stored. */
void ledger_stream_tell_new_parts(struct ledger_stream *stream);
/* Sets what the cursor keeps beside the position: the top of a sweep with the first row of it that
 * waits, what the source counts, and the partitions for which the position is true. */
void ledger_stream_note_place(struct ledger_stream *stream, bool sweeping, bool complete);

/* ---- since a time (ledger_stream_since.c) ---- */

/* The provider can tell the position of the time that was asked for, and nobody has yet. */
bool ledger_stream_needs_since(const struct ledger_stream *stream);
const struct connector_request *ledger_stream_ask_since(struct ledger_stream *stream);
void ledger_stream_take_since(struct ledger_stream *stream);
/* Where a walk may begin; -1: at the beginning. */
int64_t ledger_stream_since(const struct ledger_stream *stream, enum cursor_kind kind);
bool ledger_stream_is_older(const struct ledger_stream *stream);
/* The row that came is older and not stored yet: it is not stored now, either. */
bool ledger_stream_leaves_out(struct ledger_stream *stream);

/* ---- pages into batches (ledger_stream_page.c) ---- */

/* Opens the page of the last answer; RC_REJECT: it is not what the connector says. */
must_check enum rc ledger_stream_open_page(struct ledger_stream *stream, bool empty,
                                           struct err *err);
/* Fills a batch with what is left of the page; it is sent when no other is under way. */
void ledger_stream_store(struct ledger_stream *stream);

/* ---- how far up rows may lie (ledger_stream_bound.c) ---- */

/* The page has rows above all that is known to be there, and the newest block can be asked for. */
bool ledger_stream_leads_beyond(struct ledger_stream *stream);
void ledger_stream_take_bound(struct ledger_stream *stream);
/* RC_REJECT: nothing can be where the row that came says it is. */
must_check enum rc ledger_stream_check_place(const struct ledger_stream *stream, struct err *err);
/* The row has a time, and that is not yet to come. */
bool ledger_stream_time_passed(const struct ledger_stream *stream);

/* ---- the end of a page, and of a batch (ledger_stream_page.c) ---- */

/* After the page was read to its end: what it leads to. */
void ledger_stream_note_end(struct ledger_stream *stream);
/* The row stands in the store as it came, or was handed over already; `seen` notes that it came. */
bool ledger_stream_row_known(struct ledger_stream *stream, bool seen);
/* There is room for any row, and for what goes with the rows. */
bool ledger_stream_has_room(const struct ledger_stream *stream, const struct batch *batch);
/* Adds cursor, coverage and totals to the batch that was filled, and hands it over. */
void ledger_stream_send(struct ledger_stream *stream);

/* ---- what is not taken for granted (ledger_stream_doubt.c) ---- */

/* What the source counted of what this walk had to show; -1: nothing. What comes after a sweep has
 * shown the newest row, a later one shows. */
int64_t ledger_stream_total(const struct ledger_stream *stream);
/* Why the end of the walk is not believed; NULL: it is. */
const char *ledger_stream_doubt(const struct ledger_stream *stream);
/* A bit for each provider that could be asked at all: enabled, with this stream. */
uint32_t ledger_stream_able(const struct ledger_stream *stream);
/* The walk has passed known rows that did not come again, and nobody has confirmed that yet. */
bool ledger_stream_left_behind(const struct ledger_stream *stream);
/* The walk is over and stored, and the stream is not complete: somebody else is asked, or what was
 * doubted is believed and stored. */
void ledger_stream_settle(struct ledger_stream *stream);
void ledger_stream_mark(struct ledger_stream *stream);
/* At the beginning of a history that is read whole: how much there is, if that has to be asked for,
 * is asked first, so that people see how far it is. */
void ledger_stream_foretell(struct ledger_stream *stream);
void ledger_stream_take_count(struct ledger_stream *stream);
void ledger_stream_take_reach(struct ledger_stream *stream);

/* ---- requests (ledger_stream_ask.c) ---- */

/* Sends what is asked for next to the provider that was picked, as soon as its limits allow. */
void ledger_stream_ask(struct ledger_stream *stream);
/* Ends the request under way, or the waiting for one. */
void ledger_stream_break_off(struct ledger_stream *stream);

/* ---- the way on (ledger_stream.c) ---- */

void ledger_stream_wait(struct ledger_stream *stream, int64_t at_us, bool limited);

void ledger_stream_choose(struct ledger_stream *stream);
void ledger_stream_end(struct ledger_stream *stream, enum ledger_outcome outcome,
                       const char *trouble);
/* The answer was no good: `failure` goes to the provider's account and somebody is asked anew. */
void ledger_stream_failed(struct ledger_stream *stream, enum retry_class class, int64_t wait_us,
                          const char *reason);

static inline struct delivery *ledger_stream_filling(struct ledger_stream *stream)
{
    return &stream->deliveries[stream->filling];
}

static inline int64_t ledger_stream_mono(const struct ledger_stream *stream)
{
    struct runtime *runtime = stream->run->env->runtime;
    return runtime->ops->mono_us(runtime);
}

static inline int64_t ledger_stream_wall(const struct ledger_stream *stream)
{
    struct runtime *runtime = stream->run->env->runtime;
    return runtime->ops->wall_us(runtime);
}

#endif
