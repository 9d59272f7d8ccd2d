/* SPDX-License-Identifier: Apache-2.0
 *
 * row_print.h - a row of a collection as the flat JSON object that people see.
 *
 * The columns come in their order, each once, those that are NULL too; then the keys of `extra`. A
 * key of `extra` that has become a column since the row was written takes the column's place. */
#ifndef QUERY_ROW_PRINT_H
#define QUERY_ROW_PRINT_H

#include "base/json_write.h"
#include "query/collection.h"
#include "record.h"

/* `extra` is NULL, or a JSON object as text, which may be null. */
void row_print(const struct collection *collection, const struct field *columns,
               const struct field *extra, struct json_writer *writer);

#endif
