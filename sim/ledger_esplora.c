/* SPDX-License-Identifier: Apache-2.0
 *
 * Esplora, as Blockstream and mempool.space run it: the first page has those who wait and 25 mined
 * ones, the others 25 each, found by the last txid. */
#include "sim/ledger_history.h"
#include "sim/query_string.h"

#define MINED_PAGE   25u
#define WAITING_PAGE 50u

static void put_side(struct ledger_call *call, uint32_t party, uint64_t value)
{
    text_appendf(&call->out, "{\"value\":%llu", (unsigned long long)value);
    ledger_put_text(call, "scriptpubkey_type", party == CHAIN_NONE ? "op_return" : "v0_p2wpkh");
    if (party != CHAIN_NONE)
        ledger_put_address(call, "scriptpubkey_address", party);
    text_append_char(&call->out, '}');
}

static void put_tx(struct ledger_call *call, const struct chain_tx *tx)
{
    text_append_string(&call->out, "{\"version\":2,\"locktime\":0,\"size\":222,\"weight\":561");
    ledger_put_hash(call, "txid", tx->id);
    ledger_put_number(call, "fee", ledger_fee(tx));
    text_append_string(&call->out, ",\"vin\":[{\"vout\":0,\"is_coinbase\":false");
    ledger_put_block_hash(call, "txid", chain_settings(call->chain)->first_block);
    text_append_string(&call->out, ",\"sequence\":4294967293,\"prevout\":");
    put_side(call, tx->from, ledger_coins(tx) + ledger_fee(tx));
    text_append_string(&call->out, "}],\"vout\":[");
    put_side(call, tx->to, ledger_coins(tx));
    text_append_string(&call->out, "],\"status\":{\"confirmed\":");
    if (tx->block == CHAIN_NONE) {
        text_append_string(&call->out, "false}}");
        return;
    }
    text_append_string(&call->out, "true");
    ledger_put_number(call, "block_height", tx->block);
    ledger_put_block_hash(call, "block_hash", tx->block);
    ledger_put_number(call, "block_time", (uint64_t)ledger_seconds(call, tx->block));
    text_append_string(&call->out, "}}");
}

static void put_txs(struct ledger_call *call, const struct ledger_history *history, size_t begin,
                    size_t end)
{
    for (size_t i = begin; i < end; i++) {
        if (call->out.len > 1)
            text_append_char(&call->out, ',');
        put_tx(call, ledger_history_tx(history, i));
    }
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* `part` is what follows /txs: nothing, "chain" or "mempool". */
static void answer_txs(struct ledger_call *call, const struct ledger_history *history,
                       struct bytes part, struct bytes last)
{
    size_t waiting = history->ahead_count, place = waiting;
    if (last.len > 0 && last.len != 64) {
        ledger_refuse(call, 400, "Invalid hex string");
        return;
    }
    if (last.len > 0 && !ledger_history_after(history, last, &place)) {
        ledger_refuse(call, 404, "Transaction not found");
        return;
    }
    text_append_char(&call->out, '[');
    if (bytes_equal_string(part, "mempool") || (part.data == NULL && last.len == 0))
        put_txs(call, history, 0, smaller(waiting, WAITING_PAGE));
    if (place < waiting)
        place = waiting;
    size_t due = smaller(history->count - place, MINED_PAGE);
    if (!bytes_equal_string(part, "mempool"))
        put_txs(call, history, place, place + ledger_page(call, due));
    text_append_char(&call->out, ']');
    ledger_finish(call);
}

static void answer_stats(struct ledger_call *call, const struct ledger_history *history,
                         uint32_t account)
{
    uint64_t sums[2][2] = {{0, 0}, {0, 0}}; /* mined and waiting: got and spent */
    for (size_t i = 0; i < history->count; i++) {
        const struct chain_tx *tx = ledger_history_tx(history, i);
        unsigned which = tx->block == CHAIN_NONE;
        sums[which][0] += tx->to == account ? ledger_coins(tx) : 0;
        sums[which][1] += tx->from == account ? ledger_coins(tx) + ledger_fee(tx) : 0;
    }
    text_append_string(&call->out, "{\"address\":\"");
    text_append(&call->out, ledger_part(call, 1).data, ledger_part(call, 1).len);
    text_append_char(&call->out, '"');
    for (unsigned which = 0; which < 2; which++)
        text_appendf(&call->out,
                     ",\"%s\":{\"funded_txo_sum\":%llu,\"spent_txo_sum\":%llu,\"tx_count\":%zu}",
                     which == 0 ? "chain_stats" : "mempool_stats",
                     (unsigned long long)sums[which][0], (unsigned long long)sums[which][1],
                     which == 0 ? history->mined.count : history->ahead_count);
    text_append_char(&call->out, '}');
    ledger_finish(call);
}

static void answer_address(struct ledger_call *call)
{
    uint32_t account = ledger_account(call, ledger_part(call, 1));
    char last[96] = "";
    struct ledger_history history = ledger_history(call, account, true);
    query_get(call->query, "after_txid", last, sizeof last);
    if (ledger_part(call, 2).data == NULL)
        answer_stats(call, &history, account);
    else
        answer_txs(call, &history, ledger_part(call, 3),
                   ledger_part(call, 4).data != NULL ? ledger_part(call, 4) : bytes_of(last));
    ledger_history_deinit(&history);
}

void ledger_esplora(struct ledger_call *call)
{
    struct bytes first = ledger_part(call, 0);
    bool address = bytes_equal_string(first, "address");
    bool list = address && ledger_part(call, 2).data != NULL;
    if (!ledger_admit(call, list ? "normal" : address ? "count" : "head"))
        return;
    if (ledger_answers_error(call, "", ""))
        return;
    if (address) {
        answer_address(call);
    } else if (bytes_equal_string(first, "blocks")) {
        text_appendf(&call->out, "%u", call->head);
        ledger_finish(call);
    } else {
        ledger_refuse(call, 404, "endpoint does not exist");
    }
}
