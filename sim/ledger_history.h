/* SPDX-License-Identifier: Apache-2.0
 *
 * ledger_history.h - the transactions of one account, newest first, as most providers list them.
 *
 * Those who wait come before all others, ahead of the list. Places are good until the chain
 * changes. */
#ifndef SIM_LEDGER_HISTORY_H
#define SIM_LEDGER_HISTORY_H

#include "sim/ledger.h"

struct ledger_history {
    const struct ledger_call *call;
    const struct chain_tx **ahead;
    size_t ahead_count, count; /* `count`: with those ahead; may be cut by who asks */
    struct chain_list mined;
};

/* Without `with_waiting` only what was mined. */
struct ledger_history ledger_history(const struct ledger_call *call, uint32_t account,
                                     bool with_waiting);
/* Of one of its token accounts: the transactions that moved this asset; all stand ahead. */
struct ledger_history ledger_history_token(const struct ledger_call *call, uint32_t account,
                                           unsigned asset);
void ledger_history_deinit(struct ledger_history *history);
/* The transaction at a place, 0 is the newest. */
const struct chain_tx *ledger_history_tx(const struct ledger_history *history, size_t place);
/* The place behind the transaction of that name; false when the history has none of it. */
bool ledger_history_after(const struct ledger_history *history, struct bytes name, size_t *place);
/* The transaction of a name, mined or waiting; NULL when there is none. */
const struct chain_tx *ledger_find_tx(const struct ledger_call *call, struct bytes name);
/* One beyond the last place of a page that begins at `place`. */
size_t ledger_history_end(const struct ledger_history *history, size_t place, uint64_t limit);
/* The part of the path behind the one called `name`; absent when there is none. */
struct bytes ledger_part_after(const struct ledger_call *call, const char *name);

ledger_serve_fn ledger_esplora, ledger_blockchaincom, ledger_blockcypher, ledger_tatum,
    ledger_solana, ledger_kraken, ledger_coinbase, ledger_subscan, ledger_nearblocks, ledger_cosmos,
    ledger_xrpl, ledger_blockfrost, ledger_github, ledger_madeup;

#endif
