/* SPDX-License-Identifier: Apache-2.0
 *
 * feed_place.h - how far the reading of one feed is: the mark below which all is stored, and where
 * an unfinished sweep goes on.
 *
 * A feed is read from its newest item to older ones, so a page's token says nothing of what is new.
 * What is new is found by the mark: the newest item that a finished sweep has seen. It rises only
 * when a sweep that began above it has come down to it.
 *
 * Order in a feed is nearly by time, not quite: a date may be made up. One item that is too old
 * proves nothing; the mark itself, or the last two of a page below the bound, do.
 *
 * Pure; any thread. */
#ifndef SOURCE_FEED_PLACE_H
#define SOURCE_FEED_PLACE_H

#include "decode/feed_page.h"
#include "ingest/cursor.h"

#define FEED_URI_MAX    CURSOR_ID_MAX
#define FEED_HANDLE_MAX 253

struct feed_mark {
    int64_t us;                 /* when the server saw it; 0: nothing was seen */
    char uri[FEED_URI_MAX + 1]; /* "": not known, or too long to be kept */
};

/* Where a sweep goes on. */
struct feed_place {
    char token[FEED_TOKEN_MAX + 1];         /* as the AppView gave it; "": at the newest item */
    char provider[CURSOR_PROVIDER_MAX + 1]; /* who gave it: nobody else understands it */
    struct feed_mark newest;                /* that this sweep has seen */
    int64_t began_us;                       /* wall time of its first question */
    int64_t reached_us;                     /* place in the feed of the last item; 0: none yet */
};

/* What one page told of where the reading stands. */
struct feed_tally {
    unsigned items; /* pins and what was malformed left out */
    unsigned fresh; /* of these above the mark */
    bool met;       /* the mark's own item is among them */
    unsigned old;   /* below the bound, counted from the page's end */
    bool orderly;   /* places never rose */
    int64_t last_sort_us;
};

/* Later in time, then in address. */
bool feed_mark_is_below(const struct feed_mark *mark, int64_t us, struct bytes uri);
void feed_mark_raise(struct feed_mark *mark, int64_t us, struct bytes uri);

void feed_tally_begin(struct feed_tally *tally, const struct feed_place *place);
/* Counts an item against the mark and against the time down to which is read. */
void feed_tally_add(struct feed_tally *tally, const struct feed_item *item,
                    const struct feed_mark *mark, int64_t bound_us);
/* Whether nothing that is wanted can lie on an older page. */
bool feed_tally_is_enough(const struct feed_tally *tally, bool to_mark);

/* The place as JSON, and back; false when it is none. */
void feed_place_write(const struct feed_place *place, struct text *out);
bool feed_place_read(struct json value, struct feed_place *out);

/* What is stored of a feed in the table of cursors. */
struct feed_record {
    bool initialised; /* it was read once, perhaps it is empty */
    struct feed_mark mark;
    int64_t total;                    /* items ever counted as new */
    char handle[FEED_HANDLE_MAX + 1]; /* under which it was polled; "": it was not */
    int64_t doubt_us; /* when a reading began that showed too little to be believed; 0: none did */
};

/* The stored state, read; a state that cannot be read is none: the feed is read anew. */
void feed_record_read(struct json_doc *doc, struct bytes state, struct feed_record *out);
/* Adds the cursor row that says so; RC_AGAIN: it does not fit. */
must_check enum rc feed_record_add(const struct feed_record *record, struct json_doc *doc,
                                   struct bytes did, const char *provider, int64_t now_us,
                                   struct batch *batch);

#endif
