/* SPDX-License-Identifier: Apache-2.0
 *
 * statement.h - how each kind of record is written, once for both stores.
 *
 * A statement is SQL over `{rows}`, the records of its kind under the name `r`: `r.did`, `r.n`. A
 * commit runs them in the order of the table, each over all records of its kind. SQLite runs it
 * record by record with bound values; PostgreSQL runs it once over arrays. Hence what every
 * statement must keep: the outcome may not depend on the order of the records, nor on one
 * statement seeing a record twice (the commit folds equal keys first). */
#ifndef STORE_STATEMENT_H
#define STORE_STATEMENT_H

#include "record.h"

#define STATEMENT_PARAMS_MAX 16
#define PARAM_N              254 /* the record's ingest number */
#define PARAM_SEQ            255 /* the commit's number, one value for all */

enum dialect { DIALECT_SQLITE, DIALECT_POSTGRES };

struct statement {
    enum record_id kind;
    bool each; /* record by record on PostgreSQL too: later ones must see what earlier ones did */
    const char *sql;
};

extern const struct statement statements[];
extern const size_t statement_count;

/* The text for one dialect; `params[i]` says which field parameter i+1 is. Returns their number. */
size_t statement_expand(const struct statement *statement, enum dialect dialect, struct text *sql,
                        uint8_t params[STATEMENT_PARAMS_MAX]);

#endif
