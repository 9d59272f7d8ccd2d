/* SPDX-License-Identifier: Apache-2.0
 *
 * A node of Solana: signatures newest first, `before` and `until` a signature; each transaction is
 * asked for by its own. An account has a token account for each asset that it has ever moved; the
 * even ones belong to the old token program, the others to the new one. */
#include "sim/ledger_history.h"

#include <string.h>

#define SIGNATURES_MAX 1000
#define TOKEN_PARTIES  0x40000000u /* they have addresses of their own */
#define TOKEN_PROGRAM  "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"

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

static void name_token_account(const struct ledger_call *call, uint32_t account, unsigned asset,
                               char out[CHAIN_NAME_SIZE])
{
    chain_address(call->chain, call->family, TOKEN_PARTIES + account * CHAIN_ASSETS + asset, out);
}

/* What is listed under an address: of an account, or of one of its token accounts. */
static struct ledger_history find_history(const struct ledger_call *call, struct bytes address)
{
    char name[CHAIN_NAME_SIZE];
    uint32_t account = ledger_account(call, address);
    uint32_t accounts = account == CHAIN_NONE ? chain_settings(call->chain)->accounts : 0;
    for (uint32_t i = 0; i < accounts * CHAIN_ASSETS; i++) {
        name_token_account(call, i / CHAIN_ASSETS, i % CHAIN_ASSETS, name);
        if (bytes_equal_string(address, name))
            return ledger_history_token(call, i / CHAIN_ASSETS, i % CHAIN_ASSETS);
    }
    return ledger_history(call, account, false);
}

static void answer_token_accounts(struct ledger_call *call, struct json params)
{
    struct bytes program = json_string_or_absent(json_get(json_at(params, 1), "programId"));
    uint32_t account = ledger_account(call, json_string_or_absent(json_at(params, 0)));
    unsigned first = bytes_equal_string(program, TOKEN_PROGRAM) ? 0 : 1, shown = 0;
    unsigned end = (unsigned)ledger_page(call, CHAIN_ASSETS);
    char name[CHAIN_NAME_SIZE];
    text_appendf(&call->out,
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"context\":{\"slot\":%u},"
                 "\"value\":[",
                 call->head);
    for (unsigned asset = first; asset < end; asset += 2) {
        struct ledger_history history = ledger_history_token(call, account, asset);
        if (history.count > 0) {
            name_token_account(call, account, asset, name);
            text_appendf(&call->out,
                         "%s{\"pubkey\":\"%s\",\"account\":{\"owner\":\"%.*s\","
                         "\"lamports\":2039280}}",
                         shown++ > 0 ? "," : "", name, (int)program.len, program.data);
        }
        ledger_history_deinit(&history);
    }
    text_append_string(&call->out, "]}}");
    ledger_finish(call);
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
    struct ledger_history history = find_history(call, json_string_or_absent(json_at(params, 0)));
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
    bool tokens = bytes_equal_string(method, "getTokenAccountsByOwner");
    bool own = ledger_account(call, json_string_or_absent(json_at(params, 0))) != CHAIN_NONE;
    const char *endpoint = detail ? "detail" : tokens ? "tokens" : "head";
    if (list)
        endpoint = own ? "normal" : "token";
    if (!ledger_admit(call, endpoint))
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
    } else if (tokens) {
        answer_token_accounts(call, params);
    } else {
        fail(call, -32601, "Method not found");
    }
}
