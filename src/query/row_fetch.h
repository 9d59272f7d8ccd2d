/* SPDX-License-Identifier: Apache-2.0
 *
 * row_fetch.h - one row of a collection, by its id.
 *
 * Thread: any one that owns the store's connection. */
#ifndef QUERY_ROW_FETCH_H
#define QUERY_ROW_FETCH_H

#include "query/collection.h"
#include "store/store.h"

/* The id as the store compares it; false: no row can have it. `out` borrows from `id`. */
must_check bool row_id(const struct collection *collection, struct bytes id, struct field *out);
/* Appends to a query of the collection which row is meant: the one whose id is ?1. */
void row_append_scope(const struct collection *collection, struct text *sql);
/* Appends the row as JSON; nothing when there is none. */
must_check enum rc row_fetch(struct store *store, const struct collection *collection,
                             struct bytes id, struct text *item, struct err *err);

#endif
