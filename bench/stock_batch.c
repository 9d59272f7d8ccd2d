/* SPDX-License-Identifier: Apache-2.0 */
#include "stock_batch.h"

#include <assert.h>

static void set_text(struct batch *batch, struct record *record, unsigned field, struct bytes value)
{
    bool fits = batch_set_text(batch, record, field, value);
    assert(fits);
}

static struct record *add_post(const struct post_stock *stock, struct batch *batch,
                               const struct stock_post *post, int64_t op)
{
    struct record *record = batch_add(batch, RECORD_POST);
    assert(record != NULL);
    set_text(batch, record, POST_DID, bytes_of(stock->dids[post->actor]));
    set_text(batch, record, POST_COLLECTION, bytes_of(STOCK_COLLECTION));
    set_text(batch, record, POST_RKEY, bytes_make(post->rkey, 13));
    set_text(batch, record, POST_REV, bytes_make(post->rev, 13));
    batch_set_int(record, POST_OP, op);
    batch_set_int(record, POST_SHARED_US, post->shared_us);
    return record;
}

static void add_put(const struct post_stock *stock, struct batch *batch,
                    const struct stock_post *post)
{
    struct record *record = add_post(stock, batch, post, POST_OP_PUT);
    set_text(batch, record, POST_TEXT, post_stock_text(stock, post));
    batch_set_int(record, POST_KIND, POST_KIND_POST);
    batch_set_int(record, POST_CREATED_US, post->created_us);
}

static void add_cursor(const struct post_stock *stock, struct batch *batch, size_t end)
{
    char state[STOCK_STATE_MAX];
    int64_t position = stock->posts[end - 1].shared_us;
    struct record *record = batch_add(batch, RECORD_CURSOR);
    assert(record != NULL);
    set_text(batch, record, CURSOR_ROW_SOURCE, bytes_of(STOCK_SOURCE));
    set_text(batch, record, CURSOR_ROW_STREAM, bytes_of(STOCK_STREAM));
    set_text(batch, record, CURSOR_ROW_STATE, post_stock_state(stock, end, state));
    batch_set_int(record, CURSOR_ROW_POSITION, position);
    batch_set_int(record, CURSOR_ROW_AT_US, position);
}

void stock_fill_batch(const struct post_stock *stock, struct batch *batch, size_t which)
{
    size_t first = which * STOCK_BATCH_POSTS, end = first + STOCK_BATCH_POSTS;
    for (size_t i = first; i < end; i++)
        add_put(stock, batch, &stock->posts[i]);
    add_cursor(stock, batch, end);
}

void stock_fill_deletes(const struct post_stock *stock, struct batch *batch, size_t which)
{
    size_t first = which * STOCK_BATCH_POSTS, end = first + STOCK_BATCH_POSTS;
    for (size_t i = first; i < end; i++)
        add_post(stock, batch, &stock->posts[i], POST_OP_DELETE);
    add_cursor(stock, batch, end);
}
