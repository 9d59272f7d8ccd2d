/* SPDX-License-Identifier: Apache-2.0
 *
 * column_member.h - a column of a row as a member of an object that is written; NULL is null.
 *
 * Owner: the caller. */
#ifndef QUERY_COLUMN_MEMBER_H
#define QUERY_COLUMN_MEMBER_H

#include "base/json_member.h"
#include "record.h"

void column_member_text(struct json_writer *json, const char *key, const struct field *column);
void column_member_number(struct json_writer *json, const char *key, const struct field *column);
/* Of a time in microseconds, as people write it. */
void column_member_time(struct json_writer *json, const char *key, const struct field *column);

#endif
