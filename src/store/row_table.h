/* SPDX-License-Identifier: Apache-2.0
 *
 * row_table.h - the table in which the documents of one declared collection stand, and how they are
 * written.
 *
 * A table has the ingest number, the id, the commit that changed the row last, a column for each
 * declared field and `extra` for what has none. All names come from the configuration, which allows
 * letters, digits and _ only; in SQL they are quoted, and the table's begins with a word of its
 * own, so that none is taken for something else. Columns are added and never taken away: rows made
 * for an earlier shape of a table can still be written. A column that is no longer declared is
 * hidden. It keeps its value until the document is given another under that name, which stands in
 * `extra`: of the two the column would be the one that filters find, once it is declared again.
 *
 * Owner: who made it; it stays until the store is closed.  Thread: constant once made. The list of
 * a store's tables belongs to the thread that writes the store. */
#ifndef STORE_ROW_TABLE_H
#define STORE_ROW_TABLE_H

#include "config_lists.h"
#include "store/statement.h"

#define ROW_TABLE_STATEMENTS   3
#define ROW_TABLES_MAX         256 /* those that a reload replaced count, too */
#define ROW_TABLE_PREFIX       "data_"
#define ROW_TABLE_INDEX_PREFIX "by_"
#define ROW_TABLE_NAME_MAX     64 /* with the NUL; no more fits PostgreSQL */

struct row_table {
    unsigned shape; /* its number: see the record */
    size_t column_count;
    enum field_type columns[CONFIG_FIELDS_MAX];
    struct condition put, taken;
    struct statement statements[ROW_TABLE_STATEMENTS];
    struct text sql[ROW_TABLE_STATEMENTS];
    struct text hidden; /* the columns it takes values from, each followed by a line's end */
};

struct row_tables {
    const struct row_table *items[ROW_TABLES_MAX];
    size_t count;
};

struct row_table *row_table_new(const struct config_collection *collection, unsigned shape);
void row_table_free(struct row_table *table);
/* These columns, each name followed by a line's end, are hidden. Before it is first written with;
 * said again it changes nothing. */
void row_table_hide(struct row_table *table, const char *collection, struct bytes columns);
bool row_table_hides(const struct row_table *table, const char *column);
/* How a field is kept in a record and in the store. */
enum field_type row_table_type(enum config_field_type type);
static inline int64_t row_table_act(unsigned shape, int op)
{
    return (int64_t)shape * 2 + op;
}

#endif
