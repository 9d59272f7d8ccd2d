/* SPDX-License-Identifier: Apache-2.0
 *
 * seek.h - the SQL that walks a collection from a place on.
 *
 * A ladder: the rows after place (a, b, n) are those with equal a and b and a later n, then those
 * with equal a and a later b, then those with a later a. Each rung is a query of its own with an
 * equality prefix, the full order and the limit, so an index answers it at any depth; rungs are
 * disjoint and together complete, NULLs included, but for those that end an order: see
 * seek_leaves_nulls(). No row is skipped by counting.
 *
 * All rungs in one query are one journey; those whose fields go the same way are one comparison of
 * (a, b, n), and what is left of them the database merges, each in its order already, and reads no
 * further than the limit. A store that is no journey away is asked for one rung after the
 * other until there are rows enough: nothing is merged, and none is begun in vain.
 *
 * The text is written once for both stores. Values are always parameters. */
#ifndef QUERY_SEEK_H
#define QUERY_SEEK_H

#include "query/order.h"

#define WHERE_PARAMS_MAX 256
#define SEEK_PARAMS_MAX  (WHERE_PARAMS_MAX + ORDER_TERMS_MAX + 1)

/* A condition on rows: SQL over `t` and the joins, its parameters ?1 to ?count. NULL sql: none. */
struct where {
    const char *sql;
    const struct field *params;
    size_t count;
    bool joined; /* it reads tables other than `t` */
};

/* One that owns what it points at; where_free() gives it back. */
struct where where_copy(struct where where);
void where_free(struct where *where);

struct seek {
    const struct collection *collection;
    const struct order *order;
    struct where where;
    int64_t fence_n;             /* rows inserted from this number on are not there */
    const struct row_key *after; /* NULL or without a place: from the beginning; a place of the
                                    order's first terms only: behind all rows that have those */
    bool nulls;                  /* the rest of them: see seek_leaves_nulls() */
    size_t rows_max;
};

struct seek_sql {
    struct text text;
    struct field params[SEEK_PARAMS_MAX];
    size_t param_count;
};

/* Whether a column's SQL reads anything but a column of `t`. */
bool seek_reads_joins(const char *sql);
/* Whether the rows that have no value in the order's first field come after all others and are not
 * asked for here: they are read by a seek of their own, when this one gave too few rows. */
bool seek_leaves_nulls(const struct seek *seek);
/* Selects the order's terms, the collection's columns, and what it has besides. */
void seek_build(const struct seek *seek, struct seek_sql *out);
/* The same rows from one rung, 0 being the first; the rows of a later one come after those of all
 * before it. False: there is none of this number. */
must_check bool seek_build_rung(const struct seek *seek, size_t rung, struct seek_sql *out);
/* Counts the rows, at most `rows_max` of them; 0: all. */
void seek_build_count(const struct seek *seek, struct seek_sql *out);
void seek_sql_free(struct seek_sql *sql);

#endif
