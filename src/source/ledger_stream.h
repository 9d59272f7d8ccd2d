/* SPDX-License-Identifier: Apache-2.0
 *
 * ledger_stream.h - one stream of one account, read to its end through whoever can be asked.
 *
 *   loading   what is stored: where the stream stands, and the rows that will be read again
 *   waiting   for a provider, its rate limit, or a batch
 *   asking    one request is under way
 *   storing   nothing can be asked for before rows, with the cursor and the session's totals, are
 *             stored
 *   ended     complete, failed or stopped; what is stored is stored, and a later run goes on there
 *
 * Always holds: one request at most, one batch under way and one that is filled meanwhile. The next
 * page is asked for when the last one has gone into batches, not when it is stored; a batch is sent
 * when the one before is stored, with the position that its own rows have come to, so a crash loses
 * nothing (I2). Another provider goes on from what was read. A page larger than a batch is stored
 * in several, and small ones share one. Memory does not grow with the history (I6).
 *
 * Completion is the provider's word, and it is not taken for everything: that there is nothing
 * where rows are known, or nothing at all, has to be said by two, if there are two.
 *
 * Owner: an account's import.  Thread: the ingest loop. */
#ifndef SOURCE_LEDGER_STREAM_H
#define SOURCE_LEDGER_STREAM_H

#include "ingest/cursor.h"
#include "source/ledger_file.h"
#include "source/source.h"

enum ledger_stream_state {
    LEDGER_LOADING,
    LEDGER_WAITING,
    LEDGER_ASKING,
    LEDGER_STORING,
    LEDGER_ENDED,
};
enum ledger_outcome {
    LEDGER_UNDECIDED,
    LEDGER_COMPLETE,
    LEDGER_INCOMPLETE, /* everybody failed for now: a later run goes on */
    LEDGER_UNAUTHORIZED,
    LEDGER_FAILED, /* a later run would fail, too */
    LEDGER_STOPPED,
};

/* What all streams of one import share; outlives them. */
struct ledger_run {
    const struct source_env *env;
    struct ledger_platform *platform;
    const char *account; /* its name, "ethereum:0x..." */
    struct bytes identifier;
    const char *only;   /* the one provider that may be asked; NULL: all */
    int64_t since_us;   /* rows older than this are not asked for where that can be said; -1: all */
    int64_t started_us; /* of the session */
    const char *owed;   /* tried again whenever it is due, and if it is dead; NULL: none */
    struct ledger_file *file;     /* rows come from there; NULL: from providers */
    struct ledger_nonces *nonces; /* NULL: none are needed */
};

/* What people see. */
struct ledger_stream_view {
    const char *name, *provider; /* provider: "" before there is one */
    enum ledger_stream_state state;
    enum ledger_outcome outcome;
    uint64_t batches, rows, known, requests, orphaned, refused, owed;
    uint64_t older;  /* left out: before the time that was asked for */
    uint64_t stored; /* rows there ever were, by all imports */
    enum cursor_kind kind;
    int64_t position; /* complete up to there; -1: unknown */
    int64_t total;    /* what the source says there is; -1: it does not */
    int64_t until_us; /* waiting until then, monotonic; 0: not for a time */
    bool limited;     /* ... for a rate limit */
    uint64_t switches;
    char moved[PROVIDER_REASON_MAX * 2]; /* the last switch in words; "": none */
    char trouble[ERR_TEXT_MAX];          /* why it ended without being complete */
};

struct ledger_stream;

/* `ended` is called once, from a later turn of the loop. */
struct ledger_stream *ledger_stream_new(const struct ledger_run *run, const char *name,
                                        void (*ended)(void *arg), void *arg);
void ledger_stream_start(struct ledger_stream *stream);
/* Stores what is under way and ends. */
void ledger_stream_stop(struct ledger_stream *stream);
void ledger_stream_look(const struct ledger_stream *stream, struct ledger_stream_view *view);
/* Only when it has ended, or its batches were answered and nothing calls back any more. */
void ledger_stream_free(struct ledger_stream *stream);

#endif
