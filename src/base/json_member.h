/* SPDX-License-Identifier: Apache-2.0
 *
 * json_member.h - a member of an object that is written, key and value at once.
 *
 * Owner: the caller. */
#ifndef BASE_JSON_MEMBER_H
#define BASE_JSON_MEMBER_H

#include "base/json_write.h"

/* Absent: null. */
static inline void json_member_string(struct json_writer *writer, const char *key,
                                      struct bytes value)
{
    json_key(writer, key);
    json_put_string(writer, value);
}

/* NULL: null. */
static inline void json_member_cstring(struct json_writer *writer, const char *key,
                                       const char *value)
{
    json_key(writer, key);
    json_put_cstring(writer, value);
}

static inline void json_member_i64(struct json_writer *writer, const char *key, int64_t value)
{
    json_key(writer, key);
    json_put_i64(writer, value);
}

static inline void json_member_bool(struct json_writer *writer, const char *key, bool value)
{
    json_key(writer, key);
    json_put_bool(writer, value);
}

#endif
