/* SPDX-License-Identifier: Apache-2.0 */
#include "query/filter_parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void filter_free(struct filter *filter)
{
    if (filter == NULL)
        return;
    where_free(&filter->where);
    text_free(&filter->json);
    free(filter->nodes);
    free(filter);
}

struct bytes filter_json(const struct filter *filter)
{
    return filter == NULL ? BYTES_ABSENT : text_bytes(&filter->json);
}

struct where filter_where(const struct filter *filter)
{
    return filter == NULL ? (struct where){0} : filter->where;
}

/* What an index is made of is what the column is ordered by; a test of something else pins
 * nothing for it. */
static bool pins(const struct filter *filter, const struct filter_node *node)
{
    const struct column *column = &filter->collection->columns[node->column];
    return node->test == TEST_AMONG && !node->negated && node->value_count == 1 &&
           column->key != NULL && strcmp(column->key, column->sql) == 0;
}

static uint64_t fixed_by(const struct filter *filter, size_t at)
{
    const struct filter_node *node = &filter->nodes[at];
    uint64_t fixed = 0;
    if (node->kind == FILTER_TEST)
        return pins(filter, node) ? UINT64_C(1) << node->column : 0;
    bool counts = node->kind == FILTER_ALL || filter->nodes[at + 1].end == node->end;
    for (size_t i = at + 1; counts && i < node->end; i = filter->nodes[i].end)
        fixed |= fixed_by(filter, i);
    return fixed;
}

uint64_t filter_fixed(const struct filter *filter)
{
    return filter == NULL ? 0 : fixed_by(filter, 0);
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

static bool matches(const struct filter *filter, size_t at, const struct field *columns)
{
    const struct filter_node *node = &filter->nodes[at];
    if (node->kind == FILTER_TEST) {
        const struct field *value = &columns[node->column];
        bool passed = value->null ? node->test == TEST_NULL
                                  : passes(node, value, filter->where.params + node->first_value);
        return passed != node->negated;
    }
    for (size_t i = at + 1; i < node->end; i = filter->nodes[i].end)
        if (matches(filter, i, columns) != (node->kind == FILTER_ALL))
            return node->kind == FILTER_ANY;
    return node->kind == FILTER_ALL;
}

bool filter_matches(const struct filter *filter, const struct field *columns)
{
    return filter == NULL || matches(filter, 0, columns);
}
