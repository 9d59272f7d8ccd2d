/* SPDX-License-Identifier: Apache-2.0
 *
 * filter_parts.h - a filter from inside: tests in groups, without a "not".
 *
 * The nodes stand in one row, each group before its members, and `end` says where what belongs to a
 * node is over. A "not" was pushed down to the tests when the filter was read: there it only turns
 * the answer round, so SQL never negates a NULL. What an operator says in other words is said in
 * these: $prefix is an interval, $eq a list of one. */
#ifndef QUERY_FILTER_PARTS_H
#define QUERY_FILTER_PARTS_H

#include "base/arena.h"
#include "query/filter.h"

enum filter_kind { FILTER_ALL, FILTER_ANY, FILTER_TEST };

enum filter_test {
    TEST_NULL,
    TEST_AMONG, /* equals one of its values; there may be none */
    TEST_BELOW,
    TEST_UP_TO,
    TEST_ABOVE,
    TEST_FROM,
    TEST_CONTAINS,
};

struct filter_node {
    enum filter_kind kind;
    enum filter_test test;
    bool negated;
    uint8_t column;
    uint16_t first_value, value_count;
    uint16_t end;
};

struct filter {
    const struct collection *collection;
    struct filter_node *nodes; /* the first is the whole filter */
    struct where where;        /* its parameters are the values, in their order */
    struct text json;
};

/* Writes a node as SQL; value i is parameter ?i+1. */
void filter_append_sql(const struct collection *collection, const struct filter_node *nodes,
                       size_t at, struct text *sql);

/* Where a field's value is asked for. */
struct filter_place {
    const struct column *column;
    const char *name; /* of the operator */
};

enum operand_fit {
    OPERAND_EXACT,
    OPERAND_BETWEEN,   /* a fraction above the whole number `value` */
    OPERAND_ABOVE_ALL, /* above all numbers the field can have */
    OPERAND_BELOW_ALL,
};

/* Reads a value of the field's type; what it points at is the document's. Only an int field's can
 * be inexact. */
must_check enum rc filter_read_value(const struct filter_place *place, struct json json,
                                     struct field *value, enum operand_fit *fit,
                                     struct refusal *refusal);
/* Makes of a text the lowest value above all that begin with it; false: there is none. */
must_check bool filter_next_after(struct arena *arena, struct field *value);
/* BAD_FILTER: at this place `expected` was expected and `json` found. */
enum rc filter_refuse_value(const struct filter_place *place, const char *expected,
                            struct json json, struct refusal *refusal);

#endif
