/* SPDX-License-Identifier: Apache-2.0
 *
 * connector_parts.h - what the requests and mappings of a connector are made of.
 *
 * These are tables, made once by the loader and only read afterwards. A text may name variables
 * ($account); one that is absent takes the key, the list item or the path segment it stands in with
 * it. A place in an answer is an RFC 6901 pointer; one that begins with `^` points into the record
 * that a fanned-out part belongs to.
 *
 * Owner: the connector, whose memory they live in. */
#ifndef DECODE_CONNECTOR_PARTS_H
#define DECODE_CONNECTOR_PARTS_H

#include "base/bytes.h"

#define CONNECTOR_POINTERS_MAX 4
#define EVM_ADDRESS_DIGITS     40
#define EVM_WORD_DIGITS        64

enum connector_variable {
    VARIABLE_LITERAL, /* no variable: these very bytes */
    VARIABLE_ACCOUNT,
    VARIABLE_PLATFORM,
    VARIABLE_FROM, /* where to go on, in the words of the stream's `resume` */
    VARIABLE_TO,
    VARIABLE_PAGE,
    VARIABLE_OFFSET,
    VARIABLE_SIZE,
    VARIABLE_TOKEN,
    VARIABLE_NOW_MS,
    VARIABLE_NONCE,
    VARIABLE_API_KEY,
    VARIABLE_KEY,          /* of the record whose detail is asked for */
    VARIABLE_PART,         /* the value of a listed partition */
    VARIABLE_ACCOUNT_WORD, /* an EVM address as a word of 32 bytes */
    VARIABLE_SINCE_S,      /* the time whose block is asked for, in seconds */
    VARIABLE_CONSTANT,     /* of the platform or the partition, by name */
};

struct connector_piece {
    enum connector_variable variable;
    struct bytes text; /* the literal, or the constant's name */
};

struct connector_template {
    const struct connector_piece *pieces;
    size_t count;
};

enum connector_value_kind {
    VALUE_TEXT, /* a string, or the number that a lone numeric variable is */
    VALUE_BARE, /* true, false, null or a number, as written */
    VALUE_LIST,
    VALUE_MAP,
};

/* A node of a request's body, or an entry of its query, form or headers. */
struct connector_value {
    enum connector_value_kind kind;
    const char *key; /* inside a map */
    struct connector_template text;
    const struct connector_value *first, *next;
};

enum connector_body { BODY_NONE, BODY_FORM, BODY_JSON, BODY_JSONRPC };

struct connector_request {
    const char *method;
    struct connector_template path;
    const struct connector_value *query, *headers, *body; /* maps, or NULL */
    enum connector_body body_kind;
    const char *rpc_method; /* of BODY_JSONRPC; `body` are its params */
};

enum connector_cast {
    CAST_PLAIN, /* text as it is, numbers in decimal */
    CAST_DEC,
    CAST_HEX,
    CAST_LOWER,
    CAST_BOOL,
    CAST_UNIX_S,
    CAST_UNIX_MS,
    CAST_UNIX_US,
    CAST_UNIX_NS,
    CAST_RFC3339,
    CAST_CSV_UTC,
    CAST_RIPPLE_S,
    CAST_DATE, /* requests only: YYYY-MM-DD */
    CAST_JSON,
    CAST_ADDRESS, /* of an EVM account, in a word of 32 bytes */
};

enum connector_test {
    TEST_NONE,
    TEST_EXISTS,
    TEST_ABSENT,
    TEST_IN,
    TEST_NOT_IN,
    TEST_CONTAINS,
    TEST_LACKS
};

struct connector_condition {
    const char *pointer;      /* NULL: nothing in the body is looked at */
    bool parent;              /* it points into the record above */
    const char *header;       /* or a header of the answer, lowercase */
    enum connector_cast cast; /* CAST_PLAIN or CAST_LOWER */
    enum connector_test test;
    const struct connector_template *texts; /* what it is compared with */
    size_t text_count;
    const int64_t *statuses; /* HTTP status must be one of these; none: any */
    size_t status_count;
};

/* All of `all` hold, and one of `any` if there are any. */
struct connector_where {
    const struct connector_condition *all, *any;
    size_t all_count, any_count;
};

struct connector_pair {
    struct bytes from;
    const char *to;
};

/* What the items of a list come to, those where the conditions hold; or one place of the record. */
struct connector_sum {
    const char *each, *at; /* the list in the record, NULL: itself; the amount in the item */
    struct connector_where where;
    bool less; /* taken off */
};

struct connector_field {
    const char *pointers[CONNECTOR_POINTERS_MAX]; /* the first that leads to something */
    bool parent[CONNECTOR_POINTERS_MAX];
    unsigned pointer_count;
    bool mapped; /* the connector says something about this field */
    enum connector_cast cast;
    int scale;                        /* amounts are multiplied by this power of ten */
    const int *scales;                /* ... or by that of the platform; NULL: all have one */
    const struct connector_sum *sums; /* instead of pointers */
    size_t sum_count;
    const char *factors[2];            /* or the product of two places */
    struct connector_template fixed;   /* const, var, or the default when nothing is found */
    const struct connector_pair *when; /* status: the source's word and ours */
    size_t when_count;
    const char *otherwise; /* status: for every other word; NULL: they are refused */
};

#endif
