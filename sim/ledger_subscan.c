/* SPDX-License-Identifier: Apache-2.0
 *
 * Subscan: transfers by numbered page from the newest on, with a count of all. */
#include "sim/ledger_history.h"

#define ROWS_MAX 100

static void put_transfer(struct ledger_call *call, const struct chain_tx *tx)
{
    uint64_t coins = ledger_coins(tx);
    text_appendf(&call->out, "{\"transfer_id\":%llu,\"event_idx\":3", (unsigned long long)tx->id);
    ledger_put_hash(call, "hash", tx->id);
    ledger_put_number(call, "block_num", tx->block);
    ledger_put_number(call, "block_timestamp", (uint64_t)ledger_seconds(call, tx->block));
    text_appendf(&call->out, ",\"extrinsic_index\":\"%u-%u\"", tx->block, tx->place);
    ledger_put_address(call, "from", tx->from);
    ledger_put_address(call, "to", tx->to == CHAIN_NONE ? tx->from : tx->to);
    text_appendf(&call->out, ",\"amount\":\"%llu.%08llu\",\"fee\":\"%llu\",\"success\":%s",
                 (unsigned long long)(coins / 100000000), (unsigned long long)(coins % 100000000),
                 (unsigned long long)ledger_fee(tx), tx->failed ? "false" : "true");
    text_appendf(&call->out, ",\"module\":\"balances\",\"asset_symbol\":\"DOT\",\"nonce\":%u}",
                 tx->place);
}

static void answer_transfers(struct ledger_call *call)
{
    int64_t page = 0, rows = 10;
    (void)json_i64(json_get(call->body, "page"), &page);
    (void)json_i64(json_get(call->body, "row"), &rows);
    if (page < 0 || rows < 1 || rows > ROWS_MAX) {
        text_append_string(&call->out, "{\"code\":10001,\"message\":\"Params Error\"}");
        ledger_finish(call);
        return;
    }
    uint32_t account = ledger_account(call, json_string_or_absent(json_get(call->body, "address")));
    struct ledger_history history = ledger_history(call, account, false);
    size_t place = (size_t)(page * rows);
    size_t end = ledger_history_end(&history, place, (uint64_t)rows);
    text_appendf(&call->out,
                 "{\"code\":0,\"message\":\"Success\",\"data\":{\"count\":%zu,\"transfers\":",
                 history.count);
    text_append_string(&call->out, end > place ? "[" : "null");
    for (size_t i = place; i < end; i++) {
        if (i > place)
            text_append_char(&call->out, ',');
        put_transfer(call, ledger_history_tx(&history, i));
    }
    text_append_string(&call->out, end > place ? "]}}" : "}}");
    ledger_history_deinit(&history);
    ledger_finish(call);
}

void ledger_subscan(struct ledger_call *call)
{
    if (!ledger_admit(call, "normal") ||
        ledger_answers_error(call, "{\"code\":20008,\"message\":\"", "\"}"))
        return;
    if (!ledger_key_is_good(
            http_request_header(http_exchange_request(call->exchange), "X-API-Key")))
        ledger_refuse(call, 403, "{\"code\":20003,\"message\":\"API Key missing or wrong\"}");
    else
        answer_transfers(call);
}
