/* SPDX-License-Identifier: Apache-2.0
 *
 * explain.h - tells a person how a query is answered: by which index, and at what cost. */
#ifndef QUERY_EXPLAIN_H
#define QUERY_EXPLAIN_H

#include "base/json_write.h"
#include "query/handle_state.h"

/* Writes {index, pinned} and, of a page that was counted, {rowsScanned, rowsReturned}. `page` NULL:
 * none was read. */
void explain_print(const struct handle_state *state, const struct page *page,
                   struct json_writer *writer);

#endif
