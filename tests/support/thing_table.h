/* SPDX-License-Identifier: Apache-2.0
 *
 * thing_table.h - a collection of things to try queries on.
 *
 * Its rows stand in a table `thing`, whose ingest number is its `n`. What else a thing has is up to
 * the test; those that do not mind have one value of each type. */
#ifndef TESTS_THING_TABLE_H
#define TESTS_THING_TABLE_H

#include "query/collection.h"

/* Of a struct collection; the columns and all else are the test's. */
#define THING_TABLE .name = "things", .table = "thing t", .joins = "", .n = "t.n"

/* Of its columns. */
#define THING_NUMBER                                                                               \
    {                                                                                              \
        "id", COLUMN_ID, "t.n", "t.n", false                                                       \
    }
#define THING_VALUES                                                                               \
    {"s", COLUMN_TEXT, "t.s", "t.s", true}, {"i", COLUMN_INT, "t.i", "t.i", true},                 \
        {"t", COLUMN_TIME, "t.t", "t.t", true}, {"b", COLUMN_BOOL, "t.b", "t.b", true},            \
        {"f", COLUMN_FLOAT, "t.f", "t.f", true},                                                   \
    {                                                                                              \
        "j", COLUMN_JSON, "t.j", NULL, true                                                        \
    }
#define THING_VALUE_COUNT 6

#endif
