/* SPDX-License-Identifier: Apache-2.0 */
#include "query/seek.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A copy is one block: the parameters, then the text, then the parameters' bytes. */
struct where where_copy(struct where where)
{
    if (where.sql == NULL)
        return (struct where){0};
    size_t sql_size = strlen(where.sql) + 1;
    size_t size = where.count * sizeof(struct field) + sql_size;
    for (size_t i = 0; i < where.count; i++)
        if (row_key_has_bytes(&where.params[i]))
            size += where.params[i].b.len;
    struct field *params = memory_new(size);
    char *at = (char *)(params + where.count);
    const struct where copy = {
        .sql = at, .params = params, .count = where.count, .joined = where.joined};
    memcpy(at, where.sql, sql_size);
    at += sql_size;
    for (size_t i = 0; i < where.count; i++) {
        params[i] = where.params[i];
        if (row_key_has_bytes(&params[i]) && params[i].b.len > 0)
            memcpy(at, params[i].b.data, params[i].b.len);
        if (row_key_has_bytes(&params[i])) {
            params[i].b.data = at;
            at += params[i].b.len;
        }
    }
    return copy;
}

void where_free(struct where *where)
{
    union {
        const struct field *borrowed;
        void *owned;
    } block = {where->params};
    free(block.owned);
    *where = (struct where){0};
}

static size_t add_param(struct seek_sql *out, struct field value)
{
    assert(out->param_count < SEEK_PARAMS_MAX);
    out->params[out->param_count++] = value;
    return out->param_count;
}

/* The condition's parameters come first, so that it is written with its own numbers. */
static size_t begin(const struct seek *seek, struct seek_sql *out)
{
    assert(seek->where.count <= WHERE_PARAMS_MAX);
    text_clear(&out->text);
    out->param_count = 0;
    for (size_t i = 0; i < seek->where.count; i++)
        add_param(out, seek->where.params[i]);
    return add_param(out, field_int(seek->fence_n));
}

static void append_scope(const struct seek *seek, size_t fence, struct text *sql)
{
    text_appendf(sql, "%s < ?%zu", seek->collection->n, fence);
    if (seek->collection->only != NULL)
        text_appendf(sql, " AND %s", seek->collection->only);
    if (seek->where.sql != NULL)
        text_appendf(sql, " AND (%s)", seek->where.sql);
}

/* What is never NULL must not say where NULL goes, or PostgreSQL would not use the index. */
static const char *direction_of(const struct order_term *term)
{
    bool last = order_term_ends_in_nulls(term);
    if (!term->nullable)
        return term->desc ? " DESC" : "";
    if (term->desc)
        return last ? " DESC NULLS LAST" : " DESC NULLS FIRST";
    return last ? " NULLS LAST" : " NULLS FIRST";
}

bool seek_reads_joins(const char *sql)
{
    return strncmp(sql, "t.", 2) != 0;
}

enum rung_kind { RUNG_ALL, RUNG_BEYOND, RUNG_NULL, RUNG_NOT_NULL, RUNG_NONE };

/* Where a rung stands: the terms before `begin` equal the place's; those from there to `end`, which
 * have one direction, are as its kind says. */
struct rung {
    enum rung_kind kind;
    size_t begin, end;
};

#define RUNGS_MAX (2 * ORDER_TERMS_MAX)

struct ladder {
    const struct seek *seek;
    struct seek_sql *out;
    size_t fence;
    size_t numbers[ORDER_TERMS_MAX]; /* the parameter of each part of the place; 0: not used yet */
    struct rung rungs[RUNGS_MAX];
    size_t count;
};

/* ---- which rungs there are ---- */

static void add_rung(struct ladder *ladder, enum rung_kind kind, size_t begin, size_t end)
{
    assert(ladder->count < RUNGS_MAX);
    ladder->rungs[ladder->count++] = (struct rung){kind, begin, end};
}

static bool is_null_at(const struct ladder *ladder, size_t term)
{
    return ladder->seek->after->parts[term].null;
}

/* Terms that go the same way and whose values at the place are there can be compared together, the
 * ingest number with them. What is NULL where a value stands at the place takes no part in that: it
 * lies before the place, or it has a rung of its own. */
static size_t begin_of_run(const struct ladder *ladder, size_t end)
{
    const struct order_term *terms = ladder->seek->order->terms;
    size_t begin = end - 1;
    while (begin > 0 && !is_null_at(ladder, begin) && !is_null_at(ladder, begin - 1) &&
           terms[begin - 1].desc == terms[begin].desc)
        begin--;
    return begin;
}

/* All rungs that differ from the place first in a term of the run. */
static void add_run(struct ladder *ladder, size_t begin, size_t end)
{
    const struct order_term *terms = ladder->seek->order->terms;
    if (!is_null_at(ladder, begin))
        add_rung(ladder, RUNG_BEYOND, begin, end);
    else if (!order_term_ends_in_nulls(&terms[begin]))
        add_rung(ladder, RUNG_NOT_NULL, begin, end);
    for (size_t i = begin > 0 ? begin : 1; i < end; i++) /* of the first they are left out */
        if (!is_null_at(ladder, i) && terms[i].nullable && order_term_ends_in_nulls(&terms[i]))
            add_rung(ladder, RUNG_NULL, i, i + 1);
}

/* Rungs that are `apart` come in the order of their rows: those of one term each. SQLite would not
 * look for the ingest number of a run in the index, and walk all rows that are equal but for it. */
static void list_rungs(struct ladder *ladder, bool apart)
{
    const struct row_key *after = ladder->seek->after;
    if (after == NULL || after->count == 0) {
        add_rung(ladder, RUNG_ALL, 0, 0);
        return;
    }
    assert(after->count <= ladder->seek->order->count);
    if (ladder->seek->nulls) {
        add_rung(ladder, RUNG_NULL, 0, 1);
        return;
    }
    for (size_t end = after->count, begin; end > 0; end = begin) {
        begin = apart ? end - 1 : begin_of_run(ladder, end);
        add_run(ladder, begin, end);
    }
    if (ladder->count == 0) /* behind all that have no value, where those come last */
        add_rung(ladder, RUNG_NONE, 0, 0);
}

/* ---- what one says ---- */

static size_t place_param(struct ladder *ladder, size_t term)
{
    if (ladder->numbers[term] == 0)
        ladder->numbers[term] = add_param(ladder->out, ladder->seek->after->parts[term]);
    return ladder->numbers[term];
}

static void append_beyond(struct ladder *ladder, const struct rung *rung, struct text *sql)
{
    const struct order_term *terms = ladder->seek->order->terms;
    if (rung->end == rung->begin + 1) {
        text_appendf(sql, "%s %s ?%zu AND ", terms[rung->begin].sql,
                     terms[rung->begin].desc ? "<" : ">", place_param(ladder, rung->begin));
        return;
    }
    text_append_char(sql, '(');
    for (size_t i = rung->begin; i < rung->end; i++)
        text_appendf(sql, "%s%s", i > rung->begin ? ", " : "", terms[i].sql);
    text_append_string(sql, terms[rung->begin].desc ? ") < (" : ") > (");
    for (size_t i = rung->begin; i < rung->end; i++)
        text_appendf(sql, "%s?%zu", i > rung->begin ? ", " : "", place_param(ladder, i));
    text_append_string(sql, ") AND ");
}

/* The place comes before what else bounds the rows: of two bounds of one column SQLite takes the
 * first one into the index, and the place is the nearer one. */
static void append_place(struct ladder *ladder, const struct rung *rung, struct text *sql)
{
    const struct order_term *terms = ladder->seek->order->terms;
    for (size_t i = 0; i < rung->begin; i++) {
        if (is_null_at(ladder, i))
            text_appendf(sql, "%s IS NULL AND ", terms[i].sql);
        else
            text_appendf(sql, "%s = ?%zu AND ", terms[i].sql, place_param(ladder, i));
    }
    if (rung->kind == RUNG_BEYOND)
        append_beyond(ladder, rung, sql);
    else if (rung->kind == RUNG_NULL)
        text_appendf(sql, "%s IS NULL AND ", terms[rung->begin].sql);
    else if (rung->kind == RUNG_NOT_NULL)
        text_appendf(sql, "%s IS NOT NULL AND ", terms[rung->begin].sql);
    else if (rung->kind == RUNG_NONE)
        text_append_string(sql, "1 = 0 AND ");
}

static void append_column(const char *column, struct text *sql)
{
    text_append_string(sql, ", ");
    text_append_string(sql, column);
}

/* The order's terms first, so that they can be told by their numbers. */
static void append_rung(struct ladder *ladder, const struct rung *rung)
{
    const struct seek *seek = ladder->seek;
    const struct collection *collection = seek->collection;
    const struct order *order = seek->order;
    struct text *sql = &ladder->out->text;
    text_append_string(sql, "SELECT ");
    text_append_string(sql, order->terms[0].sql);
    for (size_t i = 1; i < order->count; i++)
        append_column(order->terms[i].sql, sql);
    for (size_t i = 0; i < collection->column_count; i++)
        append_column(collection->columns[i].sql, sql);
    if (collection->extra != NULL)
        append_column(collection->extra, sql);
    text_appendf(sql, " FROM %s %s WHERE ", collection->table, collection->joins);
    append_place(ladder, rung, sql);
    append_scope(seek, ladder->fence, sql);
    text_append_string(sql, " ORDER BY ");
    for (size_t i = 0; i < order->count; i++)
        text_appendf(sql, "%s%s%s", i > 0 ? ", " : "", order->terms[i].sql,
                     direction_of(&order->terms[i]));
    text_appendf(sql, " LIMIT %zu", seek->rows_max);
}

bool seek_leaves_nulls(const struct seek *seek)
{
    const struct order_term *first = &seek->order->terms[0];
    bool placed = seek->after != NULL && seek->after->count > 0;
    return placed && !seek->nulls && !seek->after->parts[0].null && first->nullable &&
           order_term_ends_in_nulls(first);
}

static struct ladder begin_ladder(const struct seek *seek, bool apart, struct seek_sql *out)
{
    struct ladder ladder = {.seek = seek, .out = out, .fence = begin(seek, out)};
    assert(seek->order->count > 0 && seek->rows_max > 0);
    assert(seek->order->count + seek->collection->column_count <= 64);
    list_rungs(&ladder, apart);
    return ladder;
}

void seek_build(const struct seek *seek, struct seek_sql *out)
{
    const struct order *order = seek->order;
    struct text *sql = &out->text;
    struct ladder ladder = begin_ladder(seek, false, out);
    if (ladder.count == 1) {
        append_rung(&ladder, &ladder.rungs[0]);
        return;
    }
    for (size_t i = 0; i < ladder.count; i++) {
        text_append_string(sql, i > 0 ? " UNION ALL SELECT * FROM (" : "SELECT * FROM (");
        append_rung(&ladder, &ladder.rungs[i]);
        text_appendf(sql, ") r%zu", i + 1);
    }
    for (size_t i = 0; i < order->count; i++)
        text_appendf(sql, "%s%zu%s", i > 0 ? ", " : " ORDER BY ", i + 1,
                     direction_of(&order->terms[i]));
    text_appendf(sql, " LIMIT %zu", seek->rows_max);
}

bool seek_build_rung(const struct seek *seek, size_t rung, struct seek_sql *out)
{
    struct ladder ladder = begin_ladder(seek, true, out);
    if (rung >= ladder.count)
        return false;
    append_rung(&ladder, &ladder.rungs[rung]);
    return true;
}

void seek_build_count(const struct seek *seek, struct seek_sql *out)
{
    const struct collection *collection = seek->collection;
    struct text *sql = &out->text;
    size_t fence = begin(seek, out);
    text_appendf(sql, "SELECT count(*) FROM (SELECT 1 FROM %s %s WHERE ", collection->table,
                 seek->where.joined ? collection->joins : "");
    append_scope(seek, fence, sql);
    if (seek->rows_max > 0)
        text_appendf(sql, " LIMIT %zu", seek->rows_max);
    text_append_string(sql, ") c");
}

void seek_sql_free(struct seek_sql *sql)
{
    text_free(&sql->text);
    sql->param_count = 0;
}
