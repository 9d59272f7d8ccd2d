/* SPDX-License-Identifier: Apache-2.0 */
#include "query/explain.h"

/* The index's fields, or those of them that the filter pins. */
static void put_fields(const struct collection *collection, const struct collection_index *index,
                       uint64_t among, struct json_writer *writer)
{
    json_begin_array(writer);
    for (size_t i = 0; i < index->count; i++)
        if ((among >> index->columns[i] & 1) != 0)
            json_put_cstring(writer, collection->columns[index->columns[i]].name);
    json_end_array(writer);
}

void explain_print(const struct handle_state *state, const struct page *page,
                   struct json_writer *writer)
{
    uint64_t fixed = filter_fixed(state->filter);
    const struct collection_index *index = order_index(state->collection, &state->order, fixed);
    json_begin_object(writer);
    json_key(writer, "index");
    if (index == NULL)
        json_put_null(writer);
    else
        put_fields(state->collection, index, UINT64_MAX, writer);
    if (index != NULL) {
        json_key(writer, "pinned");
        put_fields(state->collection, index, fixed, writer);
    }
    if (page != NULL) {
        json_key(writer, "rowsScanned");
        if (page->sliced)
            json_put_i64(writer, (int64_t)page->scanned);
        else
            json_put_null(writer);
        json_key(writer, "rowsReturned");
        json_put_i64(writer, (int64_t)page->rows);
    }
    json_end_object(writer);
}
