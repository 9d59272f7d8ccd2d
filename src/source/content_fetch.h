/* SPDX-License-Identifier: Apache-2.0
 *
 * content_fetch.h - one document by its content address, and a path if there is one: the
 * directories on its way, then its blocks, a few at a time, put together.
 *
 * Ends exactly once unless it is cancelled: with the whole file; with what the gateways said of the
 * first block that none of them gave; or with why this will never be a file. A file that turns out
 * to be large stops before it takes memory, until its owner lets it grow.
 *
 * Owner: a source.  Thread: the ingest loop.  Lies in its owner's memory. */
#ifndef SOURCE_CONTENT_FETCH_H
#define SOURCE_CONTENT_FETCH_H

#include "decode/unixfs.h"
#include "decode/unixfs_path.h"
#include "source/gateways.h"

#define CONTENT_BLOCKS_AT_ONCE 4
#define CONTENT_LARGE          UNIXFS_BLOCK_MAX /* bytes; a file of more is large */

struct content_wish {
    struct cid cid;
    struct bytes path; /* in its one spelling, outlives the fetch; absent: the address is its own */
    size_t size_max;
    uint32_t without; /* see gateways_get() */
    /* It is large and waits for content_fetch_grow(). NULL: it waits for nobody. */
    void (*grows)(void *arg);
};

struct content_outcome {
    enum rc rc; /* RC_OK: the file. RC_RETRY: see `blocked`. RC_REJECT: no file, see `err` */
    struct text *content;                  /* may be taken over */
    const struct gateway_outcome *blocked; /* borrowed */
    struct err err;
};

typedef void content_fetch_fn(void *arg, const struct content_outcome *outcome);

struct content_fetch {
    struct gateways *gateways;
    struct content_wish wish;
    struct unixfs_way way; /* that is left, from the directory `wish.cid` */
    unsigned steps;
    struct unixfs_reading reading;
    bool large; /* it may be */
    bool waits; /* to be allowed to be */
    struct gateway_call calls[CONTENT_BLOCKS_AT_ONCE];
    struct content_slot {
        struct content_fetch *fetch;
        bool busy;
    } slots[CONTENT_BLOCKS_AT_ONCE];
    content_fetch_fn *fn;
    void *arg;
};

void content_fetch_begin(struct content_fetch *fetch, struct gateways *gateways,
                         const struct content_wish *wish, content_fetch_fn *fn, void *arg);
/* It waits, and may be large from now on. */
void content_fetch_grow(struct content_fetch *fetch);
void content_fetch_cancel(struct content_fetch *fetch);

#endif
