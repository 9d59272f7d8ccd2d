/* SPDX-License-Identifier: Apache-2.0
 *
 * A server of the XRP Ledger: account_tx forward or back, with a marker of ledger and sequence. */
#include "sim/ledger_history.h"

#define LIMIT_MAX    200
#define RIPPLE_EPOCH 946684800

static void fail(struct ledger_call *call, const char *error)
{
    text_clear(&call->out);
    text_appendf(&call->out, "{\"result\":{\"error\":\"%s\",\"status\":\"error\"}}", error);
    ledger_finish(call);
}

static void put_tx(struct ledger_call *call, const struct chain_tx *tx)
{
    text_appendf(&call->out, "{\"validated\":true,\"meta\":{\"TransactionResult\":\"%s\"",
                 tx->failed ? "tecUNFUNDED_PAYMENT" : "tesSUCCESS");
    ledger_put_number(call, "TransactionIndex", tx->place);
    text_appendf(&call->out,
                 ",\"delivered_amount\":\"%llu\"},\"tx\":{\"TransactionType\":\"Payment\"",
                 (unsigned long long)ledger_coins(tx));
    ledger_put_hash(call, "hash", tx->id);
    ledger_put_number(call, "ledger_index", tx->block);
    ledger_put_number(call, "inLedger", tx->block);
    ledger_put_number(call, "date", (uint64_t)(ledger_seconds(call, tx->block) - RIPPLE_EPOCH));
    ledger_put_address(call, "Account", tx->from);
    if (tx->to != CHAIN_NONE)
        ledger_put_address(call, "Destination", tx->to);
    text_appendf(&call->out, ",\"Amount\":\"%llu\",\"Fee\":\"%llu\",\"Sequence\":%llu}}",
                 (unsigned long long)ledger_coins(tx), (unsigned long long)ledger_fee(tx),
                 (unsigned long long)tx->id);
}

/* What is asked for: places are counted in its direction. */
struct tx_query {
    bool forward;
    int64_t first, last, limit;
    size_t place;
};

static struct tx_query read_query(struct json params)
{
    struct tx_query query = {.first = -1, .last = -1, .limit = LIMIT_MAX};
    (void)json_bool(json_get(params, "forward"), &query.forward);
    (void)json_i64(json_get(params, "ledger_index_min"), &query.first);
    (void)json_i64(json_get(params, "ledger_index_max"), &query.last);
    (void)json_i64(json_get(params, "limit"), &query.limit);
    if (query.limit < 1 || query.limit > LIMIT_MAX)
        query.limit = LIMIT_MAX;
    return query;
}

/* A marker names the next transaction by its ledger and its place there. */
static bool read_marker(const struct ledger_history *history, struct json marker,
                        struct tx_query *query)
{
    int64_t ledger, place;
    if (json_type(marker) == JSON_ABSENT || json_type(marker) == JSON_NULL)
        return true;
    if (!json_i64(json_get(marker, "ledger"), &ledger) ||
        !json_i64(json_get(marker, "seq"), &place))
        return false;
    for (size_t i = 0; i < history->count; i++) {
        const struct chain_tx *tx =
            ledger_history_tx(history, query->forward ? history->count - 1 - i : i);
        if (tx->block == ledger && tx->place == place) {
            query->place = i;
            return true;
        }
    }
    return false;
}

static void answer_account_tx(struct ledger_call *call, struct json params)
{
    struct tx_query query = read_query(params);
    uint32_t account = ledger_account(call, json_string_or_absent(json_get(params, "account")));
    struct ledger_history history = ledger_history(call, account, false);
    int64_t written = 0;
    if (account == CHAIN_NONE || ledger_marker_expired(call, json_get(params, "marker")) ||
        !read_marker(&history, json_get(params, "marker"), &query)) {
        fail(call, account == CHAIN_NONE ? "actNotFound" : "invalidParams");
        ledger_history_deinit(&history);
        return;
    }
    int64_t limit = call->partial ? (query.limit + 1) / 2 : query.limit;
    text_appendf(&call->out,
                 "{\"result\":{\"status\":\"success\",\"validated\":true,\"limit\":%lld,"
                 "\"transactions\":[",
                 (long long)query.limit);
    const struct chain_tx *next = NULL;
    for (; query.place < history.count && next == NULL; query.place++) {
        const struct chain_tx *tx = ledger_history_tx(
            &history, query.forward ? history.count - 1 - query.place : query.place);
        if (tx->block < query.first || (query.last >= 0 && tx->block > query.last))
            continue;
        if (written == limit) {
            next = tx;
            continue;
        }
        if (written++ > 0)
            text_append_char(&call->out, ',');
        put_tx(call, tx);
    }
    text_append_char(&call->out, ']');
    if (next != NULL)
        text_appendf(&call->out, ",\"marker\":{\"ledger\":%u,\"seq\":%u}", next->block,
                     next->place);
    text_append_string(&call->out, "}}");
    ledger_history_deinit(&history);
    ledger_finish(call);
}

void ledger_xrpl(struct ledger_call *call)
{
    struct bytes method = json_string_or_absent(json_get(call->body, "method"));
    bool list = bytes_equal_string(method, "account_tx");
    if (!ledger_admit(call, list ? "normal" : "head"))
        return;
    const char *error = ledger_error(call, "slowDown");
    if (error != NULL) {
        fail(call, error);
    } else if (list) {
        answer_account_tx(call, json_at(json_get(call->body, "params"), 0));
    } else if (bytes_equal_string(method, "ledger")) {
        text_appendf(&call->out, "{\"result\":{\"ledger_index\":%u,\"status\":\"success\"}}",
                     call->head);
        ledger_finish(call);
    } else {
        fail(call, "unknownCmd");
    }
}
