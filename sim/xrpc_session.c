/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/xrpc_session.h"
#include "base/digest.h"
#include "base/json.h"
#include "sim/xrpc.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define REFRESH_SECONDS (90LL * 86400)
#define BODY_BYTES_MAX  65536u
#define SIGNATURE_LEN   32

enum scope { SCOPE_ACCESS, SCOPE_REFRESH };

static const char *const scope_names[] = {"com.atproto.access", "com.atproto.refresh"};

struct token {
    enum scope scope;
    uint32_t account;
    int64_t number, expires;
};

static void put_base64url(struct text *out, struct bytes input)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    for (size_t i = 0; i < input.len; i += 3) {
        uint32_t bits = 0;
        for (size_t j = 0; j < 3; j++)
            bits = bits << 8 | (i + j < input.len ? (unsigned char)input.data[i + j] : 0u);
        for (size_t j = 0; j < 4 && i + j <= input.len; j++)
            text_append_char(out, letters[bits >> (18 - 6 * j) & 63]);
    }
}

/* What stands where a JWT has its signature; enough to tell ours from any other. */
static void put_signature(struct text *out, const struct token *token)
{
    struct text words = {0};
    uint8_t digest[DIGEST_SIZE];
    char hex[DIGEST_HEX_SIZE];
    text_appendf(&words, "%d %u %lld %lld", token->scope, token->account, (long long)token->number,
                 (long long)token->expires);
    digest_sha256(text_bytes(&words), digest);
    digest_hex(digest, hex);
    text_append(out, hex, SIGNATURE_LEN);
    text_free(&words);
}

/* A JWT in shape; the last part carries what has to be known when it comes back. */
static void put_token(struct text *out, const struct sim *sim, const struct token *token)
{
    struct text payload = {0};
    text_appendf(&payload, "{\"scope\":\"%s\",\"sub\":\"%s\",\"iat\":%lld,\"exp\":%lld}",
                 scope_names[token->scope], world_account(sim->world, token->account)->did,
                 (long long)time(NULL), (long long)token->expires);
    put_base64url(out, bytes_of("{\"typ\":\"at+jwt\",\"alg\":\"ES256K\"}"));
    text_append_char(out, '.');
    put_base64url(out, text_bytes(&payload));
    text_appendf(out, ".%d-%u-%lld-%lld-", token->scope, token->account, (long long)token->number,
                 (long long)token->expires);
    put_signature(out, token);
    text_free(&payload);
}

static bool take_number(struct bytes *rest, int64_t *out)
{
    const char *dash = rest->len == 0 ? NULL : memchr(rest->data, '-', rest->len);
    if (dash == NULL)
        return false;
    size_t len = (size_t)(dash - rest->data);
    bool good = bytes_to_i64(bytes_make(rest->data, len), out);
    *rest = bytes_make(dash + 1, rest->len - len - 1);
    return good;
}

static bool read_token(struct bytes words, const struct sim *sim, struct token *token)
{
    struct text signature = {0};
    const char *dot = words.len == 0 ? NULL : memrchr(words.data, '.', words.len);
    int64_t scope, account;
    if (dot == NULL)
        return false;
    struct bytes rest = bytes_make(dot + 1, words.len - (size_t)(dot + 1 - words.data));
    if (!take_number(&rest, &scope) || !take_number(&rest, &account) ||
        !take_number(&rest, &token->number) || !take_number(&rest, &token->expires) ||
        account < 0 || account >= world_settings(sim->world)->accounts)
        return false;
    token->scope = scope == SCOPE_ACCESS ? SCOPE_ACCESS : SCOPE_REFRESH;
    token->account = (uint32_t)account;
    put_signature(&signature, token);
    bool same = bytes_equal(rest, text_bytes(&signature));
    text_free(&signature);
    return same;
}

/* What the request carries after "Bearer "; absent without it. */
static struct bytes bearer(const struct http_exchange *exchange)
{
    struct bytes value = http_request_header(http_exchange_request(exchange), "Authorization");
    size_t prefix = strlen("Bearer ");
    if (!bytes_starts_with(value, "Bearer "))
        return BYTES_ABSENT;
    return bytes_make(value.data + prefix, value.len - prefix);
}

/* Checks the token that came with the call; false when it was refused, which has been answered. */
static bool check_token(struct xrpc *call, enum scope scope, struct token *token)
{
    struct bytes words = bearer(call->exchange);
    if (words.data == NULL)
        xrpc_fail(call, 401, "AuthMissing", "Authentication Required");
    else if (!read_token(words, call->sim, token))
        xrpc_fail(call, 400, "InvalidToken", "Token could not be verified");
    else if (token->scope != scope)
        xrpc_fail(call, 400, "InvalidToken", "Bad token scope");
    else if (token->expires <= time(NULL)) {
        call->sim->sessions.expired++;
        xrpc_fail(call, 400, "ExpiredToken", "Token has expired");
    } else
        return true;
    return false;
}

bool xrpc_session_admits(struct xrpc *call)
{
    struct token token;
    if (strncmp(call->method, "app.bsky.", 9) != 0)
        return true;
    if (!call->sim->options.require_auth && bearer(call->exchange).data == NULL)
        return true;
    return check_token(call, SCOPE_ACCESS, &token);
}

static void answer_session(struct xrpc *call, uint32_t account)
{
    struct sim *sim = call->sim;
    char handle[NAME_SIZE];
    struct token token = {.account = account, .number = ++sim->sessions.issued};
    world_handle(sim->world, account, world_account(sim->world, account)->renamed, handle);
    text_appendf(&call->body, "{\"did\":\"%s\",\"handle\":\"%s\",\"accessJwt\":\"",
                 world_account(sim->world, account)->did, handle);
    token.scope = SCOPE_ACCESS;
    token.expires = time(NULL) + (int64_t)sim->options.token_seconds;
    put_token(&call->body, sim, &token);
    text_append_string(&call->body, "\",\"refreshJwt\":\"");
    token.scope = SCOPE_REFRESH;
    token.expires = time(NULL) + REFRESH_SECONDS;
    put_token(&call->body, sim, &token);
    text_append_string(&call->body, "\",\"active\":true}");
    xrpc_finish(call);
}

void xrpc_create_session(struct http_exchange *exchange, void *arg)
{
    struct xrpc call;
    struct json root;
    if (!xrpc_begin(&call, exchange, arg))
        return;
    struct json_doc *doc = json_doc_new(BODY_BYTES_MAX, JSON_DEPTH_MAX);
    struct bytes body = http_exchange_request(exchange)->body;
    if (json_parse_copy(doc, body, &root, NULL) != RC_OK) {
        xrpc_fail(&call, 400, "InvalidRequest", "Request body must be JSON");
    } else {
        struct bytes who = json_string_or_absent(json_get(root, "identifier"));
        struct bytes password = json_string_or_absent(json_get(root, "password"));
        uint32_t account = xrpc_find_actor(call.sim->world, who);
        if (account == WORLD_NONE || !bytes_equal_string(password, call.sim->options.password)) {
            xrpc_fail(&call, 401, "AuthenticationRequired", "Invalid identifier or password");
        } else {
            call.sim->sessions.created++;
            answer_session(&call, account);
        }
    }
    json_doc_free(doc);
}

/* Each refresh token is good for one refresh. */
static bool use_up(struct sim_sessions *sessions, int64_t number)
{
    size_t at = (size_t)number;
    if (at >= sessions->used_cap) {
        size_t cap = at * 2 + 64;
        sessions->used = memory_resize(sessions->used, cap);
        memset(sessions->used + sessions->used_cap, 0, cap - sessions->used_cap);
        sessions->used_cap = cap;
    }
    if (sessions->used[at])
        return false;
    sessions->used[at] = true;
    return true;
}

void xrpc_refresh_session(struct http_exchange *exchange, void *arg)
{
    struct xrpc call;
    struct token token;
    if (!xrpc_begin(&call, exchange, arg) || !check_token(&call, SCOPE_REFRESH, &token))
        return;
    if (!use_up(&call.sim->sessions, token.number)) {
        xrpc_fail(&call, 400, "ExpiredToken", "Token has been revoked");
        return;
    }
    call.sim->sessions.refreshed++;
    answer_session(&call, token.account);
}
