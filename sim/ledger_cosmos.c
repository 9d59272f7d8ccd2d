/* SPDX-License-Identifier: Apache-2.0
 *
 * A REST node of Cosmos: transactions by event, sender and receiver apart, by numbered page. It has
 * no keys for pages, whatever its answers have room for, and no page after the last. */
#include "sim/ledger_history.h"
#include "sim/query_string.h"

#include <stdio.h>
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

/* Those that the query takes, from `skipped` of them on. */
static void put_responses(struct ledger_call *call, const struct ledger_history *history,
                          const struct tx_query *query, uint64_t skipped)
{
    uint64_t taken = 0, written = 0, limit = ledger_page(call, query->limit);
    for (size_t place = 0; place < history->count && written < limit; place++) {
        const struct chain_tx *tx =
            ledger_history_tx(history, query->ascending ? history->count - 1 - place : place);
        if (!takes(query, tx) || taken++ < skipped)
            continue;
        if (written++ > 0)
            text_append_char(&call->out, ',');
        put_response(call, tx);
    }
}

static uint64_t count_taken(const struct ledger_history *history, const struct tx_query *query)
{
    uint64_t count = 0;
    for (size_t place = 0; place < history->count; place++)
        count += takes(query, ledger_history_tx(history, place));
    return count;
}

static void answer_txs(struct ledger_call *call, struct tx_query *query)
{
    char order[24] = "", refusal[96];
    query_get(call->query, "order_by", order, sizeof order);
    query->ascending = strcmp(order, "ORDER_BY_DESC") != 0 && strcmp(order, "2") != 0;
    query->limit = query_get_u64(call->query, "limit", LIMIT_DEFAULT);
    if (query->limit == 0 || query->limit > LIMIT_DEFAULT)
        query->limit = LIMIT_DEFAULT;
    uint64_t page = query_get_u64(call->query, "page", 1);
    struct ledger_history history = ledger_history(call, query->account, false);
    uint64_t total = count_taken(&history, query);
    uint64_t pages = total == 0 ? 1 : (total - 1) / query->limit + 1;
    if (page == 0 || page > pages) {
        snprintf(refusal, sizeof refusal,
                 "{\"code\":2,\"message\":\"page should be within [1, %llu] range, given %llu\"}",
                 (unsigned long long)pages, (unsigned long long)page);
        ledger_refuse(call, 500, refusal);
    } else {
        text_append_string(&call->out, "{\"txs\":[],\"tx_responses\":[");
        put_responses(call, &history, query, (page - 1) * query->limit);
        text_appendf(&call->out, "],\"pagination\":null,\"total\":\"%llu\"}",
                     (unsigned long long)total);
        ledger_finish(call);
    }
    ledger_history_deinit(&history);
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
