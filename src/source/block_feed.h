/* SPDX-License-Identifier: Apache-2.0
 *
 * block_feed.h - blocks that another indexer tells, line by line, with cursors of its own.
 *
 * Lines come from a file that grows, from a pipe, or from an HTTP server that is asked for what
 * follows the last cursor. A block is handed on as it is told; numbers that are left out are blocks
 * that name nothing. A line that cannot be read is put into quarantine and the next one is read; a
 * line that contradicts what was told before, without an undo, or leaves out more blocks than can
 * be believed, ends the reading: what it should have been cannot be guessed.
 *
 * It goes on after the cursor that is stored. The feed may go on there by itself, or begin anew: if
 * its first line is not one that follows, everything up to the line with that cursor is passed
 * over.
 *
 *   started -> SEEKING -> LIVE <-> waiting for room, an undo, more bytes      LIVE -> STUCK
 *
 * Owner: the daemon.  Thread: the ingest loop.  The content it feeds outlives it. */
#ifndef SOURCE_BLOCK_FEED_H
#define SOURCE_BLOCK_FEED_H

#include "source/content.h"
#include "sys/byte_stream.h"

#define BLOCK_FEED_LINE_MAX     ((size_t)1 << 20)
#define BLOCK_FEED_LEFT_OUT_MAX 10000000 /* a month of four blocks a second; a time is far above */

struct block_feed_settings {
    const char *url;            /* of a server; NULL: `stream` is read; must outlive it */
    struct byte_stream *stream; /* taken over */
    uint64_t start_block;       /* blocks below are passed over */
};

struct block_feed_view {
    bool known; /* a block was told, or one is stored */
    uint64_t last;
    bool stuck; /* it will not go on by itself */
    char trouble[ERR_TEXT_MAX];
};

struct block_feed;

/* What the content source is given to tell the feed; its argument is the feed. */
extern const struct content_events block_feed_events;

struct block_feed *block_feed_new(const struct source_env *env,
                                  const struct block_feed_settings *settings);
void block_feed_free(struct block_feed *feed);
/* Whom it feeds; before that is started. */
void block_feed_feed(struct block_feed *feed, struct content *content);
void block_feed_stop(struct block_feed *feed);
void block_feed_look(const struct block_feed *feed, struct block_feed_view *view);

#endif
