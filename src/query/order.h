/* SPDX-License-Identifier: Apache-2.0
 *
 * order.h - a total order of a collection's rows, and a row's place in it.
 *
 * Always holds: the last term is the ingest number, in the direction of the field before it, so no
 * two rows are equal and a place is never ambiguous. NULL sorts lowest unless a term says it is
 * highest, text by its bytes, on both stores and here.
 *
 * A row_key is a place: it owns its values and stays good when the row it was taken from is changed
 * or gone. */
#ifndef QUERY_ORDER_H
#define QUERY_ORDER_H

#include "base/json.h"
#include "query/collection.h"
#include "query/refusal.h"
#include "record.h"

#define ORDER_TERMS_MAX   (COLLECTION_ORDER_MAX + 1)
#define ROW_KEY_BYTES_MAX 16384

struct order_term {
    const char *sql;
    const char *name; /* of the field; NULL for the ingest number put in as tie-breaker */
    uint8_t column;
    bool desc, nullable;
    bool nulls_high; /* NULL is above all values, not below */
};

struct order {
    struct order_term terms[ORDER_TERMS_MAX];
    size_t count;
};

/* How values of a column's type stand in the store. */
enum field_type column_stored_as(enum column_type type);

void order_default(const struct collection *collection, struct order *order);
/* Reads [{field, direction, nulls}]; absent, null and [] give the collection's own order. */
must_check enum rc order_parse(const struct collection *collection, struct json order_by,
                               struct order *order, struct refusal *refusal);
/* The same order of a collection as that is declared now; false: a field is gone, and the order is
 * as it was. */
must_check bool order_renew(struct order *order, const struct collection *collection);
/* Whether NULLs come after the values, this way. */
bool order_term_ends_in_nulls(const struct order_term *term);
/* An index that walks the rows in this order, or NULL. Fields whose bit is set in `fixed` have one
 * value in all rows that matter; of several indexes the one that begins with most of them is
 * taken. */
const struct collection_index *order_index(const struct collection *collection,
                                           const struct order *order, uint64_t fixed);

struct row_key {
    struct field parts[ORDER_TERMS_MAX];
    size_t count; /* 0: no place */
    char *bytes;  /* what the parts point at */
    size_t room;  /* for so many of them */
};

/* Text or bytes that are there. */
bool row_key_has_bytes(const struct field *field);
/* Copies the parts, into the memory it has where they fit; false, and no place, when they have more
 * than ROW_KEY_BYTES_MAX bytes. */
must_check bool row_key_set(struct row_key *key, const struct field *parts, size_t count);
void row_key_clear(struct row_key *key);
/* Takes over what `from` holds. */
void row_key_move(struct row_key *to, struct row_key *from);
/* Below 0 when `a` is the lower value: NULL before all, text and bytes by their bytes. Both are of
 * one field. */
int field_compare(const struct field *a, const struct field *b);
/* Below 0 when `a` comes before `b` in this order. */
int row_key_compare(const struct order *order, const struct field *a, const struct field *b);

#endif
