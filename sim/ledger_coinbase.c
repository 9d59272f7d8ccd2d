/* SPDX-License-Identifier: Apache-2.0
 *
 * Coinbase: wallets and their transactions for who shows a token signed with ES256. The first
 * wallet is that of account 0, the second one is empty. */
#include "base/json_write.h"
#include "sim/ledger_history.h"
#include "sim/query_string.h"
#include "sim/sim.h"

#include <assert.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define WALLET_0      "2bbf394c-193b-5b2a-9155-3b4732659ede"
#define WALLET_1      "8f1c2b7a-55aa-5c11-8d7e-000000000001"
#define LIMIT_DEFAULT 25u
#define LIMIT_MAX     100u
#define LIFE_SECONDS  120

static void fail(struct ledger_call *call, int status, const char *id)
{
    text_clear(&call->out);
    text_appendf(&call->out, "{\"errors\":[{\"id\":\"%s\",\"message\":\"%s\"}]}", id, id);
    ledger_refuse(call, status, text_string(&call->out));
}

/* Appends what base64 in its form for URLs stands for; false when it is none. */
static bool read_base64url(struct bytes text, struct text *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    unsigned held = 0, bits = 0;
    for (size_t i = 0; i < text.len; i++) {
        const char *found = memchr(digits, text.data[i], 64);
        if (found == NULL)
            return false;
        held = held << 6 | (unsigned)(found - digits);
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            text_append_char(out, (char)(held >> bits & 255));
        }
    }
    return true;
}

/* `signature`: r and s, 32 bytes each. */
static bool signature_is_good(EVP_PKEY *key, struct bytes input, struct bytes signature)
{
    if (signature.len != 64)
        return false;
    const unsigned char *raw = (const unsigned char *)signature.data;
    ECDSA_SIG *pair = ECDSA_SIG_new();
    unsigned char *der = NULL;
    ECDSA_SIG_set0(pair, BN_bin2bn(raw, 32, NULL), BN_bin2bn(raw + 32, 32, NULL));
    int der_len = i2d_ECDSA_SIG(pair, &der);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool good = EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, key) == 1 &&
                EVP_DigestVerify(context, der, (size_t)der_len, (const unsigned char *)input.data,
                                 input.len) == 1;
    EVP_MD_CTX_free(context);
    OPENSSL_free(der);
    ECDSA_SIG_free(pair);
    return good;
}

static bool says(struct json object, const char *key, const char *value)
{
    return bytes_equal_string(json_string_or_absent(json_get(object, key)), value);
}

/* "GET host/path" of this very request. */
static bool names_request(const struct ledger_call *call, struct bytes uri)
{
    const struct http_request *request = http_exchange_request(call->exchange);
    size_t method = request->method.len;
    return uri.len > method + call->path.len && uri.data[method] == ' ' &&
           memcmp(uri.data, request->method.data, method) == 0 &&
           memcmp(uri.data + uri.len - call->path.len, call->path.data, call->path.len) == 0;
}

static bool claims_are_good(struct ledger_call *call, struct bytes header, struct bytes payload)
{
    struct json root;
    struct err err;
    int64_t expires = 0, begins = 0, now = (int64_t)time(NULL);
    if (json_parse_copy(call->ledger->doc, header, &root, &err) != RC_OK ||
        !says(root, "alg", "ES256") || !says(root, "kid", LEDGER_COINBASE_KEY) ||
        json_string_or_absent(json_get(root, "nonce")).len == 0)
        return false;
    if (json_parse_copy(call->ledger->doc, payload, &root, &err) != RC_OK)
        return false;
    return says(root, "sub", LEDGER_COINBASE_KEY) && json_i64(json_get(root, "exp"), &expires) &&
           json_i64(json_get(root, "nbf"), &begins) && expires > now &&
           expires <= begins + LIFE_SECONDS && begins <= now + LIFE_SECONDS &&
           names_request(call, json_string_or_absent(json_get(root, "uri")));
}

/* "Bearer header.payload.signature" */
static bool caller_is_known(struct ledger_call *call)
{
    struct bytes token =
        http_request_header(http_exchange_request(call->exchange), "Authorization");
    struct text parts[3] = {{0}, {0}, {0}};
    if (!bytes_starts_with(token, "Bearer "))
        return false;
    token = bytes_make(token.data + 7, token.len - 7);
    const char *first = memchr(token.data, '.', token.len);
    const char *last = memrchr(token.data, '.', token.len);
    if (first == NULL || last == first)
        return false;
    const char *end = token.data + token.len;
    bool good = read_base64url(bytes_make(token.data, (size_t)(first - token.data)), &parts[0]) &&
                read_base64url(bytes_make(first + 1, (size_t)(last - first - 1)), &parts[1]) &&
                read_base64url(bytes_make(last + 1, (size_t)(end - last - 1)), &parts[2]) &&
                signature_is_good(call->ledger->signing_key,
                                  bytes_make(token.data, (size_t)(last - token.data)),
                                  text_bytes(&parts[2])) &&
                claims_are_good(call, text_bytes(&parts[0]), text_bytes(&parts[1]));
    for (unsigned i = 0; i < 3; i++)
        text_free(&parts[i]);
    return good;
}

static void answer_wallets(struct ledger_call *call)
{
    text_appendf(&call->out,
                 "{\"pagination\":{\"ending_before\":null,\"starting_after\":null,\"limit\":100,"
                 "\"order\":\"desc\",\"next_starting_after\":null,\"next_uri\":null},\"data\":["
                 "{\"id\":\"%s\",\"name\":\"BTC Wallet\",\"type\":\"wallet\",\"currency\":"
                 "{\"code\":\"BTC\"}},{\"id\":\"%s\",\"name\":\"ETH Wallet\",\"type\":\"wallet\","
                 "\"currency\":{\"code\":\"ETH\"}}]}",
                 WALLET_0, WALLET_1);
    ledger_finish(call);
}

static void put_tx(struct ledger_call *call, const struct chain_tx *tx)
{
    uint64_t coins = ledger_coins(tx);
    bool spent = tx->from == 0;
    text_appendf(&call->out,
                 "{\"type\":\"send\",\"status\":\"completed\",\"amount\":{\"amount\":"
                 "\"%s%llu.%08llu\",\"currency\":\"BTC\"}",
                 spent ? "-" : "", (unsigned long long)(coins / 100000000),
                 (unsigned long long)(coins % 100000000));
    ledger_put_hash(call, "id", tx->id);
    ledger_put_time(call, "created_at", tx->block);
    text_append_string(&call->out, ",\"network\":{\"status\":\"confirmed\"");
    ledger_put_hash(call, "hash", tx->id);
    text_append_string(&call->out, "},\"to\":{\"resource\":\"address\"");
    ledger_put_address(call, "address", tx->to);
    text_append_string(&call->out, "}}");
}

/* The place behind the transaction that `starting_after` names, in the order asked for. */
static bool read_place(const struct ledger_call *call, const struct ledger_history *history,
                       bool ascending, size_t *place)
{
    char name[64] = "";
    query_get(call->query, "starting_after", name, sizeof name);
    *place = 0;
    if (name[0] == '\0')
        return true;
    if (!ledger_history_after(history, bytes_of(name), place))
        return false;
    if (ascending)
        *place = history->count - *place + 1;
    return true;
}

static void answer_transactions(struct ledger_call *call, struct bytes wallet)
{
    bool known = bytes_equal_string(wallet, WALLET_0);
    char order[8] = "desc";
    size_t place;
    uint64_t limit = query_get_u64(call->query, "limit", LIMIT_DEFAULT);
    query_get(call->query, "order", order, sizeof order);
    bool ascending = strcmp(order, "asc") == 0;
    struct ledger_history history = ledger_history(call, known ? 0 : CHAIN_NONE, false);
    if (!read_place(call, &history, ascending, &place) || limit == 0 || limit > LIMIT_MAX) {
        fail(call, 400, "invalid_request");
        ledger_history_deinit(&history);
        return;
    }
    size_t end = ledger_history_end(&history, place, limit);
    text_append_string(&call->out, "{\"data\":[");
    const struct chain_tx *last = NULL;
    for (size_t i = place; i < end; i++) {
        if (i > place)
            text_append_char(&call->out, ',');
        last = ledger_history_tx(&history, ascending ? history.count - 1 - i : i);
        put_tx(call, last);
    }
    text_appendf(&call->out, "],\"pagination\":{\"limit\":%u,\"order\":\"%s\"", (unsigned)limit,
                 order);
    if (end < history.count && last != NULL) {
        char name[CHAIN_NAME_SIZE], uri[320];
        chain_tx_name(call->chain, call->family, last->id, name);
        snprintf(uri, sizeof uri,
                 "/v2/accounts/%.*s/transactions?limit=%u&order=%s&starting_after=%s",
                 (int)wallet.len, wallet.data, (unsigned)limit, order, name);
        ledger_put_text(call, "next_starting_after", name);
        ledger_put_text(call, "next_uri", uri);
    } else {
        text_append_string(&call->out, ",\"next_starting_after\":null,\"next_uri\":null");
    }
    text_append_string(&call->out, "}}");
    ledger_history_deinit(&history);
    ledger_finish(call);
}

void ledger_coinbase(struct ledger_call *call)
{
    struct bytes wallet = ledger_part_after(call, "accounts");
    bool list = bytes_equal_string(ledger_part(call, 3), "transactions");
    if (!ledger_admit(call, list ? "transactions" : "accounts"))
        return;
    if (ledger_answers_error(call, "{\"errors\":[{\"id\":\"rate_limit_exceeded\",\"message\":\"",
                             "\"}]}"))
        return;
    if (!caller_is_known(call))
        fail(call, 401, "authentication_error");
    else if (list)
        answer_transactions(call, wallet);
    else if (bytes_equal_string(ledger_part(call, 1), "accounts") && wallet.data == NULL)
        answer_wallets(call);
    else
        fail(call, 404, "not_found");
}

static void put_pair(struct json_writer *writer, const char *key, struct bytes secret)
{
    json_begin_object(writer);
    json_key(writer, "key");
    json_put_cstring(writer, key);
    json_key(writer, "secret");
    json_put_string(writer, secret);
    json_end_object(writer);
}

void ledger_keys_init(struct ledger *ledger)
{
    ledger->signing_key = EVP_EC_gen("P-256");
    assert(ledger->signing_key != NULL);
}

void ledger_keys_deinit(struct ledger *ledger)
{
    EVP_PKEY_free(ledger->signing_key);
}

void control_ledger_keys(struct http_exchange *exchange, void *arg)
{
    struct sim *sim = arg;
    struct text body = {0};
    struct json_writer writer;
    char *pem;
    BIO *bio = BIO_new(BIO_s_mem());
    PEM_write_bio_PrivateKey(bio, sim->ledger.signing_key, NULL, NULL, 0, NULL, NULL);
    long pem_len = BIO_get_mem_data(bio, &pem);
    json_writer_init(&writer, &body);
    json_begin_object(&writer);
    json_key(&writer, "kraken");
    put_pair(&writer, LEDGER_KRAKEN_KEY, bytes_of(LEDGER_KRAKEN_SECRET));
    json_key(&writer, "coinbase");
    put_pair(&writer, LEDGER_COINBASE_KEY, bytes_make(pem, (size_t)pem_len));
    json_end_object(&writer);
    http_reply(exchange, 200, "application/json", NULL, text_bytes(&body));
    text_free(&body);
    BIO_free(bio);
}
