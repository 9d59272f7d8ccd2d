/* SPDX-License-Identifier: Apache-2.0
 *
 * Blockfrost: hashes by numbered page, details one by one; an address without a history is 404. */
#include "sim/ledger_history.h"
#include "sim/query_string.h"

#include <string.h>

#define COUNT_MAX 100u

static void fail(struct ledger_call *call, int status, const char *error)
{
    text_clear(&call->out);
    text_appendf(&call->out, "{\"status_code\":%d,\"error\":\"%s\",\"message\":\"%s\"}", status,
                 error, error);
    ledger_refuse(call, status, text_string(&call->out));
}

static void put_entry(struct ledger_call *call, const struct chain_tx *tx)
{
    text_appendf(&call->out, "{\"tx_index\":%u", tx->place);
    ledger_put_hash(call, "tx_hash", tx->id);
    ledger_put_number(call, "block_height", tx->block);
    ledger_put_number(call, "block_time", (uint64_t)ledger_seconds(call, tx->block));
    text_append_char(&call->out, '}');
}

static void answer_list(struct ledger_call *call, struct bytes address)
{
    char order[8] = "asc", from[32] = "";
    uint64_t count = query_get_u64(call->query, "count", COUNT_MAX), block = 0;
    uint64_t page = query_get_u64(call->query, "page", 1);
    struct ledger_history history = ledger_history(call, ledger_account(call, address), false);
    query_get(call->query, "order", order, sizeof order);
    if (query_get(call->query, "from", from, sizeof from))
        (void)bytes_to_u64(bytes_make(from, strcspn(from, ":")), &block);
    bool ascending = strcmp(order, "asc") == 0;
    if (history.count == 0 || count == 0 || count > COUNT_MAX || page == 0) {
        fail(call, history.count == 0 ? 404 : 400,
             history.count == 0 ? "Not Found" : "Bad Request");
        ledger_history_deinit(&history);
        return;
    }
    size_t first = chain_list_find(call->chain, history.mined, block);
    history.count -= ascending ? 0 : first;
    size_t place = (ascending ? first : 0) + (size_t)((page - 1) * count);
    size_t end = ledger_history_end(&history, place, count);
    text_append_char(&call->out, '[');
    for (size_t i = place; i < end; i++) {
        size_t row = ascending ? i : first + history.count - 1 - i;
        if (i > place)
            text_append_char(&call->out, ',');
        put_entry(call, chain_tx(call->chain, chain_row(call->chain, history.mined.rows[row])->tx));
    }
    text_append_char(&call->out, ']');
    ledger_history_deinit(&history);
    ledger_finish(call);
}

static void put_side(struct ledger_call *call, const char *key, uint32_t party, uint64_t lovelace)
{
    text_appendf(&call->out, ",\"%s\":[{\"output_index\":0", key);
    ledger_put_address(call, "address", party);
    text_appendf(&call->out, ",\"amount\":[{\"unit\":\"lovelace\",\"quantity\":\"%llu\"}]}]",
                 (unsigned long long)lovelace);
}

static void answer_detail(struct ledger_call *call, const struct chain_tx *tx)
{
    if (tx == NULL || tx->block == CHAIN_NONE || call->withheld) {
        fail(call, 404, "Not Found");
        return;
    }
    text_append_string(&call->out, "{\"index\":0");
    ledger_put_hash(call, "hash", tx->id);
    if (memmem(call->path.data, call->path.len, "/utxos", 6) != NULL) {
        put_side(call, "inputs", tx->from, ledger_coins(tx) + ledger_fee(tx));
        put_side(call, "outputs", tx->to == CHAIN_NONE ? tx->from : tx->to, ledger_coins(tx));
    } else {
        ledger_put_block_hash(call, "block", tx->block);
        ledger_put_number(call, "block_height", tx->block);
        ledger_put_number(call, "block_time", (uint64_t)ledger_seconds(call, tx->block));
        text_appendf(&call->out, ",\"fees\":\"%llu\",\"valid_contract\":%s,\"withdrawal_count\":0",
                     (unsigned long long)ledger_fee(tx), tx->failed ? "false" : "true");
    }
    text_append_char(&call->out, '}');
    ledger_finish(call);
}

void ledger_blockfrost(struct ledger_call *call)
{
    struct bytes address = ledger_part_after(call, "addresses"),
                 hash = ledger_part_after(call, "txs");
    if (!ledger_admit(call, hash.data != NULL ? "detail" : "normal") ||
        ledger_answers_error(call, "{\"status_code\":402,\"message\":\"", "\"}"))
        return;
    if (!ledger_key_is_good(
            http_request_header(http_exchange_request(call->exchange), "project_id")))
        fail(call, 403, "Forbidden");
    else if (hash.data != NULL)
        answer_detail(call, ledger_find_tx(call, hash));
    else
        answer_list(call, address);
}
