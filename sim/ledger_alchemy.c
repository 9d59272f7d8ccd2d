/* SPDX-License-Identifier: Apache-2.0
 *
 * Alchemy: transfers over JSON-RPC, one direction at a time, numbers in hexadecimal, page keys that
 * live for a short time. */
#include "sim/ledger.h"

#include <stdlib.h>
#include <string.h>

#define COUNT_MAX 1000u

struct transfer_query {
    uint32_t from, to; /* whom they have to come from or go to; CHAIN_NONE: anybody */
    bool by_from, by_to, descending, with_zero;
    enum chain_stream stream;
    uint64_t first_block, last_block, count;
};

static void fail(struct ledger_call *call, int code, const char *message)
{
    text_clear(&call->out);
    text_appendf(&call->out,
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":%d,\"message\":\"%s\"}}", code,
                 message);
    ledger_finish(call);
}

static uint64_t read_hex(struct json value, uint64_t fallback)
{
    struct bytes text = json_string_or_absent(value);
    char digits[24];
    if (text.len < 3 || text.len >= sizeof digits || !bytes_starts_with(text, "0x"))
        return fallback;
    memcpy(digits, text.data, text.len);
    digits[text.len] = '\0';
    return strtoull(digits + 2, NULL, 16);
}

/* One stream per request; tokens of all standards are one. */
static enum chain_stream read_stream(struct json categories)
{
    struct bytes category = json_string_or_absent(json_at(categories, 0));
    if (bytes_equal_string(category, "external"))
        return STREAM_NORMAL;
    if (bytes_equal_string(category, "internal"))
        return STREAM_INTERNAL;
    if (bytes_starts_with(category, "erc"))
        return STREAM_TOKEN;
    return STREAM_COUNT;
}

static struct transfer_query read_query(const struct ledger_call *call, struct json params)
{
    struct transfer_query query = {.stream = read_stream(json_get(params, "category"))};
    struct bytes from = json_string_or_absent(json_get(params, "fromAddress"));
    struct bytes to = json_string_or_absent(json_get(params, "toAddress"));
    bool exclude_zero = true;
    query.by_from = from.data != NULL;
    query.by_to = to.data != NULL;
    query.from = ledger_account(call, from);
    query.to = ledger_account(call, to);
    query.descending = bytes_equal_string(json_string_or_absent(json_get(params, "order")), "desc");
    (void)json_bool(json_get(params, "excludeZeroValue"), &exclude_zero);
    query.with_zero = !exclude_zero;
    query.first_block = read_hex(json_get(params, "fromBlock"), 0);
    query.last_block = read_hex(json_get(params, "toBlock"), UINT32_MAX);
    query.count = read_hex(json_get(params, "maxCount"), COUNT_MAX);
    if (query.count > COUNT_MAX)
        query.count = COUNT_MAX;
    return query;
}

static bool takes(const struct transfer_query *query, const struct chain_row *row)
{
    return (!query->by_from || row->from == query->from) &&
           (!query->by_to || row->to == query->to) && (query->with_zero || row->amount > 0) &&
           row->block >= query->first_block && row->block <= query->last_block;
}

static void put_transfer(struct ledger_call *call, const struct chain_row *row)
{
    static const char *const categories[] = {"external", "internal", "erc20"};
    const struct chain_tx *tx = chain_tx(call->chain, row->tx);
    char hash[CHAIN_NAME_SIZE], contract[CHAIN_NAME_SIZE];
    bool token = row->stream == STREAM_TOKEN;
    chain_tx_name(call->chain, call->family, tx->id, hash);
    text_appendf(&call->out, "{\"blockNum\":\"0x%x\",\"hash\":\"%s\"", row->block, hash);
    text_appendf(&call->out, ",\"uniqueId\":\"%s:%s:%u\"", hash,
                 token ? "log" : categories[row->stream], row->ordinal + (call->renumbers ? 7 : 0));
    ledger_put_address(call, "from", row->from);
    if (row->to == CHAIN_NONE)
        text_append_string(&call->out, ",\"to\":null");
    else
        ledger_put_address(call, "to", row->to);
    text_appendf(&call->out, ",\"value\":%.9g", (double)row->amount * 1e-18);
    ledger_put_text(call, "asset", token ? chain_asset_symbol(row->asset) : "ETH");
    ledger_put_text(call, "category", categories[row->stream]);
    text_append_string(&call->out, ",\"erc721TokenId\":null,\"erc1155Metadata\":null,"
                                   "\"tokenId\":null,\"rawContract\":{\"decimal\":\"0x12\"");
    ledger_put_hex_amount(call, "value", row);
    chain_asset_address(call->chain, row->asset, contract);
    if (token)
        ledger_put_text(call, "address", contract);
    else
        text_append_string(&call->out, ",\"address\":null");
    text_append_string(&call->out, "},\"metadata\":{\"n\":0");
    ledger_put_time(call, "blockTimestamp", row->block);
    text_append_string(&call->out, "}}");
}

/* Writes what is due from `place` on; returns the place of the first one that is left over, or the
 * end of the list. */
static size_t put_transfers(struct ledger_call *call, const struct transfer_query *query,
                            struct chain_list list, size_t place)
{
    uint64_t count = query->count, written = 0;
    if (call->partial)
        count = (count + 1) / 2;
    for (; place < list.count; place++) {
        size_t at = query->descending ? list.count - 1 - place : place;
        const struct chain_row *row = chain_row(call->chain, list.rows[at]);
        if (!takes(query, row))
            continue;
        if (written == count)
            break;
        if (written++ > 0)
            text_append_char(&call->out, ',');
        put_transfer(call, row);
    }
    return place;
}

static void answer_transfers(struct ledger_call *call)
{
    struct json params = json_at(json_get(call->body, "params"), 0);
    struct transfer_query query = read_query(call, params);
    struct bytes page_key = json_string_or_absent(json_get(params, "pageKey"));
    uint32_t account = query.by_from ? query.from : query.to;
    uint32_t bound = (uint32_t)(query.by_from ? 1 : 2) << 16 | (uint32_t)query.count;
    char token[40];
    size_t place = 0;
    if (query.stream == STREAM_COUNT || (!query.by_from && !query.by_to) || query.count == 0) {
        fail(call, -32602, "invalid params");
        return;
    }
    if (page_key.data != NULL && !ledger_token_read(call, page_key, bound, &place)) {
        fail(call, -32602, "pageKey is invalid or has expired");
        return;
    }
    struct chain_list list = ledger_list(call, account, query.stream);
    if (page_key.data == NULL && !query.descending)
        place = chain_list_find(call->chain, list, query.first_block);
    text_append_string(&call->out, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"transfers\":[");
    place = put_transfers(call, &query, list, place);
    text_append_char(&call->out, ']');
    if (place < list.count) {
        ledger_token_write(call, place, bound, token);
        ledger_put_text(call, "pageKey", token);
    }
    text_append_string(&call->out, "}}");
    ledger_finish(call);
}

void ledger_alchemy(struct ledger_call *call)
{
    struct bytes method = json_string_or_absent(json_get(call->body, "method"));
    bool transfers = bytes_equal_string(method, "alchemy_getAssetTransfers");
    struct bytes key = BYTES_ABSENT;
    for (unsigned i = 0; ledger_part(call, i).data != NULL; i++)
        key = ledger_part(call, i);
    if (!ledger_admit(call, transfers ? "transfers" : "other"))
        return;
    const char *error = ledger_error(call, "Your app has exceeded its compute units per second "
                                           "capacity: rate limit");
    if (!ledger_key_is_good(key))
        ledger_refuse(call, 401,
                      "{\"error\":{\"code\":-32600,\"message\":\"Must be authenticated!\"}}");
    else if (error != NULL)
        fail(call, 429, error);
    else if (transfers)
        answer_transfers(call);
    else if (bytes_equal_string(method, "eth_blockNumber")) {
        text_appendf(&call->out, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"0x%x\"}", call->head);
        ledger_finish(call);
    } else
        fail(call, -32601, "no such method");
}
