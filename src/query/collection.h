/* SPDX-License-Identifier: Apache-2.0
 *
 * collection.h - what a client can page through: fields, default order, page size, indexes.
 *
 * A collection is data; nothing of it comes from a request. Its first column is the id. Its rows
 * stand in one table, called `t` in all its SQL, that has an ingest number: unique, never NULL,
 * growing with insertion. `joins` add columns to a row and neither rows nor gaps. An index names
 * the fields it is made of, all in one direction, followed by the ingest number; fields that may be
 * NULL sort it lowest there too.
 *
 * Values on the wire: an id is a string, a time ISO 8601 with Z, bytes are text as far as they are
 * UTF-8. Thread: any; constant. */
#ifndef QUERY_COLLECTION_H
#define QUERY_COLLECTION_H

#include "base/bytes.h"
#include "query/refusal.h"

#define COLLECTION_ORDER_MAX     8
#define COLLECTION_COLUMNS_MAX   48
#define COLLECTION_PAGE_SIZE_MAX 1000

enum column_type {
    COLUMN_ID, /* a number in the store */
    COLUMN_TEXT,
    COLUMN_INT,
    COLUMN_TIME, /* microseconds in the store */
    COLUMN_BOOL,
    COLUMN_FLOAT,
    COLUMN_JSON,
    COLUMN_BYTES,
};

struct column {
    const char *name; /* on the wire */
    enum column_type type;
    const char *sql; /* its value: "t.shared_us" */
    const char *key; /* what it is ordered by; NULL: nobody can order by it */
    bool nullable;
};

struct collection_order {
    uint8_t column;
    bool desc;
};

struct collection_index {
    uint8_t columns[COLLECTION_ORDER_MAX];
    uint8_t count;
};

struct collection {
    const char *name;
    const char *table; /* "post t" */
    const char *joins; /* "" or "LEFT JOIN actors a ON a.id = t.actor" */
    const char *n;     /* the ingest number: "t.n" */
    const char *only;  /* which rows of the table are its; NULL: all */
    const struct column *columns;
    size_t column_count;
    const struct collection_order *order; /* the default; has an index */
    size_t order_count;                   /* 0: the order of arrival, ... */
    bool oldest_first;                    /* ... this way round */
    const struct collection_index *indexes;
    size_t index_count;
    unsigned page_size;
    const char *tombstones; /* what left it is under this name in the table of that name, the id as
                             * key; NULL: see `pasts` */
    const char *pasts;      /* what its rows were before is under this name in past_rows, the id as
                             * key; NULL: it is not known */
    uint64_t fixed;         /* columns that never change in a row, a bit each */
    const char *seq;        /* the commit that changed a row last: "t.seq"; NULL: not indexed */
    bool declared;          /* by a person: it may be written */
    unsigned shape;         /* of its records, when it is */
    const char *extra;      /* "t.extra": a JSON object whose keys follow the columns; NULL: none */
};

extern const struct collection collections_built_in[];
extern const size_t collections_built_in_count;

/* Among the built-in ones; NULL when there is none of that name. */
const struct collection *collection_find(struct bytes name);
/* Appends a table of the built-in ones, as Markdown. */
void collection_docs(struct text *out);
/* -1 when there is none of that name. */
int collection_column(const struct collection *collection, struct bytes name);
/* It has no field of that name, which `where` asks for: says so, and which it has. */
enum rc collection_refuse_field(const struct collection *collection, const char *where,
                                struct bytes name, struct refusal *refusal);

#endif
