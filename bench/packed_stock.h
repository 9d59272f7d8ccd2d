/* SPDX-License-Identifier: Apache-2.0
 *
 * packed_stock.h - a stretch of a simulated firehose as it comes off the wire: one zstd frame per
 * event, with the dictionary to read them; the same events as they are; and the accounts that
 * somebody follows. */
#ifndef BENCH_PACKED_STOCK_H
#define BENCH_PACKED_STOCK_H

#include "base/bytes.h"

struct packed_stock {
    struct text frames, plain, dictionary;
    size_t *start, *plain_start; /* of each event, and the end of the last */
    size_t count;
    struct text follows; /* DIDs of equal length, one after the other */
    size_t follow_count, did_len;
};

/* `events` of a world of `accounts` people, of whom every so many-th is followed. */
void packed_stock_init(struct packed_stock *stock, uint32_t events, uint32_t accounts,
                       uint32_t follows);
void packed_stock_deinit(struct packed_stock *stock);
struct bytes packed_stock_frame(const struct packed_stock *stock, size_t number);

#endif
