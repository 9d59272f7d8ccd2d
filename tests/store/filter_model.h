/* SPDX-License-Identifier: Apache-2.0
 *
 * filter_model.h - what a filter means, read off its JSON row by row.
 *
 * Knows nothing of how the product takes a filter apart. Numbers are compared as long doubles,
 * which hold every value that an int or a float field can have. */
#ifndef TESTS_FILTER_MODEL_H
#define TESTS_FILTER_MODEL_H

#include "base/json.h"
#include "query/collection.h"
#include "record.h"

/* The filter is one that the product took. */
bool filter_model_matches(const struct collection *collection, const struct field *row,
                          struct json json);

#endif
