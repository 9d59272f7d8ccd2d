/* SPDX-License-Identifier: Apache-2.0 */
#include "query/refusal.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

enum rc refusal_set(struct refusal *refusal, enum refusal_code code, const char *format, ...)
{
    va_list args;
    assert(refusal != NULL && code > REFUSAL_NONE && code < REFUSAL_COUNT);
    refusal->code = code;
    va_start(args, format);
    vsnprintf(refusal->err.text, sizeof refusal->err.text, format, args);
    va_end(args);
    return RC_REJECT;
}

static const struct {
    const char *name, *hint;
} codes[REFUSAL_COUNT] = {
    [REFUSAL_NONE] = {"NONE", ""},
    [REFUSAL_BAD_REQUEST] = {"BAD_REQUEST",
                             "Correct the part of the request that the sentence names."},
    [REFUSAL_UNKNOWN_COLLECTION] =
        {"UNKNOWN_COLLECTION", "Name a collection that this server has; names are case-sensitive."},
    [REFUSAL_UNKNOWN_FIELD] =
        {"UNKNOWN_FIELD",
         "Name a field of the collection; keys beside its fields cannot be asked for."},
    [REFUSAL_UNKNOWN_OPERATOR] = {"UNKNOWN_OPERATOR", "Use one of the operators of filters."},
    [REFUSAL_BAD_FILTER] = {"BAD_FILTER", "Give the value that the field takes."},
    [REFUSAL_BAD_ORDER] = {"BAD_ORDER",
                           "Order by a list of {field, direction}, direction asc or desc."},
    [REFUSAL_BAD_DATA] = {"BAD_DATA", "Correct the field that the sentence names."},
    [REFUSAL_BEHIND] = {"BEHIND", "Try again in a moment: the store has not reached minSeq."},
    [REFUSAL_NO_INDEX] =
        {"NO_INDEX",
         "Choose an order that has an index, or set allowScan to true and wait longer."},
    [REFUSAL_LIMIT_RANGE] = {"LIMIT_RANGE", "Stay within the range that the sentence names."},
    [REFUSAL_HANDLE_NOT_FOUND] =
        {"HANDLE_NOT_FOUND", "Open the query again: handles end when they are closed or not used."},
    [REFUSAL_FORBIDDEN] = {"FORBIDDEN", "Ask with a session or token that may do this."},
    [REFUSAL_CONFLICT] =
        {"CONFLICT", "Wait for the request that is under way, or ask for the page delivered last."},
    [REFUSAL_QUOTA_EXCEEDED] =
        {"QUOTA_EXCEEDED", "Wait as long as Retry-After says, or close what is no longer needed."},
    [REFUSAL_GAP] = {"GAP", "Open the query again: what changed since is no longer known."},
    [REFUSAL_NOT_KNOWN] = {"NOT_KNOWN",
                           "Ask again when the chain is read further: no block so far names it."},
    [REFUSAL_NOT_YET] = {"NOT_YET",
                         "Wait as long as Retry-After says: its block is being worked on."},
    [REFUSAL_OWED] = {"OWED", "Wait as long as Retry-After says: it is being looked for."},
    [REFUSAL_DEAD] = {"DEAD", "Tell the operator: `tidemark owed retry` has it tried again."},
    [REFUSAL_BAD_RANGE] = {"BAD_RANGE", "Ask for bytes that Content-Range says are there."},
    [REFUSAL_UNAUTHORIZED] = {"UNAUTHORIZED",
                              "Send `Authorization: Bearer TOKEN` with a token of this server."},
    [REFUSAL_NOT_FOUND] = {"NOT_FOUND",
                           "Check the id, or the address: /api/openapi.json has all addresses."},
    [REFUSAL_METHOD_NOT_ALLOWED] = {"METHOD_NOT_ALLOWED",
                                    "Use the method that the header Allow names."},
    [REFUSAL_TOO_LARGE] = {"TOO_LARGE", "Send less at once."},
    [REFUSAL_HEADERS_TOO_LARGE] = {"HEADERS_TOO_LARGE", "Send fewer and shorter headers."},
    [REFUSAL_BUSY] = {"BUSY", "Try again in a moment."},
    [REFUSAL_DEADLINE] = {"DEADLINE", "Ask for less, or try again when the store has less to do."},
    [REFUSAL_SHUTTING_DOWN] = {"SHUTTING_DOWN", "Try again when the server is back."},
    [REFUSAL_UNAVAILABLE] = {"UNAVAILABLE",
                             "Try again in a moment; if it stays, the server needs its operator."},
    [REFUSAL_INTERNAL] = {"INTERNAL", "Tell the operator: the server's log says more."},
};

const char *refusal_name(enum refusal_code code)
{
    assert(code < REFUSAL_COUNT);
    return codes[code].name;
}

const char *refusal_hint(enum refusal_code code)
{
    assert(code < REFUSAL_COUNT);
    return codes[code].hint;
}
