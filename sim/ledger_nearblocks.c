/* SPDX-License-Identifier: Apache-2.0
 *
 * NearBlocks: transactions of an account by opaque cursor, times in nanoseconds, by day. */
#include "base/timestamp.h"
#include "sim/ledger_history.h"
#include "sim/query_string.h"

#include <string.h>

#define PER_PAGE 25u
#define DAY_S    86400

static void put_txn(struct ledger_call *call, const struct chain_tx *tx)
{
    text_appendf(&call->out, "{\"block\":{\"block_height\":%u}", tx->block);
    ledger_put_hash(call, "transaction_hash", tx->id);
    ledger_put_block_hash(call, "included_in_block_hash", tx->block);
    text_appendf(&call->out, ",\"block_timestamp\":\"%lld000000000\"",
                 (long long)ledger_seconds(call, tx->block));
    ledger_put_address(call, "signer_account_id", tx->from);
    ledger_put_address(call, "receiver_account_id", tx->to == CHAIN_NONE ? tx->from : tx->to);
    text_appendf(&call->out,
                 ",\"outcomes\":{\"status\":%s},\"actions\":[{\"action\":\"TRANSFER\",\"deposit\":"
                 "\"%llu0000000000000000\"}],\"outcomes_agg\":{\"transaction_fee\":%llu}}",
                 tx->failed ? "false" : "true", (unsigned long long)ledger_coins(tx),
                 (unsigned long long)ledger_fee(tx));
}

/* First place, oldest first, after the day asked for: nothing of that day itself is shown. */
static size_t find_day(const struct ledger_call *call, const struct ledger_history *history)
{
    char day[32] = "";
    int64_t us;
    size_t place = 0;
    query_get(call->query, "after_date", day, 11);
    memcpy(day + strlen(day), "T00:00:00Z", 11);
    if (!timestamp_parse(bytes_of(day), &us))
        return 0;
    while (place < history->count &&
           ledger_seconds(call, ledger_history_tx(history, history->count - 1 - place)->block) <
               us / 1000000 + DAY_S)
        place++;
    return place;
}

static void answer_txns(struct ledger_call *call, uint32_t account)
{
    char order[8] = "desc", token[64] = "", next[40];
    uint64_t per_page = query_get_u64(call->query, "per_page", PER_PAGE);
    query_get(call->query, "order", order, sizeof order);
    query_get(call->query, "cursor", token, sizeof token);
    bool ascending = strcmp(order, "asc") == 0;
    size_t place = 0;
    if (token[0] != '\0' && !ledger_token_read(call, bytes_of(token), (uint32_t)per_page, &place)) {
        ledger_refuse(call, 422, "{\"errors\":[{\"message\":\"invalid cursor\"}]}");
        return;
    }
    struct ledger_history history = ledger_history(call, account, false);
    if (token[0] == '\0' && ascending)
        place = find_day(call, &history);
    size_t end = ledger_history_end(&history, place, per_page);
    text_append_string(&call->out, "{\"txns\":[");
    for (size_t i = place; i < end; i++) {
        if (i > place)
            text_append_char(&call->out, ',');
        put_txn(call, ledger_history_tx(&history, ascending ? history.count - 1 - i : i));
    }
    text_append_char(&call->out, ']');
    if (end < history.count) {
        ledger_token_write(call, end, (uint32_t)per_page, next);
        ledger_put_text(call, "cursor", next);
    }
    text_append_char(&call->out, '}');
    ledger_history_deinit(&history);
    ledger_finish(call);
}

void ledger_nearblocks(struct ledger_call *call)
{
    struct bytes name = ledger_part_after(call, "account");
    struct bytes list = BYTES_ABSENT;
    for (unsigned i = 0; ledger_part(call, i).data != NULL; i++)
        list = ledger_part(call, i);
    bool txns = bytes_equal_string(list, "txns-only") || bytes_equal_string(list, "txns");
    if (!ledger_admit(call, txns ? "transactions" : "other") ||
        ledger_answers_error(call, "{\"message\":\"", "\"}"))
        return;
    if (txns) {
        answer_txns(call, ledger_account(call, name));
        return;
    }
    text_appendf(&call->out, "{\"%s\":[]}",
                 bytes_equal_string(list, "activities") ? "activities" : "txns");
    ledger_finish(call);
}
