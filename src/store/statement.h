/* SPDX-License-Identifier: Apache-2.0
 *
 * statement.h - how each kind of record is written, once for both stores.
 *
 * A statement is SQL over the records of its kind: `r.did` is a field, `r.n` the ingest number,
 * `{seq}` the commit's. Where they come from is said by `{rows}`, or by `{rows with}` when other
 * tables follow; `{time EXPRESSION}` is microseconds as the store's TIMESTAMP, `{json EXPRESSION}`
 * text, or NULL, as JSON; `{member KEY EXPRESSION}` is whether the JSON, or NULL, is an object that
 * has the key. `{by INDEX}` behind a table's name tells SQLite, which has no figures of
 * the tables, what leads to the rows; PostgreSQL finds that by itself. A commit runs the
 * statements in the order of the groups, each once over all records of its kind that meet its
 * condition: PostgreSQL gets them as arrays, SQLite as a table. Hence what every statement must
 * keep: the outcome may not depend on the order of the records, nor on one statement seeing a
 * record twice (the commit folds equal keys first).
 *
 * A statement that settles what several kinds have begun reads no records: it runs once, when the
 * commit has any of the kinds named in `after`. */
#ifndef STORE_STATEMENT_H
#define STORE_STATEMENT_H

#include "record.h"

#define STATEMENTS_MAX       176 /* of those that are always there */
#define STATEMENT_PARAMS_MAX 64
/* With a kind's name: the table of its records on SQLite. */
#define STATEMENT_ROWS_PREFIX "tidemark_rows_"
#define PARAM_N               254 /* the record's ingest number */
#define PARAM_SEQ             255 /* the commit's number, one value for all */

struct commit;

enum dialect { DIALECT_SQLITE, DIALECT_POSTGRES };

/* Met by records whose `field` is this number. */
struct condition {
    uint8_t field;
    int64_t value;
};

/* A request that joins one in the queue of histories: the lesser of the two. */
#define QUEUE_LESSER(column)                                                                       \
    column " = CASE WHEN excluded." column " < backfill_queue." column " THEN excluded." column    \
           " ELSE backfill_queue." column " END"

/* Of what this commit takes from a collection, what never changed in it: whoever follows a query
 * that it never was in is not told. Comes between its tombstones and its end. */
#define NOTE_POSTS_GONE                                                                            \
    "INSERT INTO past_rows (collection, seq, key, at_us, item) SELECT x.collection, x.seq, "       \
    "x.key, "                                                                                      \
    "x.at_us, '{\"actorDid\":' || {json a.did} || ',\"collection\":' || {json p.collection} || "   \
    "',\"rkey\":' || {json p.rkey} || ',\"uri\":' || {json 'at://' || a.did || '/' || "            \
    "p.collection || '/' || p.rkey} || '}' FROM tombstones x {by tombstones_seq} CROSS JOIN post " \
    "p CROSS JOIN actors a "                                                                       \
    "WHERE x.collection = 'posts.n' AND x.seq = {seq} AND p.n = x.n AND a.id = p.actor "           \
    "ON CONFLICT (collection, seq, key) DO NOTHING"
#define NOTE_LINKS_GONE                                                                            \
    "INSERT INTO past_rows (collection, seq, key, at_us, item) SELECT x.collection, x.seq, "       \
    "x.key, "                                                                                      \
    "x.at_us, '{\"url\":' || {json l.normalized_url} || ',\"domain\":' || {json l.domain} || '}' " \
    "FROM tombstones x {by tombstones_seq} CROSS JOIN links l WHERE x.collection = 'links' AND "   \
    "x.seq = {seq} "                                                                               \
    "AND l.id = x.n ON CONFLICT (collection, seq, key) DO NOTHING"

/* The kinds that change who shares which link. */
#define STATEMENT_AFTER_NEWS                                                                       \
    (1U << RECORD_POST | 1U << RECORD_LINK | 1U << RECORD_CARD | 1U << RECORD_ACCOUNT |            \
     1U << RECORD_PRUNE)

struct statement {
    enum record_id kind;
    const struct condition *only; /* NULL: every record of the kind */
    uint8_t has;                  /* only records in which this field is not null; 0: all */
    bool each;                    /* record by record: later ones must see what earlier ones did */
    bool authors;                 /* only sees to it that who wrote a post is there, for good */
    uint32_t after;               /* a bit per kind; 0: it is about the records of `kind` */
    const enum field_type *columns; /* of the rows it is about; NULL: it is about other records */
    const char *sql;
};

struct statement_group {
    const struct statement *statements;
    size_t count;
};

extern const struct statement_group statements_accounts, statements_posts, statements_links,
    statements_cards, statements_pictures, statements_shares, statements_follows,
    statements_backfill, statements_ledger, statements_content, statements_rows,
    statements_retention, statements_engine, statements_gap_sweep;

struct row_tables;

/* In the order in which a commit runs them: first those that are always there, then those of the
 * declared collections. A statement keeps its place when more are declared. */
size_t statement_count(const struct row_tables *declared);
const struct statement *statement_at(const struct row_tables *declared, size_t which);

/* Gathers the commit's records the statement is about; returns how many runs of it they make up,
 * taken together: their number, or 1 for a statement that reads none. */
size_t statement_choose(const struct statement *statement, const struct commit *commit,
                        const struct record **chosen);
/* The text for one dialect; `params[i]` says which field parameter i+1 is. Returns their number. */
size_t statement_expand(const struct statement *statement, enum dialect dialect, struct text *sql,
                        uint8_t params[STATEMENT_PARAMS_MAX]);

#endif
