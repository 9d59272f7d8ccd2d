/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/xrpc.h"
#include "sim/event_json.h"
#include "sim/query_string.h"
#include "sim/xrpc_session.h"

#include <stdlib.h>
#include <string.h>

#define PATH_PREFIX "/xrpc/"
#define JSON_TYPE   "application/json; charset=utf-8"

/* What a server says with this status when it has no other name for it. */
static const char *usual_error(unsigned status)
{
    switch (status) {
    case 400:
        return "InvalidRequest";
    case 401:
        return "ExpiredToken";
    case 403:
        return "Forbidden";
    case 404:
        return "NotFound";
    case 410:
        return "Gone";
    case 429:
        return "RateLimitExceeded";
    case 503:
        return "ServiceUnavailable";
    default:
        return "InternalServerError";
    }
}

static bool answer_fault(struct xrpc *call)
{
    const struct fault *fault = fault_plan_fire(&call->sim->faults, FAULT_HTTP, call->method);
    struct text headers = {0}, body = {0};
    if (fault == NULL)
        return false;
    if (fault->retry_after > 0)
        text_appendf(&headers, "Retry-After: %u\r\n", fault->retry_after);
    text_appendf(&body, "{\"error\":\"%s\",\"message\":\"planned\"}",
                 fault->error[0] != '\0' ? fault->error : usual_error(fault->status));
    if (fault->status == 0)
        http_drop(call->exchange);
    else if (fault->status == 200)
        http_reply(call->exchange, 200, "text/html", text_string(&headers),
                   bytes_of("<!doctype html><title>maintenance</title>"));
    else
        http_reply(call->exchange, (int)fault->status, JSON_TYPE, text_string(&headers),
                   text_bytes(&body));
    text_free(&headers);
    text_free(&body);
    return true;
}

bool xrpc_begin(struct xrpc *call, struct http_exchange *exchange, void *arg)
{
    const struct http_request *request = http_exchange_request(exchange);
    size_t prefix = strlen(PATH_PREFIX);
    *call = (struct xrpc){.exchange = exchange, .sim = arg, .query = request->query};
    size_t len = request->path.len - prefix;
    memcpy(call->method, request->path.data + prefix,
           len < sizeof call->method ? len : sizeof call->method - 1);
    return !answer_fault(call) && xrpc_session_admits(call);
}

void xrpc_finish(struct xrpc *call)
{
    struct bytes body = text_bytes(&call->body);
    const struct fault *stall = fault_plan_fire(&call->sim->faults, FAULT_HTTP_STALL, call->method);
    if (fault_plan_fire(&call->sim->faults, FAULT_HTTP_TRUNCATE, call->method) != NULL)
        body.len /= 2;
    if (stall != NULL)
        peer_stall(http_exchange_peer(call->exchange), stall->ms);
    http_reply(call->exchange, 200, JSON_TYPE, NULL, body);
    text_free(&call->body);
}

void xrpc_fail(struct xrpc *call, int status, const char *error, const char *format, ...)
{
    struct text message = {0};
    va_list args;
    va_start(args, format);
    text_vappendf(&message, format, args);
    va_end(args);
    text_clear(&call->body);
    text_appendf(&call->body, "{\"error\":\"%s\",\"message\":", error);
    event_json_string(&call->body, bytes_make(text_string(&message), message.len));
    text_append_char(&call->body, '}');
    http_reply(call->exchange, status, JSON_TYPE, NULL, text_bytes(&call->body));
    text_free(&call->body);
    text_free(&message);
}

bool xrpc_read_limit(struct xrpc *call, unsigned *limit)
{
    char value[32];
    int64_t number;
    *limit = 50;
    if (!query_get(call->query, "limit", value, sizeof value))
        return true;
    if (!bytes_to_i64(bytes_of(value), &number)) {
        xrpc_fail(call, 400, "InvalidRequest",
                  "Invalid %s params: Expected integer value type (got \"%s\")", call->method,
                  value);
        return false;
    }
    if (number < 1 || number > 100) {
        xrpc_fail(call, 400, "InvalidRequest", "Invalid %s params: integer too %s (%s %d, got %s)",
                  call->method, number < 1 ? "small" : "big", number < 1 ? "minimum" : "maximum",
                  number < 1 ? 1 : 100, value);
        return false;
    }
    *limit = (unsigned)number;
    return true;
}

uint32_t xrpc_find_actor(const struct world *world, struct bytes actor)
{
    return bytes_starts_with(actor, "did:") ? world_find_did(world, actor)
                                            : world_find_handle(world, actor);
}

bool xrpc_read_actor(struct xrpc *call, char actor[256], uint32_t *account)
{
    if (!query_get(call->query, "actor", actor, 256)) {
        xrpc_fail(call, 400, "InvalidRequest", "Invalid %s params: Missing required key \"actor\"",
                  call->method);
        return false;
    }
    bool is_did = strncmp(actor, "did:", 4) == 0;
    if (is_did ? !did_is_valid(bytes_of(actor))
               : strchr(actor, '.') == NULL || strchr(actor, ' ') != NULL) {
        xrpc_fail(call, 400, "InvalidRequest",
                  "Invalid %s params: Invalid AT identifier (got \"%s\")", call->method, actor);
        return false;
    }
    *account = xrpc_find_actor(call->sim->world, bytes_of(actor));
    return true;
}

/* "uris", or "uris[]". */
static bool is_called(struct bytes name, const char *parameter)
{
    size_t len = strlen(parameter);
    return bytes_equal_string(name, parameter) ||
           (name.len == len + 2 && memcmp(name.data, parameter, len) == 0 &&
            memcmp(name.data + len, "[]", 2) == 0);
}

void xrpc_answer_list(struct xrpc *call, const struct xrpc_list *list)
{
    struct query_walk walk = query_walk(call->query);
    struct text item = {0};
    unsigned asked = 0;
    text_appendf(&call->body, "{\"%s\":[", list->member);
    size_t empty = call->body.len;
    while (query_walk_next(&walk)) {
        if (!is_called(walk.name, list->parameter))
            continue;
        asked++;
        text_clear(&item);
        if (!list->put(call->sim->world, walk.value, &item))
            continue;
        text_append_string(&call->body, call->body.len == empty ? "" : ",");
        text_append(&call->body, item.data, item.len);
    }
    text_free(&item);
    query_walk_deinit(&walk);
    text_append_string(&call->body, "]}");
    if (asked > list->max)
        xrpc_fail(call, 400, "InvalidRequest",
                  "Invalid %s params: array too big (maximum %u, got %u)", call->method, list->max,
                  asked);
    else if (asked == 0 && list->needed)
        xrpc_fail(call, 400, "InvalidRequest", "Invalid %s params: Missing required key \"%s\"",
                  call->method, list->parameter);
    else
        xrpc_finish(call);
}
