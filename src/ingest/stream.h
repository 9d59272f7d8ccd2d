/* SPDX-License-Identifier: Apache-2.0
 *
 * stream.h - one stream of a paged source: what it has seen, how far it is, what is complete.
 *
 * A page of decoded records comes in as their ids; out come which of them are new, and the cursor
 * row and coverage row that belong into the batch with them (I2). New means: in none of the two
 * windows, the provider's and the stream's. The windows only save work; what they let through twice
 * the store's unique key drops (I3).
 *
 * Always holds: one page at most is on its way to the store. Until it is answered nothing of it is
 * believed; if its commit fails the stream stands where it stood, so the same page again is new
 * again. A page of duplicates, or an empty one, carries the completion it brought and takes nothing
 * away from the cursor (I9). The windows never hold an id whose row is neither stored nor on its
 * way.
 *
 * Owner: its source.  Thread: the owner's.  Allocates in init, and for the text of a cursor. */
#ifndef INGEST_STREAM_H
#define INGEST_STREAM_H

#include "ingest/cursor.h"
#include "ingest/window.h"
#include "record_batch.h"

#define STREAM_PAGE_IDS_MAX BATCH_RECORDS_MAX

/* Half-open; empty where hi <= lo. */
struct interval {
    int64_t lo, hi;
};

/* What a provider returned; everything is borrowed. */
struct stream_page {
    const char *provider_name;
    const struct window_id *ids; /* of its records, in order */
    size_t id_count;
    struct bytes next_token;        /* absent: none */
    const struct cursor *extracted; /* all positions of the page's last record */
    unsigned extracted_count;
    enum cursor_completion completion;
    const struct cursor *high_water, *backfill; /* NULL: unchanged */
    struct interval covered;                    /* complete with this page; empty: none */
    int64_t now_us;
};

struct stream {
    const char *source, *name; /* must outlive it */
    struct cursor_state cursor;
    struct window provider_window, stream_window;
    char window_of[CURSOR_PROVIDER_MAX + 1]; /* whose pages the provider window saw */
    uint64_t skipped;                        /* duplicates the windows saw, ever */
    bool under_way;
    /* How it stood before the page that is under way. */
    struct cursor_state cursor_before;
    uint64_t provider_mark, stream_mark, skipped_before;
};

void stream_init(struct stream *stream, const char *source, const char *name);
void stream_deinit(struct stream *stream);

/* Goes on from the stored cursor state (absent: from the beginning). RC_REJECT: it is unusable. */
must_check enum rc stream_resume(struct stream *stream, struct json_doc *doc, struct bytes state,
                                 struct err *err);
/* Takes a page: `fresh[i]` says whether record i is new, and its rows are in `batch`. RC_AGAIN: a
 * page is under way, or the batch is full. RC_REJECT: the page makes no valid cursor. Either way
 * nothing has changed. The caller adds the new records to the same batch. */
must_check enum rc stream_take(struct stream *stream, const struct stream_page *page,
                               struct json_doc *doc, struct batch *batch, bool *fresh,
                               size_t *fresh_count, struct err *err);
/* What became of the batch; anything but RC_OK takes the page back. Also for a batch that was given
 * up before it was handed over. */
void stream_answered(struct stream *stream, enum rc rc);
/* The upstream said that nothing is left, and that is stored. */
bool stream_is_complete(const struct stream *stream);

#endif
