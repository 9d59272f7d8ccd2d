/* SPDX-License-Identifier: Apache-2.0
 *
 * Etherscan and those who imitate it: one address, many actions, errors in answers that say 200. */
#include "sim/ledger.h"
#include "sim/query_string.h"

#include <stdio.h>
#include <string.h>

enum trace_manner { TRACE_PATH, TRACE_ORDINAL, TRACE_INDEX };

static const struct flavour {
    const char *provider;
    uint32_t rows_max; /* of a page, whatever is asked for */
    enum trace_manner traces;
    bool needs_key, has_withdrawals;
    bool empty_is_good; /* an empty list is no error, but for internal calls */
    const char *empty[STREAM_COUNT];
} flavours[] = {
    {"etherscan", 1000, TRACE_PATH, .needs_key = true, .has_withdrawals = true,
     .empty = {"No transactions found", "No transactions found", "No transactions found",
               "No transactions found"}},
    {"routescan", 5000, TRACE_ORDINAL, .empty_is_good = true,
     .empty = {"OK", "No transactions found", "OK"}},
    {"blockscout", 10000, TRACE_INDEX,
     .empty = {"No transactions found", "No internal transactions found",
               "No token transfers found"}},
};

static const struct flavour *flavour_of(const struct ledger_call *call)
{
    const struct flavour *flavour = flavours;
    while (strcmp(flavour->provider, call->provider) != 0)
        flavour++;
    return flavour;
}

static enum chain_stream stream_of(const struct flavour *flavour, const char *action)
{
    if (strcmp(action, "txlist") == 0)
        return STREAM_NORMAL;
    if (strcmp(action, "txlistinternal") == 0)
        return STREAM_INTERNAL;
    if (strcmp(action, "tokentx") == 0)
        return STREAM_TOKEN;
    if (strcmp(action, "txsBeaconWithdrawal") == 0 && flavour->has_withdrawals)
        return STREAM_BEACON;
    return STREAM_COUNT;
}

static void answer_error(struct ledger_call *call, const char *message, const char *result)
{
    text_clear(&call->out);
    text_appendf(&call->out, "{\"status\":\"0\",\"message\":\"%s\",\"result\":%s%s%s}", message,
                 result == NULL ? "" : "\"", result == NULL ? "null" : result,
                 result == NULL ? "" : "\"");
    ledger_finish(call);
}

/* ",\"key\":\"7\"": every number is a string here. */
static void put_digits(struct ledger_call *call, const char *key, uint64_t value)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
    ledger_put_text(call, key, digits);
}

static void put_trace(struct ledger_call *call, const struct chain_row *row,
                      enum trace_manner manner)
{
    unsigned ordinal = row->ordinal + (call->renumbers ? 7 : 0);
    char trace[32];
    if (manner == TRACE_PATH) {
        snprintf(trace, sizeof trace, "0_%u", ordinal + 1);
        ledger_put_text(call, "traceId", trace);
    } else {
        put_digits(call, manner == TRACE_ORDINAL ? "traceId" : "index", ordinal * 3 + 1);
    }
}

static void put_internal(struct ledger_call *call, const struct chain_row *row,
                         const struct flavour *flavour)
{
    bool blockscout = flavour->traces == TRACE_INDEX;
    put_trace(call, row, flavour->traces);
    ledger_put_text(call, "type", "call");
    if (blockscout)
        ledger_put_text(call, "callType", "call");
    ledger_put_text(call, "isError", "0");
    ledger_put_text(call, "errCode", "");
    ledger_put_text(call, "input", "");
    put_digits(call, "gas", 100000);
    put_digits(call, "gasUsed", 2300);
    ledger_put_text(call, "contractAddress", "");
}

static void put_normal(struct ledger_call *call, const struct chain_tx *tx)
{
    put_digits(call, "nonce", tx->id % 1000);
    ledger_put_block_hash(call, "blockHash", tx->block);
    put_digits(call, "transactionIndex", tx->place);
    put_digits(call, "gas", 2 * ledger_gas_used(tx));
    put_digits(call, "gasPrice", ledger_gas_price(tx));
    put_digits(call, "gasUsed", ledger_gas_used(tx));
    ledger_put_text(call, "isError", tx->failed ? "1" : "0");
    ledger_put_text(call, "txreceipt_status", tx->failed ? "0" : "1");
    ledger_put_text(call, "input", tx->id % 3 == 0 ? "0x" : "0xa9059cbb");
    ledger_put_text(call, "methodId", tx->id % 3 == 0 ? "0x" : "0xa9059cbb");
    ledger_put_text(call, "functionName",
                    tx->id % 3 == 0 ? "" : "transfer(address to, uint256 amount)");
    ledger_put_text(call, "contractAddress", "");
    put_digits(call, "confirmations", call->head - tx->block + 1);
}

static void put_token(struct ledger_call *call, const struct chain_row *row,
                      const struct chain_tx *tx)
{
    char contract[CHAIN_NAME_SIZE];
    chain_asset_address(call->chain, row->asset, contract);
    ledger_put_text(call, "contractAddress", contract);
    ledger_put_text(call, "tokenName", chain_asset_symbol(row->asset));
    ledger_put_text(call, "tokenSymbol", chain_asset_symbol(row->asset));
    ledger_put_text(call, "tokenDecimal", "18");
    put_digits(call, "nonce", tx->id % 1000);
    ledger_put_block_hash(call, "blockHash", tx->block);
    put_digits(call, "transactionIndex", tx->place);
    put_digits(call, "gasPrice", ledger_gas_price(tx));
    put_digits(call, "gasUsed", ledger_gas_used(tx));
    put_digits(call, "confirmations", call->head - tx->block + 1);
}

static void put_withdrawal(struct ledger_call *call, const struct chain_row *row)
{
    text_appendf(&call->out, "{\"withdrawalIndex\":\"%u\"", row->ordinal);
    put_digits(call, "validatorIndex", 4000 + row->ordinal % 7);
    ledger_put_address(call, "address", row->to);
    put_digits(call, "amount", row->amount);
    put_digits(call, "blockNumber", row->block);
    put_digits(call, "timestamp", (uint64_t)ledger_seconds(call, row->block));
    text_append_char(&call->out, '}');
}

static void put_row(struct ledger_call *call, const struct chain_row *row,
                    const struct flavour *flavour)
{
    if (row->stream == STREAM_BEACON) {
        put_withdrawal(call, row);
        return;
    }
    const struct chain_tx *tx = chain_tx(call->chain, row->tx);
    bool renamed = row->stream == STREAM_INTERNAL && flavour->traces == TRACE_INDEX;
    text_appendf(&call->out, "{\"blockNumber\":\"%u\"", row->block);
    put_digits(call, "timeStamp", (uint64_t)ledger_seconds(call, row->block));
    ledger_put_hash(call, renamed ? "transactionHash" : "hash", tx->id);
    ledger_put_address(call, "from", row->from);
    ledger_put_address(call, "to", row->to);
    ledger_put_amount(call, "value", row);
    if (row->stream == STREAM_NORMAL)
        put_normal(call, tx);
    else if (row->stream == STREAM_INTERNAL)
        put_internal(call, row, flavour);
    else
        put_token(call, row, tx);
    text_append_char(&call->out, '}');
}

/* The rows of one page, in the order asked for; true when there was any. */
static bool put_rows(struct ledger_call *call, const struct flavour *flavour,
                     struct chain_list list, uint64_t page, uint64_t size)
{
    char sort[8] = "asc";
    query_get(call->query, "sort", sort, sizeof sort);
    size_t begin = chain_list_find(call->chain, list, query_get_u64(call->query, "startblock", 0));
    size_t end =
        chain_list_find(call->chain, list, query_get_u64(call->query, "endblock", UINT32_MAX) + 1);
    size_t count = end > begin ? end - begin : 0, skip = (size_t)((page - 1) * size);
    size_t due = skip >= count ? 0 : count - skip < size ? count - skip : (size_t)size;
    due = ledger_page(call, due);
    for (size_t i = 0; i < due; i++) {
        size_t at = strcmp(sort, "desc") == 0 ? end - 1 - skip - i : begin + skip + i;
        if (i > 0)
            text_append_char(&call->out, ',');
        put_row(call, chain_row(call->chain, list.rows[at]), flavour);
    }
    return due > 0;
}

static void answer_rows(struct ledger_call *call, const struct flavour *flavour,
                        enum chain_stream stream)
{
    char address[CHAIN_NAME_SIZE] = "";
    struct text rows = {0};
    uint64_t page = query_get_u64(call->query, "page", 1);
    uint64_t size = query_get_u64(call->query, "offset", flavour->rows_max);
    if (size > flavour->rows_max)
        size = flavour->rows_max;
    if (page == 0 || page * size > call->ledger->window) {
        answer_error(call,
                     "Result window is too large, PageNo x Offset size must be less than or "
                     "equal to 10000",
                     NULL);
        return;
    }
    query_get(call->query, "address", address, sizeof address);
    struct chain_list list = ledger_list(call, ledger_account(call, bytes_of(address)), stream);
    bool any = put_rows(call, flavour, list, page, size);
    rows = call->out;
    call->out = (struct text){0};
    const char *status = "1", *message = "OK";
    if (call->partial) {
        status = "2";
        message = "Some transactions within this block range have not yet been processed";
    } else if (!any) {
        message = flavour->empty[stream];
        status = flavour->empty_is_good && stream != STREAM_INTERNAL ? "1" : "0";
    }
    text_appendf(&call->out, "{\"status\":\"%s\",\"message\":\"%s\",\"result\":[%s]}", status,
                 message, text_string(&rows));
    text_free(&rows);
    ledger_finish(call);
}

/* The newest block that is not younger than the time. */
static void answer_block_of_time(struct ledger_call *call, const struct flavour *flavour)
{
    int64_t time_s = (int64_t)query_get_u64(call->query, "timestamp", 0);
    uint32_t first = chain_settings(call->chain)->first_block, block = call->head;
    bool blockscout = flavour->traces == TRACE_INDEX;
    while (block > first && ledger_seconds(call, block) > time_s)
        block--;
    if (ledger_seconds(call, block) > time_s) {
        answer_error(call, "NOTOK", "Error! No closest block found");
        return;
    }
    text_appendf(&call->out, "{\"status\":\"1\",\"message\":\"OK\",\"result\":%s\"%u\"%s}",
                 blockscout ? "{\"blockNumber\":" : "", block, blockscout ? "}" : "");
    ledger_finish(call);
}

void ledger_explorer(struct ledger_call *call)
{
    static const char *const endpoints[STREAM_COUNT] = {"normal", "internal", "token", "beacon"};
    const struct flavour *flavour = flavour_of(call);
    char action[32] = "", key[128] = "";
    query_get(call->query, "action", action, sizeof action);
    query_get(call->query, "apikey", key, sizeof key);
    enum chain_stream stream = stream_of(flavour, action);
    bool head = strcmp(action, "eth_blockNumber") == 0 || strcmp(action, "eth_block_number") == 0;
    bool date = strcmp(action, "getblocknobytime") == 0;
    if (!ledger_admit(call, head ? "head" : stream == STREAM_COUNT ? "other" : endpoints[stream]))
        return;
    const char *error = ledger_error(call, "Max calls per sec rate limit reached (3/sec)");
    if (error != NULL)
        answer_error(call, "NOTOK", error);
    else if (flavour->needs_key && !ledger_key_is_good(bytes_of(key)))
        answer_error(call, "NOTOK", key[0] == '\0' ? "Missing/Invalid API Key" : "Invalid API Key");
    else if (head) {
        text_appendf(&call->out, "{\"jsonrpc\":\"2.0\",\"id\":83,\"result\":\"0x%x\"}", call->head);
        ledger_finish(call);
    } else if (date)
        answer_block_of_time(call, flavour);
    else if (stream == STREAM_COUNT)
        answer_error(call, "NOTOK", "Error! Missing Or invalid Action name");
    else
        answer_rows(call, flavour, stream);
}
