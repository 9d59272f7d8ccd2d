/* SPDX-License-Identifier: Apache-2.0
 *
 * json_write.h - writing JSON.
 *
 * Commas and nesting are the writer's business; a value where a key is due, or an end without its
 * beginning, is a programmer's error and asserts. U+0000 and bytes that are no valid UTF-8 are
 * written as U+FFFD, so the output always parses and both stores take it.
 *
 * Owner: the caller, who owns the text as well. */
#ifndef BASE_JSON_WRITE_H
#define BASE_JSON_WRITE_H

#include "base/bytes.h"

#ifdef __cplusplus
extern "C" {
#endif

#define JSON_WRITE_DEPTH_MAX 72

struct json_writer {
    struct text *out;
    unsigned depth;
    bool first, key_pending;
    bool objects[JSON_WRITE_DEPTH_MAX]; /* per level; else an array */
};

void json_writer_init(struct json_writer *writer, struct text *out);
void json_begin_object(struct json_writer *writer);
void json_end_object(struct json_writer *writer);
void json_begin_array(struct json_writer *writer);
void json_end_array(struct json_writer *writer);
void json_key(struct json_writer *writer, const char *key);
void json_key_bytes(struct json_writer *writer, struct bytes key);
void json_put_string(struct json_writer *writer, struct bytes value); /* absent: null */
void json_put_cstring(struct json_writer *writer, const char *value); /* NULL: null */
void json_put_i64(struct json_writer *writer, int64_t value);
void json_put_u64(struct json_writer *writer, uint64_t value);
void json_put_real(struct json_writer *writer, double value); /* fewest digits that read back
                                                               * equal, always with a point or an
                                                               * exponent; not finite: null */
void json_put_bool(struct json_writer *writer, bool value);
void json_put_null(struct json_writer *writer);
/* Text that is JSON already; and members of an object that are, the braces left out. */
void json_put_raw(struct json_writer *writer, struct bytes json);
void json_put_raw_members(struct json_writer *writer, struct bytes members);

#ifdef __cplusplus
}
#endif

#endif
