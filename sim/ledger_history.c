/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/ledger_history.h"

#include <assert.h>
#include <stdlib.h>

struct ledger_history ledger_history(const struct ledger_call *call, uint32_t account,
                                     bool with_waiting)
{
    size_t count;
    const struct chain_tx *pending = chain_pending(call->chain, &count);
    struct ledger_history history = {.call = call,
                                     .mined = ledger_list(call, account, STREAM_NORMAL)};
    if (with_waiting && account != CHAIN_NONE && !call->lies_empty) {
        history.ahead = memory_new((count + 1) * sizeof *history.ahead);
        for (size_t i = count; i-- > 0;)
            if (pending[i].from == account || pending[i].to == account)
                history.ahead[history.ahead_count++] = &pending[i];
    }
    history.count = history.ahead_count + history.mined.count;
    return history;
}

struct ledger_history ledger_history_token(const struct ledger_call *call, uint32_t account,
                                           unsigned asset)
{
    struct chain_list list = ledger_list(call, account, STREAM_TOKEN);
    struct ledger_history history = {.call = call};
    const struct chain_tx *last = NULL;
    history.ahead = memory_new((list.count + 1) * sizeof *history.ahead);
    for (size_t i = list.count; i-- > 0;) {
        const struct chain_row *row = chain_row(call->chain, list.rows[i]);
        const struct chain_tx *tx = chain_tx(call->chain, row->tx);
        if (row->asset != asset || tx == last)
            continue;
        history.ahead[history.ahead_count++] = last = tx;
    }
    history.count = history.ahead_count;
    return history;
}

void ledger_history_deinit(struct ledger_history *history)
{
    free(history->ahead);
}

const struct chain_tx *ledger_history_tx(const struct ledger_history *history, size_t place)
{
    const struct chain *chain = history->call->chain;
    assert(place < history->count);
    if (place < history->ahead_count)
        return history->ahead[place];
    size_t row = history->mined.count - 1 - (place - history->ahead_count);
    return chain_tx(chain, chain_row(chain, history->mined.rows[row])->tx);
}

/* First place whose transaction stands at `row` or before it. */
static size_t find_row(const struct ledger_history *history, uint32_t row)
{
    size_t low = 0, high = history->mined.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (history->mined.rows[history->mined.count - 1 - middle] > row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool ledger_history_after(const struct ledger_history *history, struct bytes name, size_t *place)
{
    const struct chain_tx *tx = ledger_find_tx(history->call, name);
    if (tx == NULL)
        return false;
    size_t at = 0;
    while (at < history->ahead_count && history->ahead[at] != tx)
        at++;
    if (at == history->ahead_count && tx->block != CHAIN_NONE)
        at += find_row(history, tx->first_row);
    *place = at + 1;
    return at < history->count && ledger_history_tx(history, at) == tx;
}

const struct chain_tx *ledger_find_tx(const struct ledger_call *call, struct bytes name)
{
    uint64_t id;
    size_t count;
    const struct chain_tx *pending = chain_pending(call->chain, &count);
    if (!chain_find_tx(call->chain, call->family, name, &id))
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (pending[i].id == id)
            return &pending[i];
    uint32_t tx = chain_find_id(call->chain, id);
    return tx == CHAIN_NONE ? NULL : chain_tx(call->chain, tx);
}

struct bytes ledger_part_after(const struct ledger_call *call, const char *name)
{
    unsigned n = 0;
    for (struct bytes part; (part = ledger_part(call, n)).data != NULL; n++)
        if (bytes_equal_string(part, name))
            return ledger_part(call, n + 1);
    return BYTES_ABSENT;
}

size_t ledger_history_end(const struct ledger_history *history, size_t place, uint64_t limit)
{
    size_t due = place >= history->count ? 0 : history->count - place;
    return place + ledger_page(history->call, due < limit ? due : (size_t)limit);
}
