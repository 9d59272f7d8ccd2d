/* SPDX-License-Identifier: Apache-2.0
 *
 * Others who list the transactions of an address of Bitcoin and its kin: blockchain.com by offset,
 * BlockCypher by references whose details are asked for one by one, Tatum by offset and family. */
#include "sim/ledger_history.h"
#include "sim/query_string.h"

#include <string.h>

#define LIMIT_DEFAULT   50u
#define HUNDRED_MILLION 100000000u

static uint64_t read_limit(const struct ledger_call *call, const char *name, uint64_t most)
{
    uint64_t limit = query_get_u64(call->query, name, LIMIT_DEFAULT);
    return limit > most ? most : limit;
}

static void put_raw_tx(struct ledger_call *call, const struct chain_tx *tx)
{
    text_appendf(&call->out, "{\"ver\":2,\"fee\":%llu", (unsigned long long)ledger_fee(tx));
    ledger_put_hash(call, "hash", tx->id);
    text_append_string(&call->out, ",\"inputs\":[{\"prev_out\":{\"n\":0");
    ledger_put_address(call, "addr", tx->from);
    ledger_put_number(call, "value", ledger_coins(tx) + ledger_fee(tx));
    text_append_string(&call->out, "}}],\"out\":[{\"n\":0");
    if (tx->to != CHAIN_NONE)
        ledger_put_address(call, "addr", tx->to);
    ledger_put_number(call, "value", ledger_coins(tx));
    text_append_string(&call->out, "}]");
    if (tx->block == CHAIN_NONE) {
        ledger_put_number(call, "time", (uint64_t)ledger_seconds(call, call->head));
        text_append_string(&call->out, ",\"block_height\":null,\"block_index\":null}");
        return;
    }
    ledger_put_number(call, "time", (uint64_t)ledger_seconds(call, tx->block));
    ledger_put_number(call, "block_height", tx->block);
    ledger_put_number(call, "block_index", tx->block);
    text_append_char(&call->out, '}');
}

void ledger_blockchaincom(struct ledger_call *call)
{
    struct bytes address = ledger_part_after(call, "rawaddr");
    if (!ledger_admit(call, "normal") || ledger_answers_error(call, "{\"error\":\"", "\"}"))
        return;
    if (address.data == NULL) {
        ledger_refuse(call, 404, "{\"error\":\"not-found\"}");
        return;
    }
    struct ledger_history history = ledger_history(call, ledger_account(call, address), true);
    size_t place = (size_t)query_get_u64(call->query, "offset", 0);
    size_t end = ledger_history_end(&history, place, read_limit(call, "limit", LIMIT_DEFAULT));
    text_appendf(&call->out, "{\"address\":\"%.*s\",\"n_tx\":%zu,\"final_balance\":0,\"txs\":[",
                 (int)address.len, address.data, history.count);
    for (size_t i = place; i < end; i++) {
        if (i > place)
            text_append_char(&call->out, ',');
        put_raw_tx(call, ledger_history_tx(&history, i));
    }
    text_append_string(&call->out, "]}");
    ledger_history_deinit(&history);
    ledger_finish(call);
}

static void put_reference(struct ledger_call *call, const struct chain_tx *tx, bool spent)
{
    if (call->out.data[call->out.len - 1] == '}')
        text_append_char(&call->out, ',');
    text_appendf(&call->out, "{\"tx_input_n\":%d,\"tx_output_n\":%d", spent ? 0 : -1,
                 spent ? -1 : 0);
    ledger_put_hash(call, "tx_hash", tx->id);
    ledger_put_number(call, "value", ledger_coins(tx));
    if (tx->block == CHAIN_NONE) {
        text_append_string(&call->out, ",\"block_height\":-1,\"confirmations\":0}");
        return;
    }
    ledger_put_number(call, "block_height", tx->block);
    ledger_put_number(call, "confirmations", call->head - tx->block + 1);
    ledger_put_time(call, "confirmed", tx->block);
    text_append_char(&call->out, '}');
}

/* References, not transactions, are counted: one that pays itself has two. Returns how many places
 * it went on. */
static size_t put_references(struct ledger_call *call, const struct ledger_history *history,
                             uint32_t account, size_t place, uint64_t limit)
{
    size_t written = 0;
    for (; place < history->count && written < limit; place++) {
        const struct chain_tx *tx = ledger_history_tx(history, place);
        if (tx->from == account && written++ < limit)
            put_reference(call, tx, true);
        if (tx->to == account && written++ < limit)
            put_reference(call, tx, false);
    }
    return place;
}

static void answer_references(struct ledger_call *call, struct bytes address)
{
    uint32_t account = ledger_account(call, address);
    struct ledger_history history = ledger_history(call, account, true);
    uint64_t before = query_get_u64(call->query, "before", UINT32_MAX);
    uint64_t limit = read_limit(call, "limit", 2000);
    size_t place = history.ahead_count;
    while (place < history.count && ledger_history_tx(&history, place)->block >= before)
        place++;
    text_appendf(&call->out,
                 "{\"address\":\"%.*s\",\"n_tx\":%zu,\"unconfirmed_n_tx\":%zu,"
                 "\"final_n_tx\":%zu,\"txrefs\":[",
                 (int)address.len, address.data, history.mined.count, history.ahead_count,
                 history.count);
    place = put_references(call, &history, account, place, call->partial ? limit / 2 : limit);
    text_append_string(&call->out, "],\"unconfirmed_txrefs\":[");
    struct ledger_history waiting = history;
    waiting.count = history.ahead_count;
    put_references(call, &waiting, account, 0, limit);
    text_appendf(&call->out, "]%s}", place < history.count ? ",\"hasMore\":true" : "");
    ledger_history_deinit(&history);
    ledger_finish(call);
}

static void put_parties(struct ledger_call *call, const char *key, uint32_t party,
                        const char *value_key, uint64_t value)
{
    char address[CHAIN_NAME_SIZE];
    chain_address(call->chain, call->family, party, address);
    text_appendf(&call->out, ",\"%s\":[{\"%s\":%llu,\"addresses\":[%s%s%s]}]", key, value_key,
                 (unsigned long long)value, party == CHAIN_NONE ? "" : "\"", address,
                 party == CHAIN_NONE ? "" : "\"");
}

static void answer_detail(struct ledger_call *call, const struct chain_tx *tx)
{
    if (tx == NULL || call->withheld) {
        ledger_refuse(call, 404, "{\"error\":\"Transaction not found.\"}");
        return;
    }
    text_appendf(&call->out, "{\"fees\":%llu", (unsigned long long)ledger_fee(tx));
    ledger_put_hash(call, "hash", tx->id);
    ledger_put_number(call, "total", ledger_coins(tx));
    put_parties(call, "inputs", tx->from, "output_value", ledger_coins(tx) + ledger_fee(tx));
    put_parties(call, "outputs", tx->to, "value", ledger_coins(tx));
    if (tx->block == CHAIN_NONE) {
        text_append_string(&call->out, ",\"block_height\":-1");
        ledger_put_time(call, "received", call->head);
    } else {
        ledger_put_number(call, "block_height", tx->block);
        ledger_put_block_hash(call, "block_hash", tx->block);
        ledger_put_time(call, "confirmed", tx->block);
        ledger_put_time(call, "received", tx->block);
    }
    text_append_char(&call->out, '}');
    ledger_finish(call);
}

void ledger_blockcypher(struct ledger_call *call)
{
    struct bytes address = ledger_part_after(call, "addrs"), hash = ledger_part_after(call, "txs");
    if (!ledger_admit(call, hash.data != NULL ? "detail" : "normal") ||
        ledger_answers_error(call, "{\"error\":\"", "\"}"))
        return;
    if (hash.data != NULL)
        answer_detail(call, ledger_find_tx(call, hash));
    else if (address.data != NULL)
        answer_references(call, address);
    else
        ledger_refuse(call, 404, "{\"error\":\"not found\"}");
}

/* Satoshis as a number for Bitcoin, coins as a decimal string for its kin. */
static void put_value(struct ledger_call *call, const char *key, uint64_t value)
{
    if (call->family == FAMILY_BITCOIN)
        ledger_put_number(call, key, value);
    else
        text_appendf(&call->out, ",\"%s\":\"%llu.%08llu\"", key,
                     (unsigned long long)(value / HUNDRED_MILLION),
                     (unsigned long long)(value % HUNDRED_MILLION));
}

static void put_tatum_tx(struct ledger_call *call, const struct chain_tx *tx)
{
    uint32_t block = tx->block == CHAIN_NONE ? call->head : tx->block;
    text_append_string(&call->out, "{\"index\":0");
    ledger_put_hash(call, "hash", tx->id);
    ledger_put_number(call, "time", (uint64_t)ledger_seconds(call, block));
    text_appendf(&call->out, ",\"fee\":\"%s%0*llu\"", call->family == FAMILY_BITCOIN ? "" : "0.",
                 call->family == FAMILY_BITCOIN ? 1 : 8, (unsigned long long)ledger_fee(tx));
    if (tx->block != CHAIN_NONE) {
        ledger_put_number(call, "blockNumber", tx->block);
        ledger_put_block_hash(call, "block", tx->block);
    }
    text_append_string(&call->out,
                       ",\"inputs\":[{\"prevout\":{\"index\":0},\"coin\":{\"version\":2");
    ledger_put_address(call, "address", tx->from);
    put_value(call, "value", ledger_coins(tx) + ledger_fee(tx));
    text_append_string(&call->out, "}}],\"outputs\":[{\"script\":\"\"");
    ledger_put_address(call, "address", tx->to);
    put_value(call, "value", ledger_coins(tx));
    text_append_string(&call->out, "}]}");
}

/* Bitcoin Cash has a shape of its own, without the senders. */
static void put_bcash_tx(struct ledger_call *call, const struct chain_tx *tx)
{
    char address[CHAIN_NAME_SIZE];
    text_append_string(&call->out, "{\"vin\":[{\"vout\":0}],\"version\":2");
    ledger_put_hash(call, "txid", tx->id);
    if (tx->block != CHAIN_NONE) {
        ledger_put_number(call, "blockheight", tx->block);
        ledger_put_block_hash(call, "blockhash", tx->block);
        ledger_put_number(call, "blocktime", (uint64_t)ledger_seconds(call, tx->block));
        ledger_put_number(call, "time", (uint64_t)ledger_seconds(call, tx->block));
    }
    chain_address(call->chain, call->family, tx->to, address);
    text_appendf(&call->out,
                 ",\"vout\":[{\"n\":0,\"value\":%llu.%08llu,\"scriptPubKey\":"
                 "{\"addresses\":[\"%s\"]}}]}",
                 (unsigned long long)(ledger_coins(tx) / HUNDRED_MILLION),
                 (unsigned long long)(ledger_coins(tx) % HUNDRED_MILLION), address);
}

static void read_family(struct ledger_call *call)
{
    static const struct {
        const char *part;
        enum chain_family family;
    } families[] = {{"litecoin", FAMILY_LITECOIN},
                    {"dogecoin", FAMILY_DOGECOIN},
                    {"bcash", FAMILY_BITCOIN_CASH}};
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
        if (ledger_part_after(call, families[i].part).data != NULL)
            call->family = families[i].family;
}

void ledger_tatum(struct ledger_call *call)
{
    struct bytes address = ledger_part_after(call, "address");
    read_family(call);
    if (!ledger_admit(call, "normal") || ledger_answers_error(call, "{\"error\":\"", "\"}"))
        return;
    if (!ledger_key_is_good(
            http_request_header(http_exchange_request(call->exchange), "x-api-key"))) {
        ledger_refuse(call, 401, "{\"errorCode\":\"subscription.invalid\",\"statusCode\":401}");
        return;
    }
    struct ledger_history history = ledger_history(call, ledger_account(call, address), true);
    bool bcash = call->family == FAMILY_BITCOIN_CASH;
    size_t place = (size_t)query_get_u64(call->query, bcash ? "skip" : "offset", 0);
    uint64_t from = bcash ? 0 : query_get_u64(call->query, "blockFrom", 0);
    size_t end = ledger_history_end(&history, place, read_limit(call, "pageSize", LIMIT_DEFAULT));
    text_append_char(&call->out, '[');
    for (size_t i = place; i < end; i++) {
        const struct chain_tx *tx = ledger_history_tx(&history, i);
        if (tx->block < from)
            break;
        if (i > place)
            text_append_char(&call->out, ',');
        if (bcash)
            put_bcash_tx(call, tx);
        else
            put_tatum_tx(call, tx);
    }
    text_append_char(&call->out, ']');
    ledger_history_deinit(&history);
    ledger_finish(call);
}
