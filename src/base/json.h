/* SPDX-License-Identifier: Apache-2.0
 *
 * json.h - reading JSON that strangers wrote.
 *
 * Always holds: a document either parses whole (all of it valid, also what nobody asks for) or not
 * at all; no deeper and no larger than its limits. Strings come out in one canonical form: valid
 * UTF-8, escaped U+0000 and lone surrogates replaced by U+FFFD. Raw bytes that are no UTF-8 refuse
 * the document. Reading what is not there gives an absent value, and reading an absent value gives
 * an absent value, so a path can be followed without a check at each step.
 *
 * An integer is exact or the document is refused: one that fits neither int64 nor uint64 never
 * turns into a rounded real, since it may be an amount. A number with a fraction or an exponent is
 * a double; upstreams write amounts that need more digits as strings. Of members with the same name
 * all are kept, and asking by name gives the first.
 *
 * A json_doc owns its memory and reuses it: values and their bytes live until the next parse. It
 * grows to about 14 bytes per byte of the largest document it has seen.
 * Owner: one thread. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/bytes.h"
#include "base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

enum json_type {
    JSON_ABSENT,
    JSON_NULL,
    JSON_BOOL,
    JSON_INT,  /* fits int64 */
    JSON_UINT, /* above INT64_MAX, fits uint64 */
    JSON_REAL,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT,
};

#define JSON_DEPTH_MAX 64
/* For our own answers, which hold what came as deep as that some levels down. */
#define JSON_ANSWER_DEPTH_MAX (JSON_DEPTH_MAX + 8)

struct json_doc;

/* A place in a parsed document. Copied freely, never looked into; all zero is absent. */
struct json {
    const void *doc;
    size_t at;
};

/* Refuses documents of more than `bytes_max` bytes, and those with a value more than `depth_max`
 * (2 to JSON_ANSWER_DEPTH_MAX) levels down; the root is on level 1. */
struct json_doc *json_doc_new(size_t bytes_max, unsigned depth_max);
void json_doc_free(struct json_doc *doc);

/* Parses `input`, which must be followed by ARENA_PAD readable bytes and may change afterwards.
 * RC_REJECT says what is wrong; all earlier values of `doc` are gone then, too. A byte order mark
 * in front is skipped. */
must_check enum rc json_parse(struct json_doc *doc, struct bytes input, struct json *root,
                              struct err *err);
/* The same for input without padding: copies it first. */
must_check enum rc json_parse_copy(struct json_doc *doc, struct bytes input, struct json *root,
                                   struct err *err);

enum json_type json_type(struct json value);
/* Member of an object (the first of that name); absent when there is none or it is no object. */
struct json json_get_bytes(struct json object, struct bytes key);
static inline struct json json_get(struct json object, const char *key)
{
    return json_get_bytes(object, bytes_make(key, __builtin_strlen(key)));
}
/* Element of an array, counted from 0; absent when there is none or it is no array. */
struct json json_at(struct json array, size_t index);
/* Follows an RFC 6901 pointer ("/result/0/hash"); "" is the value itself; absent when
 * there is nothing or the pointer is malformed. */
struct json json_pointer(struct json value, const char *pointer);
bool json_string(struct json value, struct bytes *out);
/* The string, or absent: for fields that may be missing. */
struct bytes json_string_or_absent(struct json value);
bool json_i64(struct json value, int64_t *out);
bool json_u64(struct json value, uint64_t *out);
bool json_real(struct json value, double *out); /* integers too */
bool json_bool(struct json value, bool *out);
/* Members or elements; 0 for what is no container. */
size_t json_count(struct json container);

/* Walks an array or an object; `key` is absent in an array. What is no container is empty. */
struct json_walk {
    struct json next, end;
    bool object;
};
struct json_walk json_walk(struct json container);
bool json_walk_next(struct json_walk *walk, struct bytes *key, struct json *value);

/* Writes `value` as compact JSON, members in the order they came; numbers keep their
 * value and their kind. Absent: nothing. */
void json_print(struct json value, struct text *out);

#ifdef __cplusplus
}
#endif

#endif
