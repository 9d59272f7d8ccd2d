/* SPDX-License-Identifier: Apache-2.0 */
#include "query/row_fetch.h"

#include "query/row_print.h"

bool row_id(const struct collection *collection, struct bytes id, struct field *out)
{
    int64_t number;
    *out = field_text(id);
    if (collection->columns[0].type != COLUMN_ID)
        return true;
    if (!bytes_to_i64(id, &number))
        return false;
    *out = field_int(number);
    return true;
}

void row_append_scope(const struct collection *collection, struct text *sql)
{
    text_appendf(sql, " FROM %s %s WHERE %s = ?1", collection->table, collection->joins,
                 collection->columns[0].sql);
    if (collection->only != NULL)
        text_appendf(sql, " AND %s", collection->only);
}

struct fetch {
    const struct collection *collection;
    struct text *item;
};

static bool take_row(void *arg, const struct field *columns, size_t count)
{
    struct fetch *fetch = arg;
    struct json_writer writer;
    bool extra = fetch->collection->extra != NULL;
    text_clear(fetch->item);
    json_writer_init(&writer, fetch->item);
    row_print(fetch->collection, columns, extra ? &columns[count - 1] : NULL, &writer);
    return false;
}

enum rc row_fetch(struct store *store, const struct collection *collection, struct bytes id,
                  struct text *item, struct err *err)
{
    struct fetch fetch = {collection, item};
    struct text sql = {0};
    struct field key;
    if (!row_id(collection, id, &key))
        return RC_OK;
    text_append_string(&sql, "SELECT ");
    for (size_t i = 0; i < collection->column_count; i++)
        text_appendf(&sql, "%s%s", i > 0 ? ", " : "", collection->columns[i].sql);
    if (collection->extra != NULL)
        text_appendf(&sql, ", %s", collection->extra);
    row_append_scope(collection, &sql);
    enum rc rc = store_query(store, text_string(&sql), &key, 1, take_row, &fetch, err);
    text_free(&sql);
    return rc;
}
