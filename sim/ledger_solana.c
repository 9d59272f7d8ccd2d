/* SPDX-License-Identifier: Apache-2.0
 *
 * A node of Solana: signatures newest first, `before` and `until` a signature; each transaction is
 * asked for by its own. */
#include "sim/ledger_history.h"

#define SIGNATURES_MAX 1000

static void fail(struct ledger_call *call, int code, const char *message)
{
    text_clear(&call->out);
    text_appendf(&call->out,
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":%d,\"message\":\"%s\"}}", code,
                 message);
    ledger_finish(call);
}

static void put_error(struct ledger_call *call, const struct chain_tx *tx)
{
    text_append_string(&call->out, tx->failed ? ",\"err\":{\"InstructionError\":[0,{\"Custom\":1}]}"
                                              : ",\"err\":null");
}

static void put_signature(struct ledger_call *call, const struct chain_tx *tx)
{
    text_append_string(&call->out, "{\"memo\":null");
    ledger_put_hash(call, "signature", tx->id);
    ledger_put_number(call, "slot", tx->block);
    ledger_put_number(call, "blockTime", (uint64_t)ledger_seconds(call, tx->block));
    put_error(call, tx);
    ledger_put_text(call, "confirmationStatus", "finalized");
    text_append_char(&call->out, '}');
}

static void answer_signatures(struct ledger_call *call, struct json params)
{
    struct json options = json_at(params, 1);
    struct bytes before = json_string_or_absent(json_get(options, "before"));
    struct bytes until = json_string_or_absent(json_get(options, "until"));
    int64_t limit = SIGNATURES_MAX;
    size_t place = 0, stop = SIZE_MAX;
    (void)json_i64(json_get(options, "limit"), &limit);
    if (limit < 1 || limit > SIGNATURES_MAX) {
        fail(call, -32602, "Invalid limit; max 1000");
        return;
    }
    uint32_t account = ledger_account(call, json_string_or_absent(json_at(params, 0)));
    struct ledger_history history = ledger_history(call, account, false);
    if (before.data != NULL && !ledger_history_after(&history, before, &place)) {
        fail(call, -32602, "Invalid param: before");
        ledger_history_deinit(&history);
        return;
    }
    if (until.data != NULL && ledger_history_after(&history, until, &stop))
        stop--;
    size_t end = ledger_history_end(&history, place, (uint64_t)limit);
    text_append_string(&call->out, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[");
    for (size_t i = place; i < end && i < stop; i++) {
        if (i > place)
            text_append_char(&call->out, ',');
        put_signature(call, ledger_history_tx(&history, i));
    }
    text_append_string(&call->out, "]}");
    ledger_history_deinit(&history);
    ledger_finish(call);
}

static void put_balances(struct ledger_call *call, const char *key, uint64_t from, uint64_t to)
{
    text_appendf(&call->out, ",\"%s\":[%llu,%llu]", key, (unsigned long long)from,
                 (unsigned long long)to);
}

static void answer_transaction(struct ledger_call *call, const struct chain_tx *tx)
{
    char name[CHAIN_NAME_SIZE];
    if (tx == NULL || tx->block == CHAIN_NONE || call->withheld) {
        text_append_string(&call->out, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null}");
        ledger_finish(call);
        return;
    }
    uint64_t moved = tx->failed ? 0 : ledger_coins(tx), fee = ledger_fee(tx);
    text_appendf(&call->out, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"slot\":%u", tx->block);
    ledger_put_number(call, "blockTime", (uint64_t)ledger_seconds(call, tx->block));
    text_appendf(&call->out, ",\"version\":0,\"meta\":{\"fee\":%llu", (unsigned long long)fee);
    put_error(call, tx);
    put_balances(call, "preBalances", ledger_coins(tx) + fee, 0);
    put_balances(call, "postBalances", ledger_coins(tx) - moved, moved);
    text_append_string(&call->out, ",\"preTokenBalances\":[],\"postTokenBalances\":[],"
                                   "\"logMessages\":[]},\"transaction\":{\"signatures\":[\"");
    chain_tx_name(call->chain, call->family, tx->id, name);
    text_append_string(&call->out, name);
    text_append_string(&call->out, "\"],\"message\":{\"accountKeys\":[\"");
    chain_address(call->chain, call->family, tx->from, name);
    text_append_string(&call->out, name);
    text_append_string(&call->out, "\",\"");
    chain_address(call->chain, call->family, tx->to == CHAIN_NONE ? tx->from : tx->to, name);
    text_append_string(&call->out, name);
    text_append_string(&call->out, "\"],\"instructions\":[]}}}}");
    ledger_finish(call);
}

void ledger_solana(struct ledger_call *call)
{
    struct bytes method = json_string_or_absent(json_get(call->body, "method"));
    struct json params = json_get(call->body, "params");
    bool list = bytes_equal_string(method, "getSignaturesForAddress");
    bool detail = bytes_equal_string(method, "getTransaction");
    if (!ledger_admit(call, list ? "normal" : detail ? "detail" : "head"))
        return;
    if (ledger_answers_error(call,
                             "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32005,"
                             "\"message\":\"",
                             "\"}}"))
        return;
    if (list) {
        answer_signatures(call, params);
    } else if (detail) {
        answer_transaction(call, ledger_find_tx(call, json_string_or_absent(json_at(params, 0))));
    } else if (bytes_equal_string(method, "getSlot")) {
        text_appendf(&call->out, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":%u}", call->head);
        ledger_finish(call);
    } else if (bytes_equal_string(method, "getTokenAccountsByOwner")) {
        text_append_string(&call->out, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"value\":[]}}");
        ledger_finish(call);
    } else {
        fail(call, -32601, "Method not found");
    }
}
