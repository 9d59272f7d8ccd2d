/* SPDX-License-Identifier: Apache-2.0 */
#include "source/content_fetch.h"

#include <assert.h>

static void pump(struct content_fetch *fetch);

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
    cancel_calls(fetch);
    fetch->reading = (struct unixfs_reading){0};
    told.content = &reading.content;
    fetch->fn(fetch->arg, &told);
    unixfs_end(&reading);
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
    if (outcome.rc != RC_OK || unixfs_is_whole(&fetch->reading))
        finish(fetch, &outcome);
    else
        pump(fetch);
}

/* A bare block may be a whole document; a block with links is never that large. */
static size_t bytes_max_of(const struct content_fetch *fetch, const struct cid *cid)
{
    bool whole = cid->codec == CID_RAW && fetch->reading.place_count == 1;
    return whole ? fetch->reading.size_max : UNIXFS_BLOCK_MAX;
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
                     fetch->without, take_block, &fetch->slots[i]);
    }
}

void content_fetch_begin(struct content_fetch *fetch, struct gateways *gateways,
                         const struct cid *cid, size_t size_max, uint32_t without,
                         content_fetch_fn *fn, void *arg)
{
    *fetch = (struct content_fetch){.gateways = gateways, .without = without, .fn = fn, .arg = arg};
    unixfs_begin(&fetch->reading, cid, size_max);
    pump(fetch);
    assert(fetch->slots[0].busy);
}

void content_fetch_cancel(struct content_fetch *fetch)
{
    cancel_calls(fetch);
    unixfs_end(&fetch->reading);
}
