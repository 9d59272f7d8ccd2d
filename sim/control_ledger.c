/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/query_string.h"
#include "sim/sim.h"

#include <string.h>

#define ACT_BLOCKS_MAX 10000000u

static const char *const stream_names[STREAM_COUNT] = {"normal", "internal", "token", "beacon"};

static void reply_lines(struct http_exchange *exchange, struct text *body)
{
    http_reply(exchange, 200, "application/x-ndjson", NULL,
               bytes_make(text_string(body), body->len));
    text_free(body);
}

void control_ledger_accounts(struct http_exchange *exchange, void *arg)
{
    const struct chain *chain = ((struct sim *)arg)->ledger.chain;
    struct text body = {0};
    char name[CHAIN_NAME_SIZE];
    for (uint32_t i = 0; i < chain_settings(chain)->accounts; i++) {
        text_appendf(&body, "{\"n\":%u", i);
        for (enum chain_family family = 0; family < FAMILY_COUNT; family++) {
            chain_address(chain, family, i, name);
            text_appendf(&body, ",\"%s\":\"%s\"", chain_family_platform(family), name);
        }
        text_append_string(&body, "}\n");
    }
    reply_lines(exchange, &body);
}

/* Whose truth is asked for, and in whose words it is told. */
struct question {
    const struct chain *chain;
    enum chain_family family;
    uint32_t account;
    enum chain_stream stream;
};

static void put_party(const struct question *question, const char *key, uint32_t party,
                      struct text *out)
{
    char name[CHAIN_NAME_SIZE];
    chain_address(question->chain, question->family, party, name);
    text_appendf(out, ",\"%s\":\"%s\"", key, name);
}

static void put_amount(const struct question *question, const struct chain_row *row,
                       const struct chain_tx *tx, struct text *out)
{
    char asset[CHAIN_NAME_SIZE];
    if (row->stream == STREAM_BEACON)
        text_appendf(out, ",\"asset\":\"ETH\",\"amount\":\"%llu000000000\",\"index\":%u",
                     (unsigned long long)row->amount, row->ordinal);
    else if (question->family != FAMILY_EVM)
        text_appendf(out, ",\"amount\":\"%llu\",\"fee\":\"%llu\"",
                     (unsigned long long)ledger_coins(tx), (unsigned long long)ledger_fee(tx));
    else
        text_appendf(out, ",\"amount\":\"%llu%s\"", (unsigned long long)row->amount,
                     chain_amount_zeros(row));
    if (row->stream == STREAM_TOKEN) {
        chain_asset_address(question->chain, row->asset, asset);
        text_appendf(out, ",\"asset\":\"%s\",\"symbol\":\"%s\"", asset,
                     chain_asset_symbol(row->asset));
    } else if (row->stream != STREAM_BEACON && question->family == FAMILY_EVM) {
        text_append_string(out, ",\"asset\":\"ETH\"");
    }
}

static void put_row(const struct question *question, const struct chain_row *row,
                    const struct chain_tx *tx, const char *status, struct text *out)
{
    char hash[CHAIN_NAME_SIZE] = "";
    if (tx != NULL)
        chain_tx_name(question->chain, question->family, tx->id, hash);
    text_appendf(out, "{\"hash\":\"%s\",\"kind\":\"%s\"", hash, stream_names[row->stream]);
    put_party(question, "from", row->from, out);
    put_party(question, "to", row->to, out);
    put_amount(question, row, tx, out);
    if (row->block == CHAIN_NONE)
        text_append_string(out, ",\"block\":null");
    else
        text_appendf(out, ",\"block\":%u", row->block);
    if (row->block != CHAIN_NONE && strcmp(status, "orphaned") != 0)
        text_appendf(out, ",\"time_us\":%lld",
                     (long long)chain_block(question->chain, row->block)->time_us);
    text_appendf(out, ",\"status\":\"%s\"}\n", status);
}

static bool has_failed(const struct question *question, const struct chain_tx *tx)
{
    return tx != NULL && tx->failed && chain_family_fails(question->family);
}

static void put_mined(const struct question *question, struct text *out)
{
    struct chain_list list = chain_list(question->chain, question->account, question->stream);
    for (size_t i = 0; i < list.count; i++) {
        const struct chain_row *row = chain_row(question->chain, list.rows[i]);
        const struct chain_tx *tx =
            row->tx == CHAIN_NONE ? NULL : chain_tx(question->chain, row->tx);
        put_row(question, row, tx, has_failed(question, tx) ? "failed" : "confirmed", out);
    }
}

/* Only the kin of Bitcoin shows who waits. */
static void put_pending(const struct question *question, struct text *out)
{
    size_t count;
    const struct chain_tx *pending = chain_pending(question->chain, &count);
    if (question->family < FAMILY_BITCOIN || question->family > FAMILY_BITCOIN_CASH ||
        question->stream != STREAM_NORMAL)
        return;
    for (size_t i = 0; i < count; i++) {
        struct chain_row row = {.block = CHAIN_NONE,
                                .from = pending[i].from,
                                .to = pending[i].to,
                                .stream = STREAM_NORMAL};
        if (row.from == question->account || row.to == question->account)
            put_row(question, &row, &pending[i], "pending", out);
    }
}

static void put_orphans(const struct question *question, struct text *out)
{
    size_t count;
    const struct chain_orphan *orphans = chain_orphans(question->chain, &count);
    for (size_t i = 0; i < count; i++) {
        const struct chain_row *row = &orphans[i].row;
        if (row->stream != question->stream ||
            (row->from != question->account && row->to != question->account))
            continue;
        struct chain_tx tx = chain_draw_tx(chain_settings(question->chain), orphans[i].tx_id);
        put_row(question, row, row->tx == CHAIN_NONE ? NULL : &tx, "orphaned", out);
    }
}

/* "ethereum:0x…", or the name of an exchange alone. */
static bool read_account(struct question *question, struct bytes query)
{
    char account[CHAIN_NAME_SIZE + 32] = "";
    query_get(query, "account", account, sizeof account);
    char *colon = strchr(account, ':');
    if (colon != NULL)
        *colon = '\0';
    question->family = chain_family_of(bytes_of(account));
    if (question->family >= FAMILY_KRAKEN)
        question->account = 0;
    else
        question->account = chain_find_address(question->chain, question->family,
                                               bytes_of(colon == NULL ? "" : colon + 1));
    return question->account != CHAIN_NONE;
}

static enum chain_stream read_stream(struct bytes query)
{
    char name[32] = "normal";
    enum chain_stream stream = STREAM_NORMAL;
    query_get(query, "stream", name, sizeof name);
    while (stream < STREAM_ANY && strcmp(stream_names[stream], name) != 0)
        stream++;
    return stream;
}

void control_ledger_truth(struct http_exchange *exchange, void *arg)
{
    struct bytes query = http_exchange_request(exchange)->query;
    struct question question = {.chain = ((struct sim *)arg)->ledger.chain,
                                .stream = read_stream(query)};
    struct text body = {0};
    if (!read_account(&question, query) || question.stream == STREAM_ANY) {
        http_reply_text(exchange, 400, "no such account or stream\n");
        return;
    }
    if (query_get_u64(query, "orphaned", 0) == 1) {
        put_orphans(&question, &body);
    } else {
        put_mined(&question, &body);
        put_pending(&question, &body);
    }
    reply_lines(exchange, &body);
}

void control_ledger_act(struct http_exchange *exchange, void *arg)
{
    struct sim *sim = arg;
    struct bytes query = http_exchange_request(exchange)->query;
    struct text body = {0};
    char what[32] = "";
    uint64_t count = query_get_u64(query, "count", 1);
    query_get(query, "do", what, sizeof what);
    if (count > ACT_BLOCKS_MAX) {
        http_reply_text(exchange, 400, "too many\n");
        return;
    }
    if (strcmp(what, "mine") == 0) {
        chain_mine(sim->ledger.chain, (uint32_t)count);
    } else if (strcmp(what, "reorg") == 0) {
        chain_reorganise(sim->ledger.chain, (uint32_t)count);
    } else if (strcmp(what, "mempool") == 0) {
        chain_broadcast(sim->ledger.chain, (uint32_t)count);
    } else if (strcmp(what, "expire_tokens") == 0) {
        sim->ledger.generation++;
    } else {
        http_reply_text(exchange, 400, "there is no such act\n");
        return;
    }
    text_appendf(&body, "{\"head\":%u,\"forks\":%u}\n", chain_head(sim->ledger.chain),
                 chain_forks(sim->ledger.chain));
    http_reply(exchange, 200, "application/json", NULL, text_bytes(&body));
    text_free(&body);
}
