/* SPDX-License-Identifier: Apache-2.0
 *
 * row_schema.h - makes the tables of declared collections, and lets them grow.
 *
 * What a store has made is written down beside it. Against that the declaration is held:
 *   a collection that is new      gets its table and its indexes
 *   a field that is new           gets a column; it is NULL in the rows there are
 *   a field no longer declared    keeps its column, unseen, with what is in it; in a document
 *                                 that is given another value under its name, that one holds
 *   a field of another type       is refused, for its values would be lost
 *   an index that is new          is built at once in an empty table, else noted: it is not ready
 *   an index no longer declared   is dropped
 * All of it is one transaction, and none of it reads or rewrites the rows there are.
 *
 * Owner: whoever has the store's writing connection.  Thread: its own. */
#ifndef STORE_ROW_SCHEMA_H
#define STORE_ROW_SCHEMA_H

#include "store/row_table.h"
#include "store/store.h"

/* RC_REJECT: nothing was changed; `err` names the field. `changes` counts what was made. */
must_check enum rc row_schema_grow(struct store *store, const struct config_collection *collections,
                                   size_t count, unsigned *changes, struct err *err);

/* Has the table know the columns that the store has and the collection does not declare. */
must_check enum rc row_schema_hide(struct store *store, const struct config_collection *collection,
                                   struct row_table *table, struct err *err);

/* The fields in whose order the collection's rows come when nobody asks for another: an index of
 * them is always wanted. Empty: the order of arrival. */
struct config_list row_schema_default_order(const struct config_collection *collection);
/* The name of the index over these fields. */
void row_schema_index_name(const char *collection, const struct config_list *fields,
                           char out[ROW_TABLE_NAME_MAX]);

/* Appends the names of the indexes that can be used, each followed by a line's end. */
must_check enum rc row_schema_ready(struct store *store, struct text *names, struct err *err);
bool row_schema_is_ready(struct bytes names, const char *index);

/* An index that is declared and not ready. */
struct row_index {
    char name[ROW_TABLE_NAME_MAX]; /* "": there is none */
    struct text build;             /* the statement that builds it ... */
    struct text build_apart;       /* ... and the one that does so while others write */
};

/* The first of them whose name comes after the one in `index`. */
must_check enum rc row_schema_next_index(struct store *store, struct row_index *index,
                                         struct err *err);
/* Writes down that it was built; with `build` it is built in the same transaction. */
must_check enum rc row_schema_index_done(struct store *store, const struct row_index *index,
                                         bool build, struct err *err);
void row_index_free(struct row_index *index);

#endif
