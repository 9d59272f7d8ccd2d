/* SPDX-License-Identifier: Apache-2.0
 *
 * Kraken: the ledger of the one who signs, newest first. Every request is signed and has a nonce
 * above all earlier ones; errors come with status 200. */
#include "sim/ledger_history.h"
#include "sim/query_string.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>

#define ENTRIES_MAX 50u

static void fail(struct ledger_call *call, const char *error)
{
    text_clear(&call->out);
    text_appendf(&call->out, "{\"error\":[\"%s\"]}", error);
    ledger_finish(call);
}

/* base64(HMAC-SHA512(base64-decoded secret, path || SHA256(nonce || body))) */
static void sign(const struct ledger_call *call, const char *nonce, struct bytes body,
                 char out[128])
{
    uint8_t secret[64], digest[SHA256_DIGEST_LENGTH], mac[64];
    struct text input = {0};
    unsigned mac_len = 0;
    int secret_len = EVP_DecodeBlock(secret, (const unsigned char *)LEDGER_KRAKEN_SECRET,
                                     (int)strlen(LEDGER_KRAKEN_SECRET));
    text_append_string(&input, nonce);
    text_append(&input, body.data, body.len);
    SHA256((const unsigned char *)input.data, input.len, digest);
    text_clear(&input);
    text_append(&input, call->path.data, call->path.len);
    text_append(&input, digest, sizeof digest);
    HMAC(EVP_sha512(), secret, secret_len, (const unsigned char *)input.data, input.len, mac,
         &mac_len);
    EVP_EncodeBlock((unsigned char *)out, mac, (int)mac_len);
    text_free(&input);
}

/* What is wrong with who asks, or NULL. */
static const char *check_caller(struct ledger_call *call)
{
    const struct http_request *request = http_exchange_request(call->exchange);
    char nonce[32] = "", signature[128];
    uint64_t number;
    query_get(call->query, "nonce", nonce, sizeof nonce);
    if (!bytes_equal_string(http_request_header(request, "API-Key"), LEDGER_KRAKEN_KEY))
        return "EAPI:Invalid key";
    sign(call, nonce, request->body, signature);
    if (!bytes_equal_string(http_request_header(request, "API-Sign"), signature))
        return "EAPI:Invalid signature";
    if (!bytes_to_u64(bytes_of(nonce), &number) || number <= call->ledger->nonce)
        return "EAPI:Invalid nonce";
    call->ledger->nonce = number;
    return NULL;
}

static double time_of(const struct ledger_call *call, const struct chain_tx *tx)
{
    return (double)ledger_seconds(call, tx->block) + 1e-4 * tx->place;
}

/* First place that is not newer than what the parameter names by time or by ledger id. */
static size_t find_bound(const struct ledger_call *call, const struct ledger_history *history,
                         const char *name, size_t fallback)
{
    char value[64];
    size_t place = 0;
    if (!query_get(call->query, name, value, sizeof value) || value[0] == '\0')
        return fallback;
    if (value[0] == 'L') {
        if (!ledger_history_after(history, bytes_of(value), &place))
            return fallback;
        return place - 1;
    }
    double at = strtod(value, NULL);
    while (place < history->count && time_of(call, ledger_history_tx(history, place)) > at)
        place++;
    return place;
}

static void put_entry(struct ledger_call *call, const struct chain_tx *tx)
{
    char id[CHAIN_NAME_SIZE];
    chain_tx_name(call->chain, call->family, tx->id, id);
    bool spent = tx->from == 0;
    uint64_t coins = ledger_coins(tx);
    text_appendf(&call->out, "\"%s\":{\"refid\":\"R%s\",\"time\":%.4f,\"type\":\"%s\"", id, id + 1,
                 time_of(call, tx), spent ? "withdrawal" : "deposit");
    text_appendf(&call->out,
                 ",\"subtype\":\"\",\"aclass\":\"currency\",\"asset\":\"XXBT\",\"amount\":"
                 "\"%s%llu.%08llu00\",\"fee\":\"0.%08llu00\",\"balance\":\"1.0000000000\"}",
                 spent ? "-" : "", (unsigned long long)(coins / 100000000),
                 (unsigned long long)(coins % 100000000), (unsigned long long)ledger_fee(tx));
}

static void answer_ledgers(struct ledger_call *call)
{
    struct ledger_history history = ledger_history(call, 0, false);
    /* `end` is included, `start` is not. */
    size_t begin = find_bound(call, &history, "end", 0);
    size_t end = find_bound(call, &history, "start", history.count);
    size_t count = end > begin ? end - begin : 0;
    uint64_t skip = query_get_u64(call->query, "ofs", 0);
    size_t due = skip >= count ? 0 : count - (size_t)skip;
    due = ledger_page(call, due < ENTRIES_MAX ? due : ENTRIES_MAX);
    text_append_string(&call->out, "{\"error\":[],\"result\":{\"ledger\":{");
    for (size_t i = 0; i < due; i++) {
        if (i > 0)
            text_append_char(&call->out, ',');
        put_entry(call, ledger_history_tx(&history, begin + (size_t)skip + i));
    }
    text_append_char(&call->out, '}');
    if (query_get_u64(call->query, "without_count", 0) == 0)
        ledger_put_number(call, "count", count);
    text_append_string(&call->out, "}}");
    ledger_history_deinit(&history);
    ledger_finish(call);
}

void ledger_kraken(struct ledger_call *call)
{
    if (!ledger_admit(call, "ledger"))
        return;
    const char *wrong = ledger_error(call, "EAPI:Rate limit exceeded");
    if (wrong == NULL)
        wrong = check_caller(call);
    if (wrong != NULL)
        fail(call, wrong);
    else if (bytes_equal_string(call->path, "/0/private/Ledgers"))
        answer_ledgers(call);
    else
        fail(call, "EGeneral:Unknown method");
}
