/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/chain.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Which rows concern one account, by stream. */
struct row_list {
    uint32_t *rows;
    size_t count, cap;
};

struct chain {
    struct chain_options options;
    struct chain_block *blocks; /* the first has number options.first_block */
    struct chain_tx *txs, *pending;
    struct chain_row *rows;
    struct chain_orphan *orphans;
    size_t block_count, block_cap, tx_count, tx_cap, row_count, row_cap;
    size_t pending_count, pending_cap, orphan_count, orphan_cap;
    struct row_list *lists; /* accounts x STREAM_COUNT */
    uint32_t *places;       /* the mined transaction of each id, or CHAIN_NONE */
    size_t place_count, place_cap;
    uint64_t next_id;
    uint32_t withdrawals;
    uint32_t forks;
};

/* Makes room for one more element. */
static void *grow(void *items, size_t count, size_t *cap, size_t size)
{
    if (count < *cap)
        return items;
    *cap = *cap == 0 ? 64 : *cap * 2;
    return memory_resize(items, *cap * size);
}

struct chain_options chain_options_default(void)
{
    return (struct chain_options){
        .seed = 1,
        .accounts = 4,
        .blocks = 200,
        .first_block = 1000,
        .density = 2,
        .burst = 40,
        .start_us = 1767225600000000,
        .block_us = 12000000,
    };
}

const struct chain_options *chain_settings(const struct chain *chain)
{
    return &chain->options;
}

uint32_t chain_head(const struct chain *chain)
{
    return chain->options.first_block + (uint32_t)chain->block_count - 1;
}

const struct chain_block *chain_block(const struct chain *chain, uint32_t number)
{
    assert(number >= chain->options.first_block && number <= chain_head(chain));
    return &chain->blocks[number - chain->options.first_block];
}

const struct chain_tx *chain_tx(const struct chain *chain, uint32_t tx)
{
    assert(tx < chain->tx_count);
    return &chain->txs[tx];
}

const struct chain_row *chain_row(const struct chain *chain, uint32_t row)
{
    assert(row < chain->row_count);
    return &chain->rows[row];
}

uint32_t chain_find_id(const struct chain *chain, uint64_t id)
{
    return id < chain->place_count ? chain->places[id] : CHAIN_NONE;
}

uint32_t chain_tx_end(const struct chain *chain, uint32_t tx)
{
    uint32_t end = chain_tx(chain, tx)->first_row;
    while (end < chain->row_count && chain->rows[end].tx == tx)
        end++;
    return end;
}

struct chain_list chain_list(const struct chain *chain, uint32_t account, enum chain_stream stream)
{
    assert(account < chain->options.accounts && stream < STREAM_COUNT);
    const struct row_list *list = &chain->lists[account * STREAM_COUNT + stream];
    return (struct chain_list){list->rows, list->count};
}

size_t chain_list_find(const struct chain *chain, struct chain_list list, uint64_t block)
{
    size_t low = 0, high = list.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (chain->rows[list.rows[middle]].block < block)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct chain_tx *chain_pending(const struct chain *chain, size_t *count)
{
    *count = chain->pending_count;
    return chain->pending;
}

const struct chain_orphan *chain_orphans(const struct chain *chain, size_t *count)
{
    *count = chain->orphan_count;
    return chain->orphans;
}

uint32_t chain_forks(const struct chain *chain)
{
    return chain->forks;
}

static void list_row(struct chain *chain, uint32_t account, enum chain_stream stream, uint32_t row)
{
    if (account >= chain->options.accounts)
        return;
    struct row_list *list = &chain->lists[account * STREAM_COUNT + stream];
    if (list->count > 0 && list->rows[list->count - 1] == row)
        return;
    list->rows = grow(list->rows, list->count, &list->cap, sizeof *list->rows);
    list->rows[list->count++] = row;
}

static void append_row(struct chain *chain, const struct chain_row *row)
{
    uint32_t number = (uint32_t)chain->row_count;
    chain->rows = grow(chain->rows, chain->row_count, &chain->row_cap, sizeof *chain->rows);
    chain->rows[chain->row_count++] = *row;
    list_row(chain, row->from, row->stream, number);
    list_row(chain, row->to, row->stream, number);
    if (row->tx != CHAIN_NONE) {
        uint32_t first = chain->txs[row->tx].first_row;
        list_row(chain, row->from, STREAM_ANY, first);
        list_row(chain, row->to, STREAM_ANY, first);
    }
}

static void append_tx(struct chain *chain, uint64_t id)
{
    struct chain_row drawn[CHAIN_DRAWN_MAX];
    struct chain_tx tx = chain_draw_tx(&chain->options, id);
    uint32_t number = (uint32_t)chain->tx_count;
    tx.block = chain_head(chain);
    tx.first_row = (uint32_t)chain->row_count;
    tx.place = number - chain->blocks[chain->block_count - 1].first_tx;
    chain->txs = grow(chain->txs, chain->tx_count, &chain->tx_cap, sizeof *chain->txs);
    chain->txs[chain->tx_count++] = tx;
    while (chain->place_count <= id) {
        chain->places =
            grow(chain->places, chain->place_count, &chain->place_cap, sizeof *chain->places);
        chain->places[chain->place_count++] = CHAIN_NONE;
    }
    chain->places[id] = number;
    struct chain_row row = {.tx = number,
                            .block = tx.block,
                            .from = tx.from,
                            .to = tx.to,
                            .amount = tx.amount,
                            .stream = STREAM_NORMAL};
    append_row(chain, &row);
    uint32_t count = chain_draw_rows(&chain->options, &tx, drawn);
    for (uint32_t i = 0; i < count; i++) {
        drawn[i].tx = number;
        drawn[i].block = tx.block;
        append_row(chain, &drawn[i]);
    }
}

/* Half of those who wait are mined, so that some are seen waiting for longer. */
static void mine_pending(struct chain *chain)
{
    size_t taken = (chain->pending_count + 1) / 2;
    for (size_t i = 0; i < taken; i++)
        append_tx(chain, chain->pending[i].id);
    chain->pending_count -= taken;
    if (taken > 0)
        memmove(chain->pending, chain->pending + taken,
                chain->pending_count * sizeof *chain->pending);
}

/* An empty block on top. */
static void open_block(struct chain *chain, uint32_t fork)
{
    const struct chain_options *options = &chain->options;
    chain->blocks =
        grow(chain->blocks, chain->block_count, &chain->block_cap, sizeof *chain->blocks);
    chain->blocks[chain->block_count] = (struct chain_block){
        .time_us = options->start_us + (int64_t)chain->block_count * options->block_us,
        .first_tx = (uint32_t)chain->tx_count,
        .first_row = (uint32_t)chain->row_count,
        .fork = fork,
    };
    chain->block_count++;
}

static void fill_block(struct chain *chain, uint32_t fork)
{
    struct chain_row drawn[CHAIN_DRAWN_MAX];
    uint32_t number = chain_head(chain);
    mine_pending(chain);
    uint32_t size = chain_draw_size(&chain->options, number, fork);
    for (uint32_t i = 0; i < size; i++)
        append_tx(chain, chain->next_id++);
    uint32_t count = chain_draw_withdrawals(&chain->options, number, drawn);
    for (uint32_t i = 0; i < count; i++) {
        drawn[i].block = number;
        drawn[i].ordinal = chain->withdrawals++;
        append_row(chain, &drawn[i]);
    }
}

void chain_mine(struct chain *chain, uint32_t blocks)
{
    for (uint32_t i = 0; i < blocks; i++) {
        open_block(chain, 0);
        fill_block(chain, 0);
    }
}

static void append_pending(struct chain *chain, uint64_t id)
{
    chain->pending =
        grow(chain->pending, chain->pending_count, &chain->pending_cap, sizeof *chain->pending);
    chain->pending[chain->pending_count++] = chain_draw_tx(&chain->options, id);
}

void chain_broadcast(struct chain *chain, uint32_t count)
{
    for (uint32_t found = 0; found < count;) {
        uint64_t id = chain->next_id++;
        struct chain_tx tx = chain_draw_tx(&chain->options, id);
        if (tx.from >= chain->options.accounts && tx.to >= chain->options.accounts)
            continue;
        append_pending(chain, id);
        found++;
    }
}

/* Notes what the rows from `first` on were, then forgets them. */
static void cut_rows(struct chain *chain, uint32_t first)
{
    for (size_t i = first; i < chain->row_count; i++) {
        const struct chain_row *row = &chain->rows[i];
        chain->withdrawals -= row->stream == STREAM_BEACON;
        chain->orphans =
            grow(chain->orphans, chain->orphan_count, &chain->orphan_cap, sizeof *chain->orphans);
        chain->orphans[chain->orphan_count++] =
            (struct chain_orphan){*row, row->tx == CHAIN_NONE ? 0 : chain->txs[row->tx].id};
    }
    chain->row_count = first;
    for (size_t i = 0; i < (size_t)chain->options.accounts * STREAM_COUNT; i++) {
        struct row_list *list = &chain->lists[i];
        while (list->count > 0 && list->rows[list->count - 1] >= first)
            list->count--;
    }
}

void chain_reorganise(struct chain *chain, uint32_t depth)
{
    if (depth >= chain->block_count)
        depth = (uint32_t)chain->block_count - 1;
    if (depth == 0)
        return;
    struct draw draw = draw_make(chain->options.seed, ++chain->forks, SALT_CHAIN_FORK);
    size_t kept = chain->block_count - depth;
    const struct chain_block *cut = &chain->blocks[kept];
    uint32_t first_tx = cut->first_tx;
    size_t lost = chain->tx_count - first_tx;
    uint64_t *back = memory_new((lost + 1) * sizeof *back);
    size_t count = 0;
    for (size_t i = first_tx; i < chain->tx_count; i++) {
        uint32_t fate = draw_below(&draw, 10);
        chain->places[chain->txs[i].id] = CHAIN_NONE;
        if (fate < 7)
            back[count++] = chain->txs[i].id;
        else if (fate < 8)
            append_pending(chain, chain->txs[i].id);
    }
    cut_rows(chain, cut->first_row);
    chain->tx_count = first_tx;
    chain->block_count = kept;
    for (uint32_t i = 0, next = 0; i <= depth; i++) {
        open_block(chain, chain->forks);
        uint32_t end =
            i == depth ? (uint32_t)count : next + draw_below(&draw, (uint32_t)count - next + 1);
        while (next < end)
            append_tx(chain, back[next++]);
        fill_block(chain, chain->forks);
    }
    free(back);
}

struct chain *chain_new(const struct chain_options *options)
{
    struct chain *chain = memory_new_zeroed(1, sizeof *chain);
    assert(options->accounts > 0 && options->blocks > 0);
    chain->options = *options;
    chain->lists =
        memory_new_zeroed((size_t)options->accounts * STREAM_COUNT, sizeof *chain->lists);
    chain_mine(chain, options->blocks);
    chain_broadcast(chain, options->mempool);
    return chain;
}

void chain_free(struct chain *chain)
{
    if (chain == NULL)
        return;
    for (size_t i = 0; i < (size_t)chain->options.accounts * STREAM_COUNT; i++)
        free(chain->lists[i].rows);
    free(chain->lists);
    free(chain->blocks);
    free(chain->txs);
    free(chain->places);
    free(chain->rows);
    free(chain->pending);
    free(chain->orphans);
    free(chain);
}
