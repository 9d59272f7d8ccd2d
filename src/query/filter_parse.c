/* SPDX-License-Identifier: Apache-2.0 */
#include "query/filter_parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES_MAX 64
#define ARENA_SIZE     (FILTER_BYTES_MAX + WHERE_PARAMS_MAX * (ARENA_PAD + 16))

struct parsing {
    const struct collection *collection;
    struct refusal *refusal;
    struct filter_node nodes[FILTER_NODES_MAX];
    size_t node_count;
    struct field values[WHERE_PARAMS_MAX];
    size_t value_count;
    size_t bytes;       /* of the values */
    struct arena arena; /* values that stand in no document */
    unsigned depth;
};

static int shown(struct bytes name)
{
    return (int)(name.len < NAME_BYTES_MAX ? name.len : NAME_BYTES_MAX);
}

static enum rc refuse(struct parsing *parsing, const char *what, long max)
{
    return refusal_set(parsing->refusal, REFUSAL_BAD_FILTER, "filter: more than %ld %s", max, what);
}

/* ---- nodes and values ---- */

static enum rc add_node(struct parsing *parsing, struct filter_node node)
{
    if (parsing->node_count == FILTER_NODES_MAX)
        return refuse(parsing, "conditions", FILTER_NODES_MAX);
    node.end = (uint16_t)(parsing->node_count + 1);
    parsing->nodes[parsing->node_count++] = node;
    return RC_OK;
}

/* Begins a group; what is added until close_group() belongs to it. */
static enum rc open_group(struct parsing *parsing, bool all, size_t *group)
{
    *group = parsing->node_count;
    return add_node(parsing, (struct filter_node){.kind = all ? FILTER_ALL : FILTER_ANY});
}

static void close_group(struct parsing *parsing, size_t group)
{
    parsing->nodes[group].end = (uint16_t)parsing->node_count;
}

static enum rc add_value(struct parsing *parsing, struct field value)
{
    if (parsing->value_count == WHERE_PARAMS_MAX)
        return refuse(parsing, "values", WHERE_PARAMS_MAX);
    if (row_key_has_bytes(&value))
        parsing->bytes += value.b.len;
    if (parsing->bytes > FILTER_BYTES_MAX)
        return refuse(parsing, "bytes of values", FILTER_BYTES_MAX);
    parsing->values[parsing->value_count++] = value;
    return RC_OK;
}

static uint8_t column_of(const struct parsing *parsing, const struct filter_place *place)
{
    return (uint8_t)(place->column - parsing->collection->columns);
}

/* A test of the values added last. */
static enum rc add_test(struct parsing *parsing, const struct filter_place *place,
                        enum filter_test test, bool negated, size_t value_count)
{
    return add_node(
        parsing, (struct filter_node){.kind = FILTER_TEST,
                                      .test = test,
                                      .negated = negated,
                                      .column = column_of(parsing, place),
                                      .first_value = (uint16_t)(parsing->value_count - value_count),
                                      .value_count = (uint16_t)value_count});
}

/* ---- operators ---- */

typedef enum rc operator_fn(struct parsing *parsing, const struct filter_place *place,
                            enum filter_test test, struct json json, bool negated);

static enum rc parse_flag(struct parsing *parsing, const struct filter_place *place,
                          struct json json, bool negated)
{
    bool flag;
    if (!json_bool(json, &flag))
        return filter_refuse_value(place, "true or false", json, parsing->refusal);
    return add_test(parsing, place, TEST_NULL, flag == negated, 0);
}

static enum rc parse_is_null(struct parsing *parsing, const struct filter_place *place,
                             enum filter_test test, struct json json, bool negated)
{
    (void)test;
    return parse_flag(parsing, place, json, negated);
}

static enum rc parse_exists(struct parsing *parsing, const struct filter_place *place,
                            enum filter_test test, struct json json, bool negated)
{
    (void)test;
    return parse_flag(parsing, place, json, !negated);
}

/* A value that the field can equal; null is none and is told apart. */
static enum rc parse_equal(struct parsing *parsing, const struct filter_place *place,
                           struct json json, bool *null)
{
    struct field value;
    enum operand_fit fit;
    if (json_type(json) == JSON_NULL) {
        *null = true;
        return RC_OK;
    }
    enum rc rc = filter_read_value(place, json, &value, &fit, parsing->refusal);
    if (rc != RC_OK)
        return rc;
    if (fit != OPERAND_EXACT)
        return filter_refuse_value(place, "a whole number of 64 bits", json, parsing->refusal);
    return add_value(parsing, value);
}

/* Equals one of the values added since `first`, or is null, too. */
static enum rc end_among(struct parsing *parsing, const struct filter_place *place, size_t first,
                         bool null, bool negated)
{
    size_t count = parsing->value_count - first, group;
    if (!null)
        return add_test(parsing, place, TEST_AMONG, negated, count);
    if (count == 0)
        return add_test(parsing, place, TEST_NULL, negated, 0);
    enum rc rc = open_group(parsing, negated, &group);
    if (rc == RC_OK)
        rc = add_test(parsing, place, TEST_AMONG, negated, count);
    if (rc == RC_OK)
        rc = add_test(parsing, place, TEST_NULL, negated, 0);
    close_group(parsing, group);
    return rc;
}

static enum rc parse_one(struct parsing *parsing, const struct filter_place *place,
                         enum filter_test test, struct json json, bool negated)
{
    size_t first = parsing->value_count;
    bool null = false;
    assert(test == TEST_AMONG);
    enum rc rc = parse_equal(parsing, place, json, &null);
    return rc == RC_OK ? end_among(parsing, place, first, null, negated) : rc;
}

static enum rc parse_list(struct parsing *parsing, const struct filter_place *place,
                          enum filter_test test, struct json json, bool negated)
{
    struct json_walk walk = json_walk(json);
    size_t first = parsing->value_count;
    struct bytes key;
    struct json item;
    bool null = false;
    enum rc rc = RC_OK;
    assert(test == TEST_AMONG);
    if (json_type(json) != JSON_ARRAY)
        return filter_refuse_value(place, "a list", json, parsing->refusal);
    while (rc == RC_OK && json_walk_next(&walk, &key, &item))
        rc = parse_equal(parsing, place, item, &null);
    return rc == RC_OK ? end_among(parsing, place, first, null, negated) : rc;
}

/* All numbers lie on one side of the operand: every value passes, or none. */
static enum rc add_one_sided(struct parsing *parsing, const struct filter_place *place, bool passes,
                             bool negated)
{
    return passes ? add_test(parsing, place, TEST_NULL, !negated, 0)
                  : add_test(parsing, place, TEST_AMONG, negated, 0);
}

static enum rc parse_comparison(struct parsing *parsing, const struct filter_place *place,
                                enum filter_test test, struct json json, bool negated)
{
    struct field value;
    enum operand_fit fit;
    bool upwards = test == TEST_ABOVE || test == TEST_FROM;
    enum rc rc = filter_read_value(place, json, &value, &fit, parsing->refusal);
    if (rc != RC_OK)
        return rc;
    if (fit == OPERAND_ABOVE_ALL || fit == OPERAND_BELOW_ALL)
        return add_one_sided(parsing, place, upwards == (fit == OPERAND_BELOW_ALL), negated);
    if (fit == OPERAND_BETWEEN)
        test = upwards ? TEST_ABOVE : TEST_UP_TO;
    rc = add_value(parsing, value);
    return rc == RC_OK ? add_test(parsing, place, test, negated, 1) : rc;
}

static enum rc parse_part(struct parsing *parsing, const struct filter_place *place,
                          struct json json, struct field *value)
{
    enum column_type type = place->column->type;
    enum operand_fit fit;
    if (type != COLUMN_TEXT && type != COLUMN_BYTES)
        return refusal_set(parsing->refusal, REFUSAL_BAD_FILTER,
                           "filter: %s %s: expected a field of text, found one of another type",
                           place->column->name, place->name);
    return filter_read_value(place, json, value, &fit, parsing->refusal);
}

static enum rc parse_contains(struct parsing *parsing, const struct filter_place *place,
                              enum filter_test test, struct json json, bool negated)
{
    struct field value = field_null(FIELD_TEXT);
    enum rc rc = parse_part(parsing, place, json, &value);
    if (rc != RC_OK)
        return rc;
    if (value.b.len == 0) /* stands in everything */
        return add_test(parsing, place, TEST_NULL, !negated, 0);
    rc = add_value(parsing, value);
    return rc == RC_OK ? add_test(parsing, place, test, negated, 1) : rc;
}

static enum rc parse_prefix(struct parsing *parsing, const struct filter_place *place,
                            enum filter_test test, struct json json, bool negated)
{
    struct field value = field_null(FIELD_TEXT);
    size_t group;
    enum rc rc = parse_part(parsing, place, json, &value);
    if (rc != RC_OK)
        return rc;
    if (value.b.len == 0)
        return add_test(parsing, place, TEST_NULL, !negated, 0);
    rc = open_group(parsing, !negated, &group);
    if (rc == RC_OK)
        rc = add_value(parsing, value);
    if (rc == RC_OK)
        rc = add_test(parsing, place, test, negated, 1);
    if (rc == RC_OK && filter_next_after(&parsing->arena, &value)) {
        rc = add_value(parsing, value);
        if (rc == RC_OK)
            rc = add_test(parsing, place, TEST_BELOW, negated, 1);
    }
    close_group(parsing, group);
    return rc;
}

static const struct filter_operator {
    const char *name;
    operator_fn *parse;
    enum filter_test test;
    bool negated;
} operators[] = {
    {"$eq", parse_one, TEST_AMONG, false},
    {"$ne", parse_one, TEST_AMONG, true},
    {"$in", parse_list, TEST_AMONG, false},
    {"$nin", parse_list, TEST_AMONG, true},
    {"$gt", parse_comparison, TEST_ABOVE, false},
    {"$gte", parse_comparison, TEST_FROM, false},
    {"$lt", parse_comparison, TEST_BELOW, false},
    {"$lte", parse_comparison, TEST_UP_TO, false},
    {"$contains", parse_contains, TEST_CONTAINS, false},
    {"$prefix", parse_prefix, TEST_FROM, false},
    {"$exists", parse_exists, TEST_NULL, false},
    {"$isNull", parse_is_null, TEST_NULL, false},
};

static const struct filter_operator *find_operator(struct bytes name)
{
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++)
        if (bytes_equal_string(name, operators[i].name))
            return &operators[i];
    return NULL;
}

/* ---- fields and filters ---- */

static enum rc go_deeper(struct parsing *parsing)
{
    if (parsing->depth == FILTER_DEPTH_MAX)
        return refuse(parsing, "levels", FILTER_DEPTH_MAX);
    parsing->depth++;
    return RC_OK;
}

static enum rc parse_operators(struct parsing *parsing, const struct column *column,
                               struct json json, bool negated);

static enum rc parse_operator(struct parsing *parsing, const struct column *column,
                              struct bytes name, struct json json, bool negated)
{
    const struct filter_operator *found = find_operator(name);
    if (bytes_equal_string(name, "$not"))
        return parse_operators(parsing, column, json, !negated);
    if (found == NULL)
        return refusal_set(parsing->refusal, REFUSAL_UNKNOWN_OPERATOR,
                           "filter: %s: there is no operator \"%.*s\"", column->name, shown(name),
                           name.data);
    const struct filter_place place = {.column = column, .name = found->name};
    return found->parse(parsing, &place, found->test, json, negated != found->negated);
}

static enum rc parse_operators(struct parsing *parsing, const struct column *column,
                               struct json json, bool negated)
{
    struct json_walk walk = json_walk(json);
    struct bytes name;
    struct json operand;
    size_t group;
    if (json_type(json) != JSON_OBJECT || json_count(json) == 0)
        return filter_refuse_value(&(struct filter_place){column, "$not"},
                                   "operators as {\"$gt\": 1}", json, parsing->refusal);
    enum rc rc = go_deeper(parsing);
    if (rc == RC_OK)
        rc = open_group(parsing, !negated, &group);
    if (rc != RC_OK)
        return rc;
    while (rc == RC_OK && json_walk_next(&walk, &name, &operand))
        rc = parse_operator(parsing, column, name, operand, negated);
    close_group(parsing, group);
    parsing->depth--;
    return rc;
}

static enum rc parse_field(struct parsing *parsing, struct bytes name, struct json json,
                           bool negated)
{
    int at = collection_column(parsing->collection, name);
    if (at < 0)
        return collection_refuse_field(parsing->collection, "filter", name, parsing->refusal);
    const struct column *column = &parsing->collection->columns[at];
    if (json_type(json) == JSON_OBJECT && json_count(json) > 0)
        return parse_operators(parsing, column, json, negated);
    return parse_operator(parsing, column, bytes_of("$eq"), json, negated);
}

static enum rc parse_filter(struct parsing *parsing, struct json json, bool negated);

/* All of the filters in a list, or any of them. */
static enum rc parse_filters(struct parsing *parsing, const char *name, bool all, struct json json,
                             bool negated)
{
    struct json_walk walk = json_walk(json);
    struct bytes key;
    struct json item;
    size_t group;
    if (json_type(json) != JSON_ARRAY || json_count(json) == 0)
        return refusal_set(parsing->refusal, REFUSAL_BAD_FILTER,
                           "filter: %s: expected a list with at least one filter", name);
    enum rc rc = open_group(parsing, all != negated, &group);
    if (rc != RC_OK)
        return rc;
    while (rc == RC_OK && json_walk_next(&walk, &key, &item))
        rc = parse_filter(parsing, item, negated);
    close_group(parsing, group);
    return rc;
}

static enum rc parse_member(struct parsing *parsing, struct bytes name, struct json json,
                            bool negated)
{
    if (bytes_equal_string(name, "$and"))
        return parse_filters(parsing, "$and", true, json, negated);
    if (bytes_equal_string(name, "$or"))
        return parse_filters(parsing, "$or", false, json, negated);
    if (bytes_equal_string(name, "$not"))
        return parse_filter(parsing, json, !negated);
    if (bytes_starts_with(name, "$"))
        return refusal_set(parsing->refusal, REFUSAL_UNKNOWN_OPERATOR,
                           "filter: there is no operator \"%.*s\" beside $and, $or and $not",
                           shown(name), name.data);
    return parse_field(parsing, name, json, negated);
}

/* An empty one matches all rows, which a group without members could not say. */
static enum rc parse_filter(struct parsing *parsing, struct json json, bool negated)
{
    struct json_walk walk = json_walk(json);
    struct bytes name;
    struct json member;
    size_t group;
    if (json_type(json) != JSON_OBJECT || json_count(json) == 0)
        return refusal_set(parsing->refusal, REFUSAL_BAD_FILTER,
                           "filter: expected fields as {\"field\": value}");
    enum rc rc = go_deeper(parsing);
    if (rc == RC_OK)
        rc = open_group(parsing, !negated, &group);
    if (rc != RC_OK)
        return rc;
    while (rc == RC_OK && json_walk_next(&walk, &name, &member))
        rc = parse_member(parsing, name, member, negated);
    close_group(parsing, group);
    parsing->depth--;
    return rc;
}

/* ---- the whole ---- */

static bool reads_other_tables(const struct parsing *parsing)
{
    for (size_t i = 0; i < parsing->node_count; i++)
        if (parsing->nodes[i].kind == FILTER_TEST &&
            seek_reads_joins(parsing->collection->columns[parsing->nodes[i].column].sql))
            return true;
    return false;
}

static struct filter *make(const struct parsing *parsing, struct json json)
{
    struct filter *filter = memory_new_zeroed(1, sizeof *filter);
    struct text sql = {0};
    filter->collection = parsing->collection;
    filter->nodes = memory_new(parsing->node_count * sizeof filter->nodes[0]);
    memcpy(filter->nodes, parsing->nodes, parsing->node_count * sizeof filter->nodes[0]);
    filter_append_sql(filter->collection, filter->nodes, 0, &sql);
    filter->where = where_copy((struct where){.sql = text_string(&sql),
                                              .params = parsing->values,
                                              .count = parsing->value_count,
                                              .joined = reads_other_tables(parsing)});
    text_free(&sql);
    json_print(json, &filter->json);
    return filter;
}

enum rc filter_parse(const struct collection *collection, struct json json, struct filter **filter,
                     struct refusal *refusal)
{
    enum json_type type = json_type(json);
    *filter = NULL;
    if (type == JSON_ABSENT || type == JSON_NULL || (type == JSON_OBJECT && json_count(json) == 0))
        return RC_OK;
    struct parsing *parsing = memory_new_zeroed(1, sizeof *parsing);
    parsing->collection = collection;
    parsing->refusal = refusal;
    arena_init(&parsing->arena, ARENA_SIZE);
    enum rc rc = parse_filter(parsing, json, false);
    if (rc == RC_OK)
        *filter = make(parsing, json);
    arena_deinit(&parsing->arena);
    free(parsing);
    return rc;
}
