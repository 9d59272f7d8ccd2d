/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/gate.h"

#include "base/uuid.h"
#include "serve/rate_limit.h"
#include "serve/visitor.h"
#include "sys/log.h"

#include <microhttpd.h>

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#define NETWORK_SIZE 8 /* of an IPv6 address: a whole network of these is one client */

struct gate {
    const struct gate_options *options;
    struct tokens *tokens; /* NULL: nobody is asked for one */
    struct runtime *runtime;
    struct rate_limit *addresses, *bearers;
};

static struct rate_limit *new_limit(unsigned per_second, unsigned burst_s, uint64_t seed)
{
    return rate_limit_new(per_second, per_second * (burst_s == 0 ? 1 : burst_s), seed);
}

struct gate *gate_new(const struct gate_options *options, struct tokens *tokens,
                      struct runtime *runtime)
{
    struct gate *gate = memory_new_zeroed(1, sizeof *gate);
    gate->options = options;
    gate->tokens = tokens;
    gate->runtime = runtime;
    gate->addresses =
        new_limit(options->address_rate, options->burst_s, runtime->ops->random(runtime));
    gate->bearers = new_limit(options->token_rate, options->burst_s, runtime->ops->random(runtime));
    return gate;
}

void gate_free(struct gate *gate)
{
    rate_limit_free(gate->addresses);
    rate_limit_free(gate->bearers);
    free(gate->tokens);
    free(gate);
}

void gate_set_tokens(struct gate *gate, struct tokens *tokens)
{
    assert(tokens != NULL);
    free(gate->tokens);
    gate->tokens = tokens;
}

/* ---- where it was meant to go, and from which page ---- */

static const char *listed_origin(const struct gate *gate, const char *origin)
{
    const struct config_list *list = &gate->options->cors_origins;
    for (size_t i = 0; origin != NULL && i < list->count; i++)
        if (strcasecmp(origin, list->items[i]) == 0)
            return list->items[i];
    return NULL;
}

/* A client that sends no Host is no browser. A websocket may do what a post may. */
static void check_visitor(struct gate *gate, struct request *request, const char *method,
                          bool local)
{
    const char *host = request_host(request), *origin = request_header(request, "Origin");
    bool reads = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
    request->cors = gate->options->cors_origins.count > 0;
    request->cors_origin = listed_origin(gate, origin);
    if (local && host != NULL && !visitor_means_loopback(host))
        request_refuse(request, REFUSAL_FORBIDDEN,
                       "the Host header names %.80s, and this address is loopback: use localhost "
                       "or 127.0.0.1; a proxy has to send one of these",
                       host);
    else if ((!reads || request_header(request, "Upgrade") != NULL) &&
             request->cors_origin == NULL &&
             !visitor_may_write(host, origin, request_header(request, "Sec-Fetch-Site")))
        request_refuse(request, REFUSAL_FORBIDDEN,
                       "a page of another origin may not do this: serve.cors_origins does not "
                       "name %.80s",
                       origin);
}

/* A browser asks first whether a page of another origin may ask; nobody is told apart yet. */
static void answer_preflight(struct request *request, const char *method)
{
    if (strcmp(method, "OPTIONS") != 0 || request->cors_origin == NULL ||
        request_header(request, "Access-Control-Request-Method") == NULL)
        return;
    request->preflight = true;
    request_send(request, 204, NULL);
}

/* ---- how often ---- */

static void refuse_for_now(struct request *request, int64_t wait_us, const char *who)
{
    request->retry_after_s = (unsigned)((wait_us + 999999) / 1000000);
    request_refuse(request, REFUSAL_QUOTA_EXCEEDED, "%s asks too often: wait %u s", who,
                   request->retry_after_s);
}

/* What counts as one client: an IPv4 address, or the network an IPv6 address is of. */
static struct bytes client_of(const struct sockaddr *address, bool *loopback)
{
    const struct sockaddr_in *v4 = (const void *)address;
    const struct sockaddr_in6 *v6 = (const void *)address;
    *loopback = true;
    if (address == NULL)
        return BYTES_ABSENT;
    if (address->sa_family == AF_INET) {
        *loopback = ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
        return bytes_make(&v4->sin_addr, sizeof v4->sin_addr);
    }
    assert(address->sa_family == AF_INET6);
    const uint8_t *octets = v6->sin6_addr.s6_addr;
    *loopback = IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
    if (!IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
        return bytes_make(octets, NETWORK_SIZE);
    *loopback = octets[12] == IN_LOOPBACKNET;
    return bytes_make(octets + 12, 4);
}

static const struct sockaddr *address_of(const struct request *request)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return info == NULL ? NULL : info->client_addr;
}

static void note_address(struct gate *gate, struct request *request)
{
    bool loopback;
    struct bytes client = client_of(address_of(request), &loopback);
    struct visitor_id *visitor = &request->visitor;
    if (client.len == 0 || (loopback && !gate->options->limit_loopback))
        return;
    assert(client.len <= sizeof visitor->address);
    memcpy(visitor->address, client.data, client.len);
    visitor->address_len = client.len;
}

static void limit_address(struct gate *gate, struct request *request)
{
    const struct visitor_id *visitor = &request->visitor;
    int64_t now_us = gate->runtime->ops->mono_us(gate->runtime);
    if (visitor->address_len == 0)
        return;
    int64_t wait_us = rate_limit_take(gate->addresses,
                                      bytes_make(visitor->address, visitor->address_len), now_us);
    if (wait_us > 0)
        refuse_for_now(request, wait_us, "this address");
}

static void limit_bearer(struct gate *gate, struct request *request)
{
    int64_t wait_us =
        rate_limit_take(gate->bearers, bytes_make(request->visitor.token, DIGEST_SIZE),
                        gate->runtime->ops->mono_us(gate->runtime));
    if (wait_us > 0)
        refuse_for_now(request, wait_us, "this token");
}

/* ---- whose token ---- */

/* For whoever watches the log for somebody who tries tokens out. */
static void say_stranger(const struct request *request)
{
    const struct sockaddr *address = address_of(request);
    char name[INET6_ADDRSTRLEN] = "";
    if (address != NULL)
        inet_ntop(address->sa_family,
                  address->sa_family == AF_INET
                      ? (const void *)&((const struct sockaddr_in *)(const void *)address)->sin_addr
                      : &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr,
                  name, sizeof name);
    log_event_limited(LOG_WARN, "serve", "token_refused",
                      (struct log_field[]){log_string("address", name), LOG_END});
}

/* The token of "Bearer TOKEN", or absent. */
static struct bytes bearer_of(const char *authorization)
{
    const size_t scheme = strlen("Bearer");
    if (strncasecmp(authorization, "Bearer", scheme) != 0 || authorization[scheme] != ' ')
        return BYTES_ABSENT;
    const char *token = authorization + scheme + strspn(authorization + scheme, " ");
    return bytes_make(token, strcspn(token, " "));
}

/* The session of who named none: nobody can tell the token by it. */
static void derive_session(struct request *request, const struct token *token)
{
    uint8_t digest[DIGEST_SIZE];
    digest_sha256(bytes_make(token->digest, DIGEST_SIZE), digest);
    memcpy(request->session, digest, HANDLE_SESSION_SIZE);
}

static void take_token(struct gate *gate, struct request *request, struct bytes presented)
{
    const struct token *token = presented.len == 0 ? NULL : tokens_find(gate->tokens, presented);
    if (token == NULL) {
        say_stranger(request);
        request->challenge = "Bearer error=\"invalid_token\"";
        request_refuse(request, REFUSAL_UNAUTHORIZED,
                       presented.len == 0 ? "Authorization has to be `Bearer TOKEN`"
                                          : "this token is not known here");
        return;
    }
    request->visitor.bearer = true;
    memcpy(request->visitor.token, token->digest, DIGEST_SIZE);
    request->scopes |= token->scopes;
    derive_session(request, token);
    limit_bearer(gate, request);
}

static unsigned scopes_without_token(const struct gate *gate, bool local)
{
    if (gate->tokens == NULL)
        return local ? SCOPE_READ | SCOPE_WRITE : 0;
    return local && !gate->options->reads_need_token ? SCOPE_READ : 0;
}

static void identify(struct gate *gate, struct request *request, bool local)
{
    const char *authorization = request_header(request, "Authorization");
    struct bytes offered = BYTES_ABSENT;
    if (request_names(request, "Upgrade", "websocket"))
        offered = visitor_offered_token(request_header(request, "Sec-WebSocket-Protocol"));
    note_address(gate, request);
    limit_address(gate, request);
    if (request->answered)
        return;
    if (gate->tokens == NULL || (authorization == NULL && offered.data == NULL))
        request->scopes |= scopes_without_token(gate, local);
    else
        take_token(gate, request, authorization == NULL ? offered : bearer_of(authorization));
}

static void read_session(struct request *request)
{
    const char *value = request_header(request, "Tidemark-Session");
    if (value != NULL && !uuid_parse(bytes_of(value), request->session))
        request_refuse(request, REFUSAL_BAD_REQUEST, "Tidemark-Session has 32 hexadecimal digits");
}

void gate_enter(struct gate *gate, struct request *request, const char *method, bool local)
{
    request->scopes = SCOPE_ANYONE;
    if (request->from != LISTENER_SOCKET)
        check_visitor(gate, request, method, local);
    if (!request->answered)
        answer_preflight(request, method);
    if (request->answered)
        return;
    if (request->from == LISTENER_SOCKET)
        request->scopes |= SCOPE_READ | SCOPE_WRITE | SCOPE_ADMIN;
    else if (request->from == LISTENER_HEALTH)
        request->scopes |= SCOPE_READ;
    else
        identify(gate, request, local);
    if (!request->answered)
        read_session(request);
}

bool gate_knows(const struct gate *gate, const struct visitor_id *visitor)
{
    if (!visitor->bearer)
        return true;
    const struct token *token = tokens_find_digest(gate->tokens, visitor->token);
    return token != NULL && (token->scopes & SCOPE_READ) != 0;
}

void gate_again(struct gate *gate, struct request *request)
{
    limit_address(gate, request);
    if (request->answered || !request->visitor.bearer)
        return;
    const struct token *token = tokens_find_digest(gate->tokens, request->visitor.token);
    if (token == NULL) {
        request_refuse(request, REFUSAL_UNAUTHORIZED, "this token is no longer known here");
        return;
    }
    request->scopes = SCOPE_ANYONE | token->scopes;
    limit_bearer(gate, request);
}

/* ---- for what ---- */

void gate_pass(struct request *request)
{
    unsigned wanted = request->route->scope;
    char words[SCOPES_TEXT_MAX], has[SCOPES_TEXT_MAX];
    assert(wanted != 0);
    if ((request->scopes & wanted) != 0)
        return;
    scopes_print(wanted, words);
    scopes_print(request->scopes, has);
    if (request->visitor.bearer) {
        request_refuse(request, REFUSAL_FORBIDDEN, "this needs the scope %s, and the token has %s",
                       words, has);
        return;
    }
    request->challenge = "Bearer";
    request_refuse(request, REFUSAL_UNAUTHORIZED,
                   "this needs a token with the scope %s: send `Authorization: Bearer TOKEN`; the "
                   "operator makes one with `tidemark token`",
                   words);
}
