/* SPDX-License-Identifier: Apache-2.0
 *
 * ledger_stream_parts.h - a stream of a ledger from inside: for the files it is made of.
 *
 * Owner: the stream.  Thread: the ingest loop. */
#ifndef SOURCE_LEDGER_STREAM_PARTS_H
#define SOURCE_LEDGER_STREAM_PARTS_H

#include "base/json.h"
#include "decode/connector_page.h"
#include "ingest/quarantine.h"
#include "ingest/stream.h"
#include "source/delivery.h"
#include "source/ledger_known.h"
#include "source/ledger_stream.h"
#include "source/ledger_walk.h"

#define LEDGER_COMPONENT "ledger"

/* Rows of one batch; a few more records come with them. */
#define LEDGER_CHUNK_ROWS (BATCH_RECORDS_MAX - 16)
#define LEDGER_RAW_MAX    65536 /* of a record that is kept as it came */
#define LEDGER_ROW_ROOM   ((size_t)3 * LEDGER_RAW_MAX)

struct ledger_stream {
    const struct ledger_run *run;
    char name[FAILOVER_STREAM_MAX];
    void (*ended)(void *arg);
    void *arg;
    struct ledger_stream_view view;
    bool stopping;

    struct stream stored; /* cursor and windows */
    struct ledger_known known;
    struct quarantine quarantine;

    struct failover_stream failover;
    struct failover_pick pick;
    bool picked;
    unsigned failures; /* in a row, whoever failed */
    unsigned auth_failures;
    unsigned restarts; /* of the walk, in a row */
    int64_t asked_us;
    const struct ledger_provider *provider; /* whose walk it is; NULL: none yet */
    const struct connector_stream *shape;
    struct ledger_walk walk;
    int64_t reread_from; /* the walk reads known rows from there on again; -1: from the beginning */
    int64_t covered_from;                  /* the walk covers from there to what is complete */
    uint32_t denied;                       /* a bit for each provider whose end was doubted */
    bool believed;                         /* what was doubted is so */
    bool unseated[FAILOVER_PROVIDERS_MAX]; /* does not have this stream, or may not be asked */

    struct http_call *call;
    struct timer wake;
    struct connector_vars vars;
    struct connector_http http;
    struct connector_answer answer;
    struct connector_page page;
    struct json_doc *doc, *cursor_doc;
    struct text token, words, headers;
    struct delivery delivery;

    /* of the page that is being stored */
    bool reading; /* it has rows that are in no batch yet */
    struct ledger_row row;
    uint8_t row_id[EVENT_ID_SIZE];
    struct cursor last[3]; /* positions of the last row that came */
    unsigned last_count;
    struct window_id ids[BATCH_RECORDS_MAX];
    bool fresh[BATCH_RECORDS_MAX];
    size_t id_count;
    uint64_t known_here; /* rows of this batch that were known */
    bool marking;        /* rows are being marked as orphaned ... */
    size_t marked;       /* ... as far as this one */
};

/* ---- where it begins (ledger_stream_place.c) ---- */

/* Asks the store; goes on with ledger_stream_choose. */
void ledger_stream_load(struct ledger_stream *stream);
/* A walk at the provider that was picked, from what is stored. */
void ledger_stream_begin_walk(struct ledger_stream *stream);
enum cursor_kind ledger_stream_kind(const struct connector_stream *shape);

/* ---- pages into batches (ledger_stream_page.c) ---- */

/* Opens the page of the last answer; RC_REJECT: it is not what the connector says. */
must_check enum rc ledger_stream_open_page(struct ledger_stream *stream, bool empty,
                                           struct err *err);
/* Fills a batch with what is left of the page and sends it. */
void ledger_stream_store(struct ledger_stream *stream);

/* There is room for any row, and for what goes with the rows. */
bool ledger_stream_has_room(const struct ledger_stream *stream, const struct batch *batch);
/* Adds cursor, coverage and totals, and hands the batch over. */
void ledger_stream_send(struct ledger_stream *stream, struct batch *batch);

/* ---- what is not taken for granted (ledger_stream_doubt.c) ---- */

/* Why the end of the walk is not believed; NULL: it is. */
const char *ledger_stream_doubt(const struct ledger_stream *stream);
/* The walk is over and stored, and the stream is not complete: somebody else is asked, or what was
 * doubted is believed and stored. */
void ledger_stream_settle(struct ledger_stream *stream);
void ledger_stream_mark(struct ledger_stream *stream);

/* ---- the way on (ledger_stream.c) ---- */

void ledger_stream_choose(struct ledger_stream *stream);
void ledger_stream_end(struct ledger_stream *stream, enum ledger_outcome outcome,
                       const char *trouble);
/* The answer was no good: `failure` goes to the provider's account and somebody is asked anew. */
void ledger_stream_failed(struct ledger_stream *stream, enum retry_class class, int64_t wait_us,
                          const char *reason);

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
