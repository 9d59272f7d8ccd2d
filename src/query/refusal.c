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

const char *refusal_name(enum refusal_code code)
{
    static const char *const names[REFUSAL_COUNT] = {
        [REFUSAL_NONE] = "NONE",
        [REFUSAL_BAD_REQUEST] = "BAD_REQUEST",
        [REFUSAL_UNKNOWN_COLLECTION] = "UNKNOWN_COLLECTION",
        [REFUSAL_UNKNOWN_FIELD] = "UNKNOWN_FIELD",
        [REFUSAL_UNKNOWN_OPERATOR] = "UNKNOWN_OPERATOR",
        [REFUSAL_BAD_FILTER] = "BAD_FILTER",
        [REFUSAL_BAD_ORDER] = "BAD_ORDER",
        [REFUSAL_NO_INDEX] = "NO_INDEX",
        [REFUSAL_LIMIT_RANGE] = "LIMIT_RANGE",
        [REFUSAL_HANDLE_NOT_FOUND] = "HANDLE_NOT_FOUND",
        [REFUSAL_FORBIDDEN] = "FORBIDDEN",
        [REFUSAL_CONFLICT] = "CONFLICT",
        [REFUSAL_QUOTA_EXCEEDED] = "QUOTA_EXCEEDED",
        [REFUSAL_GAP] = "GAP",
        [REFUSAL_UNAUTHORIZED] = "UNAUTHORIZED",
        [REFUSAL_NOT_FOUND] = "NOT_FOUND",
        [REFUSAL_METHOD_NOT_ALLOWED] = "METHOD_NOT_ALLOWED",
        [REFUSAL_TOO_LARGE] = "TOO_LARGE",
        [REFUSAL_HEADERS_TOO_LARGE] = "HEADERS_TOO_LARGE",
        [REFUSAL_BUSY] = "BUSY",
        [REFUSAL_DEADLINE] = "DEADLINE",
        [REFUSAL_SHUTTING_DOWN] = "SHUTTING_DOWN",
        [REFUSAL_UNAVAILABLE] = "UNAVAILABLE",
        [REFUSAL_INTERNAL] = "INTERNAL",
    };
    assert(code < REFUSAL_COUNT);
    return names[code];
}
