/* SPDX-License-Identifier: Apache-2.0
 *
 * A REST node of Cosmos: transactions by event, sender and receiver apart, by key or by page. */
#include "sim/ledger_history.h"
#include "sim/query_string.h"

#include <string.h>

#define LIMIT_DEFAULT 100u

struct tx_query {
    uint32_t account;
    bool spent; /* those it paid; else those it got */
    bool ascending;
    uint64_t limit;
};

/* "coin_spent.spender='ADDRESS'" */
static bool read_event(const struct ledger_call *call, struct tx_query *query)
{
    char event[256] = "";
    if (!query_get(call->query, "events", event, sizeof event))
        query_get(call->query, "query", event, sizeof event);
    char *begin = strchr(event, '\''), *end = strrchr(event, '\'');
    if (begin == NULL || end == begin)
        return false;
    query->spent = strstr(event, "spender") != NULL || strstr(event, "sender") != NULL;
    query->account = ledger_account(call, bytes_make(begin + 1, (size_t)(end - begin - 1)));
    return true;
}

static void put_body(struct ledger_call *call, const struct chain_tx *tx)
{
    text_append_string(&call->out, "{\"body\":{\"memo\":\"\",\"messages\":[{\"@type\":"
                                   "\"/cosmos.bank.v1beta1.MsgSend\"");
    ledger_put_address(call, "from_address", tx->from);
    ledger_put_address(call, "to_address", tx->to == CHAIN_NONE ? tx->from : tx->to);
    text_appendf(&call->out,
                 ",\"amount\":[{\"denom\":\"uatom\",\"amount\":\"%llu\"}]}]},\"auth_info\":{"
                 "\"fee\":{\"amount\":[{\"denom\":\"uatom\",\"amount\":\"%llu\"}]}}}",
                 (unsigned long long)ledger_coins(tx), (unsigned long long)ledger_fee(tx));
}

static void put_response(struct ledger_call *call, const struct chain_tx *tx)
{
    text_appendf(&call->out, "{\"height\":\"%u\",\"code\":%d,\"gas_used\":\"80000\"", tx->block,
                 tx->failed ? 5 : 0);
    ledger_put_hash(call, "txhash", tx->id);
    ledger_put_time(call, "timestamp", tx->block);
    text_append_string(&call->out, ",\"tx\":");
    put_body(call, tx);
    text_append_string(&call->out, ",\"events\":[]}");
}

static bool takes(const struct tx_query *query, const struct chain_tx *tx)
{
    return (query->spent ? tx->from : tx->to == CHAIN_NONE ? tx->from : tx->to) == query->account;
}

/* Returns the place of the first one left over. */
static size_t put_responses(struct ledger_call *call, const struct ledger_history *history,
                            const struct tx_query *query, size_t place)
{
    uint64_t written = 0, limit = ledger_page(call, query->limit);
    for (; place < history->count; place++) {
        const struct chain_tx *tx =
            ledger_history_tx(history, query->ascending ? history->count - 1 - place : place);
        if (!takes(query, tx))
            continue;
        if (written == limit)
            break;
        if (written++ > 0)
            text_append_char(&call->out, ',');
        put_response(call, tx);
    }
    return place;
}

static void answer_txs(struct ledger_call *call, struct tx_query *query)
{
    char order[24] = "", key[64] = "", next[40];
    uint32_t bound = query->spent;
    size_t place = 0, left = 0; /* a key is a place, or how many are left newest first */
    query_get(call->query, "order_by", order, sizeof order);
    query_get(call->query, "pagination.key", key, sizeof key);
    query->ascending = strcmp(order, "ORDER_BY_DESC") != 0 && strcmp(order, "2") != 0;
    query->limit = query_get_u64(call->query, "pagination.limit", LIMIT_DEFAULT);
    if (query->limit > LIMIT_DEFAULT)
        query->limit = LIMIT_DEFAULT;
    if (key[0] != '\0' && !ledger_token_read(call, bytes_of(key), bound, &left)) {
        ledger_refuse(call, 400, "{\"code\":3,\"message\":\"invalid pagination key\"}");
        return;
    }
    struct ledger_history history = ledger_history(call, query->account, false);
    if (key[0] != '\0')
        place = query->ascending ? left : left < history.count ? history.count - left : 0;
    text_append_string(&call->out, "{\"txs\":[],\"tx_responses\":[");
    place = put_responses(call, &history, query, place);
    text_append_string(&call->out, "],\"pagination\":{\"total\":\"0\",\"next_key\":");
    if (place < history.count) {
        ledger_token_write(call, query->ascending ? place : history.count - place, bound, next);
        text_appendf(&call->out, "\"%s\"}}", next);
    } else {
        text_append_string(&call->out, "null}}");
    }
    ledger_history_deinit(&history);
    ledger_finish(call);
}

void ledger_cosmos(struct ledger_call *call)
{
    struct tx_query query = {.account = CHAIN_NONE};
    if (!ledger_admit(call, "normal") ||
        ledger_answers_error(call, "{\"code\":8,\"message\":\"", "\"}"))
        return;
    if (ledger_part_after(call, "v1beta1").data == NULL || !read_event(call, &query))
        ledger_refuse(call, 400, "{\"code\":3,\"message\":\"must declare at least one event\"}");
    else
        answer_txs(call, &query);
}
