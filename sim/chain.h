/* SPDX-License-Identifier: Apache-2.0
 *
 * chain.h - a seeded chain: blocks, transactions and what each of them moved, and which of it
 * concerns whom.
 *
 * Parties are numbers: the first ones are accounts, whose histories are kept in lists; the others
 * are strangers. A transaction is a pure function of the seed and its number, so that one which a
 * reorganisation throws out comes back the same. Its first row is the transaction itself
 * (STREAM_NORMAL); internal calls and token transfers follow. Withdrawals belong to a block and to
 * no transaction.
 *
 * Always holds: the rows of a list ascend by block and by place in the block, and each stands there
 * once, also when both parties are the account. Rows, transactions and blocks are appended and cut
 * off at the end, never changed; numbers are good until the next reorganisation below them.
 *
 * Owner: the simulation.  Thread: loop. */
#ifndef SIM_CHAIN_H
#define SIM_CHAIN_H

#include "base/bytes.h"
#include "sim/seeded.h"

#define CHAIN_NONE      UINT32_MAX
#define CHAIN_STRANGERS 200u
#define CHAIN_ASSETS    6u

enum chain_stream {
    STREAM_NORMAL,
    STREAM_INTERNAL,
    STREAM_TOKEN,
    STREAM_BEACON,
    STREAM_ANY, /* the transactions that moved anything for the account */
    STREAM_COUNT,
};

struct chain_options {
    uint64_t seed;
    uint32_t accounts;
    uint32_t blocks;      /* mined at the start */
    uint32_t first_block; /* number of the first of them */
    uint32_t density;     /* transactions of a usual block, on average */
    uint32_t burst;       /* those of a crowded one; 0: none is crowded */
    uint32_t mempool;     /* transactions that wait at the start */
    int64_t start_us, block_us;
};

struct chain_block {
    int64_t time_us;
    uint32_t first_tx, first_row;
    uint32_t fork; /* 0, or the number of the reorganisation that made it */
};

struct chain_tx {
    uint64_t id;    /* what it is drawn from */
    uint32_t block; /* its number; CHAIN_NONE while it waits */
    uint32_t first_row;
    uint32_t from, to; /* parties; `to` CHAIN_NONE: it made a contract */
    uint64_t amount;
    uint32_t place; /* in its block */
    bool failed;
};

struct chain_row {
    uint64_t amount;
    uint32_t tx;    /* CHAIN_NONE: a withdrawal */
    uint32_t block; /* its number */
    uint32_t from, to;
    uint32_t ordinal; /* among the rows of its stream in the transaction; of all withdrawals */
    uint8_t asset;    /* of a token transfer */
    uint8_t stream;
};

/* A row that was on the chain and is no more. */
struct chain_orphan {
    struct chain_row row;
    uint64_t tx_id;
};

struct chain_list {
    const uint32_t *rows;
    size_t count;
};

struct chain;

struct chain_options chain_options_default(void);
struct chain *chain_new(const struct chain_options *options);
void chain_free(struct chain *chain);
const struct chain_options *chain_settings(const struct chain *chain);

/* Appends blocks; those who wait come first. */
void chain_mine(struct chain *chain, uint32_t blocks);
/* Throws the newest `depth` blocks away and mines one more than that. Of their transactions most
 * come back, in another block or place; some wait again, some are gone for good. */
void chain_reorganise(struct chain *chain, uint32_t depth);
/* Lets transactions of accounts wait to be mined. */
void chain_broadcast(struct chain *chain, uint32_t count);

/* Number of the newest block. */
uint32_t chain_head(const struct chain *chain);
const struct chain_block *chain_block(const struct chain *chain, uint32_t number);
const struct chain_tx *chain_tx(const struct chain *chain, uint32_t tx);
const struct chain_row *chain_row(const struct chain *chain, uint32_t row);
/* The mined transaction drawn from `id`, or CHAIN_NONE. */
uint32_t chain_find_id(const struct chain *chain, uint64_t id);
/* One beyond the last row of a transaction. */
uint32_t chain_tx_end(const struct chain *chain, uint32_t tx);
struct chain_list chain_list(const struct chain *chain, uint32_t account, enum chain_stream stream);
/* First place of the list whose block is `block` or later. */
size_t chain_list_find(const struct chain *chain, struct chain_list list, uint64_t block);
/* Those who wait, oldest first, and what was orphaned. */
const struct chain_tx *chain_pending(const struct chain *chain, size_t *count);
const struct chain_orphan *chain_orphans(const struct chain *chain, size_t *count);
/* How often the chain was reorganised. */
uint32_t chain_forks(const struct chain *chain);

/* Drawing, for the chain itself. */
struct chain_tx chain_draw_tx(const struct chain_options *options, uint64_t id);
/* Appends the rows that the transaction has beside its first one; returns how many, at most
 * CHAIN_DRAWN_MAX. */
#define CHAIN_DRAWN_MAX 24u
uint32_t chain_draw_rows(const struct chain_options *options, const struct chain_tx *tx,
                         struct chain_row out[CHAIN_DRAWN_MAX]);
/* How many new transactions block `number` has, and its withdrawals. */
uint32_t chain_draw_size(const struct chain_options *options, uint32_t number, uint32_t fork);
uint32_t chain_draw_withdrawals(const struct chain_options *options, uint32_t number,
                                struct chain_row out[CHAIN_DRAWN_MAX]);

#endif
