/* SPDX-License-Identifier: Apache-2.0
 *
 * refusal.h - why a client's request is not done: a word for programs, a sentence for people, and
 * what to do.
 *
 * A refusal is the client's business; when the store or this program fails instead, the code is
 * REFUSAL_UNAVAILABLE or REFUSAL_INTERNAL and nothing was changed. */
#ifndef QUERY_REFUSAL_H
#define QUERY_REFUSAL_H

#include "base/err.h"

enum refusal_code {
    REFUSAL_NONE,
    REFUSAL_BAD_REQUEST,
    REFUSAL_UNKNOWN_COLLECTION,
    REFUSAL_UNKNOWN_FIELD,
    REFUSAL_UNKNOWN_OPERATOR,
    REFUSAL_BAD_FILTER,
    REFUSAL_BAD_ORDER,
    REFUSAL_BAD_DATA,
    REFUSAL_BEHIND,
    REFUSAL_NO_INDEX,
    REFUSAL_LIMIT_RANGE,
    REFUSAL_HANDLE_NOT_FOUND,
    REFUSAL_FORBIDDEN,
    REFUSAL_CONFLICT,
    REFUSAL_QUOTA_EXCEEDED,
    REFUSAL_GAP,
    REFUSAL_NOT_KNOWN,
    REFUSAL_NOT_YET,
    REFUSAL_OWED,
    REFUSAL_DEAD,
    REFUSAL_BAD_RANGE,
    REFUSAL_UNAUTHORIZED,
    REFUSAL_NOT_FOUND,
    REFUSAL_METHOD_NOT_ALLOWED,
    REFUSAL_TOO_LARGE,
    REFUSAL_HEADERS_TOO_LARGE,
    REFUSAL_BUSY,
    REFUSAL_DEADLINE,
    REFUSAL_SHUTTING_DOWN,
    REFUSAL_UNAVAILABLE,
    REFUSAL_INTERNAL,
    REFUSAL_COUNT,
};

struct refusal {
    enum refusal_code code;
    struct err err;
};

/* Fills it and returns RC_REJECT. */
enum rc refusal_set(struct refusal *refusal, enum refusal_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "HANDLE_NOT_FOUND" and the like. */
const char *refusal_name(enum refusal_code code);
/* What a client does about it, in a sentence. */
const char *refusal_hint(enum refusal_code code);

#endif
