/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"
#include "sim/ledger_history.h"
#include "sim/sim.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define BODY_BYTES_MAX 65536
#define JSON_TYPE      "application/json; charset=utf-8"

static const struct provider {
    const char *name;
    enum chain_family family;
    ledger_serve_fn *serve;
} providers[] = {
    {"etherscan", FAMILY_EVM, ledger_explorer},
    {"routescan", FAMILY_EVM, ledger_explorer},
    {"blockscout", FAMILY_EVM, ledger_explorer},
    {"moralis", FAMILY_EVM, ledger_moralis},
    {"alchemy", FAMILY_EVM, ledger_alchemy},
    {"esplora", FAMILY_BITCOIN, ledger_esplora},
    {"blockstream", FAMILY_BITCOIN, ledger_esplora},
    {"mempool", FAMILY_BITCOIN, ledger_esplora},
    {"blockchaincom", FAMILY_BITCOIN, ledger_blockchaincom},
    {"blockcypher", FAMILY_BITCOIN, ledger_blockcypher},
    {"tatum", FAMILY_BITCOIN, ledger_tatum},
    {"solana", FAMILY_SOLANA, ledger_solana},
    {"helius", FAMILY_SOLANA, ledger_solana},
    {"kraken", FAMILY_KRAKEN, ledger_kraken},
    {"coinbase", FAMILY_COINBASE, ledger_coinbase},
    {"subscan", FAMILY_SUBSTRATE, ledger_subscan},
    {"nearblocks", FAMILY_NEAR, ledger_nearblocks},
    {"cosmos", FAMILY_COSMOS, ledger_cosmos},
    {"xrpl", FAMILY_XRP, ledger_xrpl},
    {"blockfrost", FAMILY_CARDANO, ledger_blockfrost},
    {"github", FAMILY_NUMBERED, ledger_github},
    {"madeup", FAMILY_NUMBERED, ledger_madeup},
};

void ledger_init(struct ledger *ledger, const struct chain_options *options, uint32_t window)
{
    *ledger = (struct ledger){.chain = chain_new(options), .window = window, .generation = 1};
    ledger->doc = json_doc_new(BODY_BYTES_MAX, JSON_DEPTH_MAX);
    ledger_keys_init(ledger);
}

void ledger_deinit(struct ledger *ledger)
{
    chain_free(ledger->chain);
    json_doc_free(ledger->doc);
    ledger_keys_deinit(ledger);
}

static const struct provider *find_provider(struct bytes path)
{
    for (size_t i = 0; i < sizeof providers / sizeof providers[0]; i++) {
        size_t len = strlen(providers[i].name);
        if (path.len > len && memcmp(path.data + 1, providers[i].name, len) == 0 &&
            (path.len == len + 1 || path.data[len + 1] == '/'))
            return &providers[i];
    }
    return NULL;
}

/* A body is JSON or a form; a form is read like the parameters of a URL. */
static bool read_body(struct ledger_call *call, const struct http_request *request)
{
    struct err err;
    if (request->body.len == 0)
        return true;
    if (request->body.data[0] != '{' && request->body.data[0] != '[') {
        call->query = request->body;
        return true;
    }
    return json_parse_copy(call->ledger->doc, request->body, &call->body, &err) == RC_OK;
}

void ledger_serve(struct http_exchange *exchange, void *arg)
{
    struct sim *sim = arg;
    const struct http_request *request = http_exchange_request(exchange);
    const struct provider *provider = find_provider(request->path);
    if (provider == NULL)
        return;
    struct ledger_call call = {.exchange = exchange,
                               .sim = sim,
                               .ledger = &sim->ledger,
                               .chain = sim->ledger.chain,
                               .provider = provider->name,
                               .family = provider->family,
                               .query = request->query};
    size_t prefix = strlen(provider->name) + 1;
    call.path = bytes_make(request->path.data + prefix, request->path.len - prefix);
    call.head = chain_head(call.chain);
    if (read_body(&call, request))
        provider->serve(&call);
    else
        http_reply_text(exchange, 400, "the body is no JSON\n");
    text_free(&call.out);
}

static const struct fault *fire(struct ledger_call *call, enum fault_kind kind)
{
    return fault_plan_fire(&call->sim->faults, kind, call->label);
}

static void answer_status(struct ledger_call *call, const struct fault *fault)
{
    char headers[64] = "";
    if (fault->retry_after > 0)
        snprintf(headers, sizeof headers, "Retry-After: %u\r\n", fault->retry_after);
    if (fault->status == 0)
        http_drop(call->exchange);
    else
        http_reply(call->exchange, (int)fault->status, "text/html", headers,
                   bytes_of("<!doctype html><title>planned</title>"));
}

bool ledger_admit(struct ledger_call *call, const char *endpoint)
{
    snprintf(call->label, sizeof call->label, "%s/%s", call->provider, endpoint);
    const struct fault *fault = fire(call, FAULT_LEDGER_INSERT);
    if (fault != NULL)
        chain_mine(call->ledger->chain, (uint32_t)fault->bytes);
    fault = fire(call, FAULT_LEDGER_REORG);
    if (fault != NULL)
        chain_reorganise(call->ledger->chain, (uint32_t)fault->bytes);
    fault = fire(call, FAULT_LEDGER_HTTP);
    if (fault != NULL) {
        answer_status(call, fault);
        return false;
    }
    call->head = chain_head(call->chain);
    fault = fire(call, FAULT_LEDGER_LAG);
    if (fault != NULL) {
        uint32_t first = chain_settings(call->chain)->first_block;
        call->head =
            call->head - first < fault->bytes ? first - 1 : call->head - (uint32_t)fault->bytes;
    }
    call->lies_empty = fire(call, FAULT_LEDGER_EMPTY) != NULL;
    call->partial = fire(call, FAULT_LEDGER_PARTIAL) != NULL;
    call->renumbers = fire(call, FAULT_LEDGER_TRACE) != NULL;
    call->withheld = strcmp(endpoint, "detail") == 0 && fire(call, FAULT_LEDGER_NULL) != NULL;
    return true;
}

const char *ledger_error(struct ledger_call *call, const char *usual)
{
    const struct fault *fault = fire(call, FAULT_LEDGER_ERROR);
    if (fault == NULL)
        return NULL;
    return fault->error[0] != '\0' ? fault->error : usual;
}

bool ledger_answers_error(struct ledger_call *call, const char *before, const char *after)
{
    const char *error = ledger_error(call, "rate limit exceeded");
    if (error == NULL)
        return false;
    text_appendf(&call->out, "%s%s%s", before, error, after);
    ledger_finish(call);
    return true;
}

void ledger_finish_with(struct ledger_call *call, const char *headers)
{
    struct bytes body = text_bytes(&call->out);
    const struct fault *stall = fire(call, FAULT_LEDGER_STALL);
    if (fire(call, FAULT_LEDGER_TRUNCATE) != NULL)
        body.len /= 2;
    if (stall != NULL)
        peer_stall(http_exchange_peer(call->exchange), stall->ms);
    http_reply(call->exchange, 200, JSON_TYPE, headers, body);
}

void ledger_finish(struct ledger_call *call)
{
    ledger_finish_with(call, NULL);
}

void ledger_refuse(struct ledger_call *call, int status, const char *json)
{
    http_reply(call->exchange, status, JSON_TYPE, NULL, bytes_of(json));
}

bool ledger_key_is_good(struct bytes key)
{
    return key.len > 0 && !bytes_equal_string(key, "wrong");
}

struct bytes ledger_part(const struct ledger_call *call, unsigned n)
{
    const char *at = call->path.data, *end = at + call->path.len;
    for (; at < end; n--) {
        const char *next = memchr(at + 1, '/', (size_t)(end - at - 1));
        if (next == NULL)
            next = end;
        if (n == 0)
            return bytes_make(at + 1, (size_t)(next - at - 1));
        at = next;
    }
    return BYTES_ABSENT;
}

uint32_t ledger_account(const struct ledger_call *call, struct bytes address)
{
    return chain_find_address(call->chain, call->family, address);
}

struct chain_list ledger_list(const struct ledger_call *call, uint32_t account,
                              enum chain_stream stream)
{
    if (account == CHAIN_NONE || call->lies_empty)
        return (struct chain_list){NULL, 0};
    struct chain_list list = chain_list(call->chain, account, stream);
    list.count = chain_list_find(call->chain, list, (uint64_t)call->head + 1);
    return list;
}

size_t ledger_page(const struct ledger_call *call, size_t due)
{
    return call->partial ? due / 2 : due;
}

static uint32_t check_of(const struct ledger_call *call, uint32_t bound, unsigned long long place)
{
    char text[160];
    int len = snprintf(text, sizeof text, "%s/%u/%llu", call->label, bound, place);
    return (uint32_t)hash_bytes(bytes_make(text, (size_t)len), 0);
}

/* Tokens live until they are expired by hand or the chain is reorganised. */
static uint32_t epoch_of(const struct ledger_call *call)
{
    return call->ledger->generation * 65536u + chain_forks(call->chain);
}

void ledger_token_write(const struct ledger_call *call, size_t place, uint32_t bound, char out[40])
{
    snprintf(out, 40, "%08x%08x%08x%08x", check_of(call, bound, place), epoch_of(call),
             (uint32_t)place, call->head);
}

static bool read_word(struct bytes token, unsigned n, uint32_t *out)
{
    *out = 0;
    for (unsigned i = 8 * n; i < 8 * n + 8; i++) {
        const char *digits = "0123456789abcdef", *found = strchr(digits, token.data[i]);
        if (found == NULL || *found == '\0')
            return false;
        *out = *out << 4 | (uint32_t)(found - digits);
    }
    return true;
}

bool ledger_marker_expired(struct ledger_call *call, struct json marker)
{
    return json_type(marker) == JSON_OBJECT && fire(call, FAULT_LEDGER_EXPIRE) != NULL;
}

bool ledger_token_read(struct ledger_call *call, struct bytes token, uint32_t bound, size_t *place)
{
    uint32_t check, epoch, at, head;
    if (fire(call, FAULT_LEDGER_EXPIRE) != NULL || token.len != 32)
        return false;
    if (!read_word(token, 0, &check) || !read_word(token, 1, &epoch) || !read_word(token, 2, &at) ||
        !read_word(token, 3, &head))
        return false;
    if (check != check_of(call, bound, at) || epoch != epoch_of(call))
        return false;
    if (call->head > head)
        call->head = head;
    *place = at;
    return true;
}
