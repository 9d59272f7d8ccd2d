/* SPDX-License-Identifier: Apache-2.0
 *
 * block_feed_parts.h - the reader of a feed and what its parts ask of each other; for them only. */
#ifndef SOURCE_BLOCK_FEED_PARTS_H
#define SOURCE_BLOCK_FEED_PARTS_H

#include "base/json.h"
#include "decode/block_line.h"
#include "source/block_feed.h"

#define BLOCK_FEED_LINKS 64 /* blocks that are known again when they are told again */

enum feed_line { LINE_NONE, LINE_BLOCK, LINE_BAD };

struct feed_link {
    uint64_t number;
    char hash[CONTENT_HASH_MAX + 1];
};

struct block_feed {
    struct source_env env;
    struct block_feed_settings settings;
    struct content *content;
    struct timer again;

    struct http_call *exchange;
    unsigned failures; /* of the server, in a row */
    bool idle;         /* nothing in its last answer was new */
    struct text bytes; /* what came; lines before `at` are done */
    size_t at;
    uint64_t cut; /* bytes of the line at `at` that were not kept */

    enum feed_line kind; /* of the line under way */
    struct bytes raw;    /* the line, in `bytes` */
    uint64_t line_number;
    struct json_doc *doc;
    struct block_line line;
    bool complained, kept; /* of a line with uris that are none: it was told, it is in quarantine */
    struct content_ref *refs;

    struct content_place last; /* told or stored */
    struct feed_link links[BLOCK_FEED_LINKS];
    uint64_t link_count; /* ever; the last ones are in `links` */
    bool seeking;        /* the line that follows `last` has not come */
    bool first;          /* no line has come since it seeks */
    bool anew;           /* the bytes that come next are a file's beginning */
    bool waiting, undoing, stuck, over, stopping;
    struct err trouble;
};

/* Does whatever can be done with the bytes that are there. */
void block_feed_pump(struct block_feed *feed);

/* ---- bytes ---- */
/* Cuts the next line off; false: no whole one is there. */
bool block_feed_next_line(struct block_feed *feed);
/* Has more bytes come, and block_feed_pump() called. */
void block_feed_ask_more(struct block_feed *feed);

#endif
