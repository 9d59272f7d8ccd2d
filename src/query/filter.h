/* SPDX-License-Identifier: Apache-2.0
 *
 * filter.h - which rows a query is about, told in JSON, judged in SQL and in C alike.
 *
 *   {"roomId": "a", "timestamp": {"$gte": "2026-01-31T09:00:00Z"}, "$or": [{...}, {...}]}
 *
 * A filter is two-valued: a row matches or it does not. A field that is NULL meets no comparison,
 * so $ne, $nin and $not match it. Values have the field's type, and values of one field have the
 * order the collection is paged by: numbers by their value (an int field may be compared with a
 * fraction), text and bytes by their bytes, times by the instant, false before true. Of a json
 * field it can only be asked whether it is there.
 *
 * What cannot be judged is refused in words that name field, expected and found: an unknown field
 * or operator, a value of the wrong type, one that the field can never have. Depth, the number of
 * tests and values, and the bytes of the values are bounded.
 *
 * SQL is written once for both stores; values are always parameters, names come from the
 * collection. Owner: whoever parsed it.  Thread: any; it never changes. */
#ifndef QUERY_FILTER_H
#define QUERY_FILTER_H

#include "query/seek.h"

#define FILTER_DEPTH_MAX 16
#define FILTER_NODES_MAX 512 /* tests, and the groups they stand in */
#define FILTER_BYTES_MAX 65536

struct filter;

/* Absent, null and {} match every row: *filter is NULL then, which all functions here take. */
must_check enum rc filter_parse(const struct collection *collection, struct json json,
                                struct filter **filter, struct refusal *refusal);
void filter_free(struct filter *filter);
/* The same filter of its collection as that is declared now. RC_REJECT: it asks for what is not
 * there, and is as it was. */
must_check enum rc filter_renew(struct filter **filter, const struct collection *collection,
                                struct refusal *refusal);
/* The JSON it was parsed from, compact; absent for NULL. */
struct bytes filter_json(const struct filter *filter);

/* All of it as a condition, borrowed from the filter. */
struct where filter_where(const struct filter *filter);
/* The part of it that an index answers by itself, written to `sql`: the fields that it pins, and an
 * interval of the first one that it does not. */
struct where filter_index_where(const struct filter *filter, const struct collection_index *index,
                                struct text *sql);
/* The fields that have one value in all rows that match, a bit each, as an index sees it. */
uint64_t filter_fixed(const struct filter *filter);
/* `columns` are the values of the collection's columns. */
bool filter_matches(const struct filter *filter, const struct field *columns);
/* Whether it could match some row that has these values in the columns of `known`, a bit each. */
bool filter_may_match(const struct filter *filter, const struct field *columns, uint64_t known);

#endif
