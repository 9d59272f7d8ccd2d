/* SPDX-License-Identifier: Apache-2.0 */
#include "source/content_fetch.h"

#include "sys/crashpoint.h"

#include <assert.h>

static void pump(struct content_fetch *fetch);
static void go_on(struct content_fetch *fetch);

static void cancel_calls(struct content_fetch *fetch)
{
    for (size_t i = 0; i < CONTENT_BLOCKS_AT_ONCE; i++) {
        if (fetch->slots[i].busy)
            gateways_cancel(&fetch->calls[i]);
        fetch->slots[i].busy = false;
    }
}

/* The owner may begin anew from inside its function: what is ours is put away before. */
static void finish(struct content_fetch *fetch, const struct content_outcome *outcome)
{
    struct unixfs_reading reading = fetch->reading;
    struct content_outcome told = *outcome;
    crashpoint(CRASH_DOCUMENT_ENDED);
    cancel_calls(fetch);
    fetch->reading = (struct unixfs_reading){0};
    told.content = &reading.content;
    fetch->fn(fetch->arg, &told);
    unixfs_end(&reading);
}

static bool is_whole_document(const struct content_fetch *fetch, const struct cid *cid)
{
    return cid->codec == CID_RAW && fetch->reading.place_count == 1;
}

/* Whether this is the moment to ask for more room: the file says that it is large, or its only
 * block is. */
static bool must_grow(const struct content_fetch *fetch, const struct content_outcome *outcome)
{
    if (fetch->large || outcome->rc == RC_REJECT)
        return false;
    if (outcome->rc == RC_OK)
        return fetch->reading.content.len > CONTENT_LARGE;
    return outcome->blocked->too_large && is_whole_document(fetch, &fetch->wish.cid);
}

static void take_block(void *arg, const struct gateway_outcome *answer)
{
    struct content_slot *slot = arg;
    struct content_fetch *fetch = slot->fetch;
    struct content_outcome outcome = {.rc = answer->rc, .blocked = answer};
    const struct gateway_call *call = &fetch->calls[slot - fetch->slots];
    slot->busy = false;
    if (answer->rc == RC_OK)
        outcome.rc = unixfs_give(&fetch->reading, &call->cid, answer->block, &outcome.err);
    if (must_grow(fetch, &outcome)) {
        fetch->waits = true;
        fetch->wish.grows(fetch->arg);
    } else if (outcome.rc != RC_OK || unixfs_is_whole(&fetch->reading)) {
        finish(fetch, &outcome);
    } else {
        pump(fetch);
    }
}

/* A bare block may be a whole document; a block with links is never that large. */
static size_t bytes_max_of(const struct content_fetch *fetch, const struct cid *cid)
{
    return fetch->large && is_whole_document(fetch, cid) ? fetch->reading.size_max
                                                         : UNIXFS_BLOCK_MAX;
}

static void pump(struct content_fetch *fetch)
{
    struct cid cid;
    for (size_t i = 0; i < CONTENT_BLOCKS_AT_ONCE; i++) {
        if (fetch->slots[i].busy)
            continue;
        if (!unixfs_want(&fetch->reading, &cid))
            return;
        fetch->slots[i] = (struct content_slot){fetch, true};
        gateways_get(fetch->gateways, &fetch->calls[i], &cid, bytes_max_of(fetch, &cid),
                     fetch->wish.without, take_block, &fetch->slots[i]);
    }
}

/* ---- directories on the way ---- */

static enum rc step(struct content_fetch *fetch, struct bytes block, struct err *err)
{
    struct cid next;
    if (++fetch->steps > UNIXFS_PATH_STEPS_MAX)
        return err_set(err, RC_REJECT, "the path leads through more than %d blocks",
                       UNIXFS_PATH_STEPS_MAX);
    enum rc rc = unixfs_path_step(&fetch->wish.cid, block, &fetch->way, &next, err);
    if (rc == RC_OK)
        fetch->wish.cid = next;
    return rc;
}

static void take_directory(void *arg, const struct gateway_outcome *answer)
{
    struct content_slot *slot = arg;
    struct content_fetch *fetch = slot->fetch;
    struct content_outcome outcome = {.rc = answer->rc, .blocked = answer};
    slot->busy = false;
    if (answer->rc == RC_OK)
        outcome.rc = step(fetch, answer->block, &outcome.err);
    if (outcome.rc == RC_OK)
        go_on(fetch);
    else
        finish(fetch, &outcome);
}

/* Asks for the next directory, or for the file when the path is at its end. */
static void go_on(struct content_fetch *fetch)
{
    const struct content_wish *wish = &fetch->wish;
    if (fetch->way.path.len > 0) {
        fetch->slots[0] = (struct content_slot){fetch, true};
        gateways_get(fetch->gateways, &fetch->calls[0], &wish->cid, UNIXFS_BLOCK_MAX, wish->without,
                     take_directory, &fetch->slots[0]);
        return;
    }
    unixfs_begin(&fetch->reading, &wish->cid, wish->size_max);
    pump(fetch);
    assert(fetch->slots[0].busy);
}

void content_fetch_begin(struct content_fetch *fetch, struct gateways *gateways,
                         const struct content_wish *wish, content_fetch_fn *fn, void *arg)
{
    *fetch = (struct content_fetch){
        .gateways = gateways, .wish = *wish, .way = {.path = wish->path}, .fn = fn, .arg = arg};
    fetch->large = wish->grows == NULL;
    go_on(fetch);
}

/* A file whose blocks follow goes on; a bare block, which was refused unread, is asked for anew. */
void content_fetch_grow(struct content_fetch *fetch)
{
    assert(fetch->waits && !fetch->large);
    fetch->waits = false;
    fetch->large = true;
    if (fetch->reading.content.len > CONTENT_LARGE) {
        pump(fetch);
        return;
    }
    unixfs_end(&fetch->reading);
    go_on(fetch);
}

void content_fetch_cancel(struct content_fetch *fetch)
{
    cancel_calls(fetch);
    unixfs_end(&fetch->reading);
}
