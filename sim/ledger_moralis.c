/* SPDX-License-Identifier: Apache-2.0
 *
 * Moralis: the history of a wallet by transaction, with everything that moved inside; cursors are
 * snapshots and bound to the page size they were made with. */
#include "sim/ledger.h"
#include "sim/query_string.h"

#include <string.h>

#define LIMIT_DEFAULT 100u
#define LIMIT_MAX     100u

static bool involves(const struct chain_row *row, uint32_t account)
{
    return row->from == account || row->to == account;
}

static void put_native(struct ledger_call *call, const struct chain_row *row, uint32_t account)
{
    text_append_string(&call->out, "{\"token_symbol\":\"ETH\"");
    ledger_put_address(call, "from_address", row->from);
    ledger_put_address(call, "to_address", row->to);
    ledger_put_amount(call, "value", row);
    ledger_put_text(call, "direction", row->from == account ? "send" : "receive");
    text_appendf(&call->out, ",\"internal_transaction\":%s}",
                 row->stream == STREAM_INTERNAL ? "true" : "false");
}

static void put_token(struct ledger_call *call, const struct chain_row *row, uint32_t account)
{
    char contract[CHAIN_NAME_SIZE];
    chain_asset_address(call->chain, row->asset, contract);
    text_appendf(&call->out, "{\"token_symbol\":\"%s\"", chain_asset_symbol(row->asset));
    ledger_put_text(call, "address", contract);
    ledger_put_text(call, "token_decimals", "18");
    ledger_put_address(call, "from_address", row->from);
    ledger_put_address(call, "to_address", row->to);
    ledger_put_amount(call, "value", row);
    ledger_put_number(call, "log_index", row->ordinal + 2u);
    ledger_put_text(call, "direction", row->from == account ? "send" : "receive");
    text_append_char(&call->out, '}');
}

static void put_internal(struct ledger_call *call, const struct chain_row *row, uint32_t account)
{
    (void)account;
    text_append_string(&call->out, "{\"type\":\"CALL\"");
    ledger_put_hash(call, "transaction_hash", chain_tx(call->chain, row->tx)->id);
    ledger_put_address(call, "from", row->from);
    ledger_put_address(call, "to", row->to);
    ledger_put_amount(call, "value", row);
    text_append_char(&call->out, '}');
}

typedef void put_part_fn(struct ledger_call *call, const struct chain_row *row, uint32_t account);

/* The rows of `streams` (a bit each) that concern the account, as a list. */
static void put_parts(struct ledger_call *call, const char *key, uint32_t tx, uint32_t account,
                      unsigned streams, put_part_fn *put)
{
    bool first = true;
    text_appendf(&call->out, ",\"%s\":[", key);
    uint32_t end = chain_tx_end(call->chain, tx);
    for (uint32_t i = chain_tx(call->chain, tx)->first_row; i < end; i++) {
        const struct chain_row *row = chain_row(call->chain, i);
        if ((streams >> row->stream & 1) == 0 || !involves(row, account))
            continue;
        if (!first)
            text_append_char(&call->out, ',');
        first = false;
        put(call, row, account);
    }
    text_append_char(&call->out, ']');
}

static void put_tx(struct ledger_call *call, uint32_t number, uint32_t account)
{
    const struct chain_tx *tx = chain_tx(call->chain, number);
    text_appendf(&call->out, "{\"block_number\":\"%u\"", tx->block);
    ledger_put_hash(call, "hash", tx->id);
    ledger_put_block_hash(call, "block_hash", tx->block);
    ledger_put_time(call, "block_timestamp", tx->block);
    ledger_put_address(call, "from_address", tx->from);
    if (tx->to == CHAIN_NONE)
        text_append_string(&call->out, ",\"to_address\":null");
    else
        ledger_put_address(call, "to_address", tx->to);
    ledger_put_amount(call, "value", chain_row(call->chain, tx->first_row));
    text_appendf(&call->out, ",\"gas_price\":\"%llu\",\"receipt_gas_used\":\"%llu\"",
                 (unsigned long long)ledger_gas_price(tx), (unsigned long long)ledger_gas_used(tx));
    unsigned long long price = ledger_gas_price(tx);
    text_appendf(&call->out, ",\"transaction_fee\":\"0.%018llu\"", price * ledger_gas_used(tx));
    ledger_put_text(call, "receipt_status", tx->failed ? "0" : "1");
    ledger_put_text(call, "category", tx->from == account ? "send" : "receive");
    text_append_string(&call->out, ",\"possible_spam\":false,\"method_label\":null");
    put_parts(call, "native_transfers", number, account,
              1u << STREAM_NORMAL | 1u << STREAM_INTERNAL, put_native);
    put_parts(call, "erc20_transfers", number, account, 1u << STREAM_TOKEN, put_token);
    put_parts(call, "internal_transactions", number, account, 1u << STREAM_INTERNAL, put_internal);
    text_append_string(&call->out, ",\"nft_transfers\":[]}");
}

/* Where the page begins, counted in the order asked for. */
static bool read_place(struct ledger_call *call, uint32_t limit, struct chain_list list,
                       bool descending, size_t *place)
{
    char cursor[128];
    uint64_t from = query_get_u64(call->query, "from_block", 0);
    if (query_get(call->query, "cursor", cursor, sizeof cursor) && cursor[0] != '\0')
        return ledger_token_read(call, bytes_of(cursor), limit, place);
    *place = descending ? 0 : chain_list_find(call->chain, list, from);
    return true;
}

static void answer_history(struct ledger_call *call, uint32_t account)
{
    char order[8] = "DESC", cursor[40];
    uint64_t limit = query_get_u64(call->query, "limit", LIMIT_DEFAULT);
    size_t place;
    query_get(call->query, "order", order, sizeof order);
    bool descending = strcmp(order, "ASC") != 0 && strcmp(order, "asc") != 0;
    struct chain_list list = ledger_list(call, account, STREAM_ANY);
    if (limit == 0 || limit > LIMIT_MAX) {
        ledger_refuse(call, 400, "{\"message\":\"limit must be between 1 and 100\"}");
        return;
    }
    if (!read_place(call, (uint32_t)limit, list, descending, &place)) {
        ledger_refuse(call, 400, "{\"message\":\"Invalid cursor or cursor expired\"}");
        return;
    }
    list = ledger_list(call, account, STREAM_ANY);
    size_t due = place >= list.count ? 0 : list.count - place;
    size_t count = ledger_page(call, due < limit ? due : (size_t)limit);
    text_appendf(&call->out, "{\"page\":0,\"page_size\":%u,\"result\":[", (unsigned)limit);
    for (size_t i = 0; i < count; i++) {
        size_t at = descending ? list.count - 1 - place - i : place + i;
        if (i > 0)
            text_append_char(&call->out, ',');
        put_tx(call, chain_row(call->chain, list.rows[at])->tx, account);
    }
    text_append_string(&call->out, "],\"cursor\":");
    if (place + count < list.count) {
        ledger_token_write(call, place + count, (uint32_t)limit, cursor);
        text_appendf(&call->out, "\"%s\"}", cursor);
    } else {
        text_append_string(&call->out, "null}");
    }
    ledger_finish(call);
}

void ledger_moralis(struct ledger_call *call)
{
    if (!ledger_admit(call, "history"))
        return;
    if (!ledger_key_is_good(
            http_request_header(http_exchange_request(call->exchange), "x-api-key"))) {
        ledger_refuse(call, 401, "{\"message\":\"Token is invalid\"}");
        return;
    }
    if (ledger_answers_error(call, "{\"message\":\"", "\"}"))
        return;
    if (!bytes_equal_string(ledger_part(call, 0), "wallets") ||
        !bytes_equal_string(ledger_part(call, 2), "history")) {
        ledger_refuse(call, 404, "{\"message\":\"not found\"}");
        return;
    }
    answer_history(call, ledger_account(call, ledger_part(call, 1)));
}
