/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/chain.h"

#include <assert.h>

#define QUIET_RUN       32u /* blocks of which a whole run may be empty */
#define WITHDRAWALS_MAX 4u
#define GWEI_DRAWN      18000000u

static uint32_t draw_account(struct draw *draw, const struct chain_options *options)
{
    return draw_skewed(draw, options->accounts);
}

static uint32_t draw_stranger(struct draw *draw, const struct chain_options *options)
{
    return options->accounts + draw_below(draw, CHAIN_STRANGERS);
}

/* Few different amounts, so that equal ones meet; some are nothing, some exceed 64 bits once they
 * are written in the smallest unit. */
static uint64_t draw_amount(struct draw *draw)
{
    static const uint64_t often[] = {0, 1, 1000, 250000, 1000000000000000000u};
    uint32_t choice = draw_below(draw, 12);
    if (choice < sizeof often / sizeof often[0])
        return often[choice];
    return draw_next(draw) >> (8 + draw_below(draw, 40));
}

struct chain_tx chain_draw_tx(const struct chain_options *options, uint64_t id)
{
    struct draw draw = draw_make(options->seed, id, SALT_CHAIN_TX);
    struct chain_tx tx = {.id = id, .block = CHAIN_NONE};
    uint32_t manner = draw_below(&draw, 100);
    tx.from = manner < 45 ? draw_account(&draw, options) : draw_stranger(&draw, options);
    if (manner < 2)
        tx.to = CHAIN_NONE;
    else if (manner < 5)
        tx.to = tx.from;
    else if (manner < 35 || manner >= 80)
        tx.to = draw_stranger(&draw, options);
    else
        tx.to = draw_account(&draw, options);
    tx.amount = draw_amount(&draw);
    tx.failed = draw_below(&draw, 100) < 4;
    return tx;
}

/* One internal call or token transfer. */
static struct chain_row draw_row(struct draw *draw, const struct chain_options *options,
                                 const struct chain_tx *tx, enum chain_stream stream)
{
    struct chain_row row = {.stream = (uint8_t)stream, .amount = draw_amount(draw)};
    uint32_t manner = draw_below(draw, 10);
    row.from = manner < 4 ? tx->from : draw_stranger(draw, options);
    row.to = manner < 8 ? draw_account(draw, options) : draw_stranger(draw, options);
    if (stream == STREAM_TOKEN)
        row.asset = (uint8_t)draw_below(draw, CHAIN_ASSETS);
    return row;
}

uint32_t chain_draw_rows(const struct chain_options *options, const struct chain_tx *tx,
                         struct chain_row out[CHAIN_DRAWN_MAX])
{
    struct draw draw = draw_make(options->seed, tx->id, SALT_CHAIN_ROWS);
    uint32_t count = 0;
    if (tx->failed || tx->to == tx->from)
        return 0;
    for (enum chain_stream stream = STREAM_INTERNAL; stream <= STREAM_TOKEN; stream++) {
        uint32_t begin = count;
        if (draw_below(&draw, 10) >= 4)
            continue;
        uint32_t kinds = 1 + draw_below(&draw, 3);
        for (uint32_t i = 0; i < kinds; i++) {
            struct chain_row row = draw_row(&draw, options, tx, stream);
            /* Equal ones, several times in one transaction. */
            uint32_t copies = draw_below(&draw, 4) == 0 ? 2 + draw_below(&draw, 3) : 1;
            for (uint32_t k = 0; k < copies && count < CHAIN_DRAWN_MAX; k++, count++) {
                out[count] = row;
                out[count].ordinal = count - begin;
            }
        }
    }
    assert(count <= CHAIN_DRAWN_MAX);
    return count;
}

uint32_t chain_draw_size(const struct chain_options *options, uint32_t number, uint32_t fork)
{
    struct draw run = draw_make(options->seed, number / QUIET_RUN, SALT_CHAIN_BLOCK);
    struct draw draw = draw_make(options->seed + fork, number, SALT_CHAIN_BLOCK);
    if (draw_below(&run, 8) == 0)
        return 0;
    if (options->burst > 0 && draw_below(&draw, 40) == 0)
        return options->burst;
    return draw_below(&draw, 2 * options->density + 1);
}

uint32_t chain_draw_withdrawals(const struct chain_options *options, uint32_t number,
                                struct chain_row out[CHAIN_DRAWN_MAX])
{
    struct draw draw = draw_make(options->seed, number, SALT_CHAIN_WITHDRAWAL);
    uint32_t count = draw_below(&draw, 4) == 0 ? 1 + draw_below(&draw, WITHDRAWALS_MAX) : 0;
    for (uint32_t i = 0; i < count; i++)
        out[i] = (struct chain_row){.stream = STREAM_BEACON,
                                    .tx = CHAIN_NONE,
                                    .from = CHAIN_NONE,
                                    .to = draw_account(&draw, options),
                                    .amount = 17000000 + draw_below(&draw, GWEI_DRAWN)};
    return count;
}
