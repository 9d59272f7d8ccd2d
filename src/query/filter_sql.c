/* SPDX-License-Identifier: Apache-2.0 */
#include "query/filter_parts.h"

#include <assert.h>
#include <string.h>

/* A negated test says what is true instead: the turned comparison, or that there is no value. */
static const char *comparison_of(const struct filter_node *node)
{
    static const char *const words[][2] = {
        [TEST_AMONG] = {"=", "<>"}, [TEST_BELOW] = {"<", ">="}, [TEST_UP_TO] = {"<=", ">"},
        [TEST_ABOVE] = {">", "<="}, [TEST_FROM] = {">=", "<"},  [TEST_CONTAINS] = {">", "="},
    };
    return words[node->test][node->negated];
}

/* The tables' own columns compare text by its bytes; what is made of them need not. */
static void append_value(const struct column *column, struct text *sql)
{
    bool made = strpbrk(column->sql, " (|") != NULL;
    text_appendf(sql, made ? "(%s)%s" : "%s%s", column->sql,
                 made && column->type == COLUMN_TEXT ? " COLLATE \"C\"" : "");
}

static void append_values(const struct filter_node *node, struct text *sql)
{
    for (size_t i = 0; i < node->value_count; i++)
        text_appendf(sql, "%s?%zu", i > 0 ? ", " : "", node->first_value + i + 1);
}

static void append_comparison(const struct column *column, const struct filter_node *node,
                              struct text *sql)
{
    bool list = node->test == TEST_AMONG && node->value_count > 1;
    if (node->test == TEST_CONTAINS) {
        text_append_string(sql, "\"position\"(");
        append_value(column, sql);
        text_append_string(sql, ", ");
        append_values(node, sql);
        text_appendf(sql, ") %s 0", comparison_of(node));
        return;
    }
    append_value(column, sql);
    if (list)
        text_append_string(sql, node->negated ? " NOT IN (" : " IN (");
    else
        text_appendf(sql, " %s ", comparison_of(node));
    append_values(node, sql);
    if (list)
        text_append_char(sql, ')');
}

static void append_test(const struct column *column, const struct filter_node *node,
                        struct text *sql)
{
    bool or_null = node->negated && column->nullable;
    if (node->test == TEST_AMONG && node->value_count == 0) {
        text_append_string(sql, node->negated ? "1 = 1" : "1 = 0");
    } else if (node->test == TEST_NULL) {
        text_appendf(sql, "(%s) IS %sNULL", column->sql, node->negated ? "NOT " : "");
    } else {
        if (or_null)
            text_appendf(sql, "((%s) IS NULL OR ", column->sql);
        append_comparison(column, node, sql);
        if (or_null)
            text_append_char(sql, ')');
    }
}

void filter_append_sql(const struct collection *collection, const struct filter_node *nodes,
                       size_t at, struct text *sql)
{
    const struct filter_node *node = &nodes[at];
    if (node->kind == FILTER_TEST) {
        append_test(&collection->columns[node->column], node, sql);
        return;
    }
    assert(node->end > at + 1);
    if (nodes[at + 1].end == node->end) {
        filter_append_sql(collection, nodes, at + 1, sql);
        return;
    }
    text_append_char(sql, '(');
    for (size_t i = at + 1; i < node->end; i = nodes[i].end) {
        if (i > at + 1)
            text_append_string(sql, node->kind == FILTER_ALL ? " AND " : " OR ");
        filter_append_sql(collection, nodes, i, sql);
    }
    text_append_char(sql, ')');
}
