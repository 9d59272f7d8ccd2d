/* SPDX-License-Identifier: Apache-2.0 */
#include "query/filter_parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define JSON_BYTES_MAX ((size_t)2 << 20) /* a filter was in the body of a request */

void filter_free(struct filter *filter)
{
    if (filter == NULL)
        return;
    where_free(&filter->where);
    text_free(&filter->json);
    free(filter->nodes);
    free(filter);
}

enum rc filter_renew(struct filter **filter, const struct collection *collection,
                     struct refusal *refusal)
{
    struct filter *fresh = NULL;
    struct json root;
    struct err err;
    if (*filter == NULL)
        return RC_OK;
    struct json_doc *doc = json_doc_new(JSON_BYTES_MAX, JSON_DEPTH_MAX);
    enum rc rc = json_parse_copy(doc, text_bytes(&(*filter)->json), &root, &err);
    assert(rc == RC_OK);
    rc = filter_parse(collection, root, &fresh, refusal);
    json_doc_free(doc);
    if (rc != RC_OK)
        return rc;
    filter_free(*filter);
    *filter = fresh;
    return RC_OK;
}

struct bytes filter_json(const struct filter *filter)
{
    return filter == NULL ? BYTES_ABSENT : text_bytes(&filter->json);
}

struct where filter_where(const struct filter *filter)
{
    const struct where everything = {0};
    return filter == NULL ? everything : filter->where;
}

/* An index is made of what columns are ordered by; a test of something else means nothing to it. */
static bool concerns_index(const struct filter *filter, const struct filter_node *node)
{
    const struct column *column = &filter->collection->columns[node->column];
    return column->key != NULL && strcmp(column->key, column->sql) == 0;
}

static bool pins(const struct filter *filter, const struct filter_node *node)
{
    return node->test == TEST_AMONG && !node->negated && node->value_count == 1 &&
           concerns_index(filter, node);
}

/* The next test that every matching row passes, from node `at` on; node 0 begins. */
static const struct filter_node *next_duty(const struct filter *filter, size_t *at)
{
    while (*at < filter->nodes[0].end) {
        const struct filter_node *node = &filter->nodes[*at];
        bool sole = node->kind != FILTER_TEST && filter->nodes[*at + 1].end == node->end;
        *at = node->kind == FILTER_ALL || sole ? *at + 1 : node->end;
        if (node->kind == FILTER_TEST)
            return node;
    }
    return NULL;
}

uint64_t filter_fixed(const struct filter *filter)
{
    const struct filter_node *node;
    uint64_t fixed = 0;
    size_t at = 0;
    while (filter != NULL && (node = next_duty(filter, &at)) != NULL)
        if (pins(filter, node))
            fixed |= UINT64_C(1) << node->column;
    return fixed;
}

/* The rows that pass lie side by side in an index over this field. */
static bool is_interval(const struct filter *filter, const struct filter_node *node)
{
    bool comparison = node->test >= TEST_BELOW && node->test <= TEST_FROM && !node->negated;
    return (comparison || node->test == TEST_NULL) && concerns_index(filter, node);
}

struct where filter_index_where(const struct filter *filter, const struct collection_index *index,
                                struct text *sql)
{
    const struct filter_node *node;
    uint64_t fixed = filter_fixed(filter), inside = 0, ranged = 0;
    size_t at = 0;
    text_clear(sql);
    for (size_t i = 0; i < index->count; i++) {
        uint64_t bit = UINT64_C(1) << index->columns[i];
        inside |= fixed & bit;
        if (ranged == 0 && (fixed & bit) == 0)
            ranged = bit;
    }
    while (filter != NULL && (node = next_duty(filter, &at)) != NULL) {
        uint64_t bit = UINT64_C(1) << node->column;
        if (!((inside & bit) != 0 && pins(filter, node)) &&
            !((ranged & bit) != 0 && is_interval(filter, node)))
            continue;
        text_append_string(sql, sql->len > 0 ? " AND " : "");
        filter_append_sql(filter->collection, node, 0, sql);
    }
    if (filter == NULL || sql->len == 0)
        return (struct where){0};
    return (struct where){
        .sql = text_string(sql), .params = filter->where.params, .count = filter->where.count};
}

static bool contains(struct bytes text, struct bytes part)
{
    return part.len == 0 || (text.len > 0 && memmem(text.data, text.len, part.data, part.len));
}

static bool is_among(const struct field *value, const struct field *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (field_compare(value, &values[i]) == 0)
            return true;
    return false;
}

/* Whether a value that is there passes the test, before it is negated. */
static bool passes(const struct filter_node *node, const struct field *value,
                   const struct field *values)
{
    switch (node->test) {
    case TEST_NULL:
        return false;
    case TEST_AMONG:
        return is_among(value, values, node->value_count);
    case TEST_BELOW:
        return field_compare(value, values) < 0;
    case TEST_UP_TO:
        return field_compare(value, values) <= 0;
    case TEST_ABOVE:
        return field_compare(value, values) > 0;
    case TEST_FROM:
        return field_compare(value, values) >= 0;
    case TEST_CONTAINS:
        return contains(value->b, values->b);
    }
    abort();
}

/* Nothing in a filter negates a group, so a test that may turn out either way is taken to pass. */
static bool matches(const struct filter *filter, size_t at, const struct field *columns,
                    uint64_t known)
{
    const struct filter_node *node = &filter->nodes[at];
    if (node->kind == FILTER_TEST) {
        const struct field *value = &columns[node->column];
        if ((known >> node->column & 1) == 0)
            return true;
        bool passed = value->null ? node->test == TEST_NULL
                                  : passes(node, value, filter->where.params + node->first_value);
        return passed != node->negated;
    }
    for (size_t i = at + 1; i < node->end; i = filter->nodes[i].end)
        if (matches(filter, i, columns, known) != (node->kind == FILTER_ALL))
            return node->kind == FILTER_ANY;
    return node->kind == FILTER_ALL;
}

bool filter_matches(const struct filter *filter, const struct field *columns)
{
    return filter == NULL || matches(filter, 0, columns, UINT64_MAX);
}

bool filter_may_match(const struct filter *filter, const struct field *columns, uint64_t known)
{
    return filter == NULL || matches(filter, 0, columns, known);
}
