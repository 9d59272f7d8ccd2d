/* SPDX-License-Identifier: Apache-2.0 */
#include "query/collection_declared.h"

#include "store/row_schema.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define NAME_ROOM ((size_t)128) /* a name with its quotes, in the arena */
_Static_assert(CONFIG_FIELDS_MAX < COLLECTION_COLUMNS_MAX, "the id is a column, too");
_Static_assert(CONFIG_INDEX_FIELDS_MAX <= COLLECTION_ORDER_MAX, "every index can be asked for");

static const enum column_type types[] = {
    [CONFIG_FIELD_TEXT] = COLUMN_TEXT,   [CONFIG_FIELD_INT] = COLUMN_INT,
    [CONFIG_FIELD_FLOAT] = COLUMN_FLOAT, [CONFIG_FIELD_BOOL] = COLUMN_BOOL,
    [CONFIG_FIELD_TIME] = COLUMN_TIME,   [CONFIG_FIELD_JSON] = COLUMN_JSON};

size_t collection_declared_size(const struct config_collection *from)
{
    return (from->field_count + 2) * (NAME_ROOM + sizeof(struct column)) +
           (from->index_count + 4) * sizeof(struct collection_index) + 1024;
}

static void *take(struct arena *arena, size_t size)
{
    void *memory = arena_take(arena, size);
    assert(memory != NULL);
    return memory;
}

static const char *write_name(struct arena *arena, const char *before, const char *name,
                              const char *after)
{
    char *out = take(arena, NAME_ROOM);
    int len = snprintf(out, NAME_ROOM, "%s%s%s", before, name, after);
    assert(len > 0 && (size_t)len < NAME_ROOM);
    return out;
}

static void add_columns(const struct config_collection *from, struct arena *arena,
                        struct collection *out)
{
    struct column *columns = take(arena, (from->field_count + 1) * sizeof *columns);
    columns[0] = (struct column){"id", COLUMN_TEXT, "t.id", "t.id", false};
    for (size_t i = 0; i < from->field_count; i++) {
        const struct config_field *field = &from->fields[i];
        const char *sql = write_name(arena, "t.\"", field->name, "\"");
        columns[i + 1] = (struct column){.name = field->name,
                                         .type = types[field->type],
                                         .sql = sql,
                                         .key = field->type == CONFIG_FIELD_JSON ? NULL : sql,
                                         .nullable = true};
    }
    out->columns = columns;
    out->column_count = from->field_count + 1;
}

static bool is_ready(const struct config_collection *from, const struct config_list *fields,
                     struct bytes ready)
{
    char name[ROW_TABLE_NAME_MAX];
    row_schema_index_name(from->name, fields, name);
    return row_schema_is_ready(ready, name);
}

static void add_index(const struct collection *collection, const struct config_list *fields,
                      struct collection_index *index)
{
    *index = (struct collection_index){.count = (uint8_t)fields->count};
    for (size_t i = 0; i < fields->count; i++) {
        int column = collection_column(collection, bytes_of(fields->items[i]));
        assert(column > 0);
        index->columns[i] = (uint8_t)column;
    }
}

/* The ingest number and the id have theirs always. */
static void add_indexes(const struct config_collection *from, struct bytes ready,
                        struct arena *arena, struct collection *out)
{
    struct collection_index *indexes = take(arena, (from->index_count + 3) * sizeof *indexes);
    struct config_list order = row_schema_default_order(from);
    size_t count = 2;
    indexes[0] = (struct collection_index){.count = 0};
    indexes[1] = (struct collection_index){.count = 1, .columns = {0}};
    if (order.count > 0 && is_ready(from, &order, ready)) {
        struct collection_order *by = take(arena, sizeof *by);
        add_index(out, &order, &indexes[count]);
        *by = (struct collection_order){.column = indexes[count++].columns[0],
                                        .desc = from->sort_direction == CONFIG_DESCENDING};
        out->order = by;
        out->order_count = 1;
    }
    for (size_t i = 0; i < from->index_count; i++)
        if (is_ready(from, &from->indexes[i], ready))
            add_index(out, &from->indexes[i], &indexes[count++]);
    out->indexes = indexes;
    out->index_count = count;
}

void collection_declare(const struct config_collection *from, unsigned shape, struct bytes ready,
                        struct arena *arena, struct collection *out)
{
    *out = (struct collection){
        .name = from->name,
        .table = write_name(arena, "\"" ROW_TABLE_PREFIX, from->name, "\" t"),
        .joins = "",
        .n = "t.n",
        .oldest_first = from->sort_field[0] == '\0' && from->sort_direction == CONFIG_ASCENDING,
        .page_size = (unsigned)from->page_size,
        .tombstones = from->name,
        .pasts = from->name,
        .fixed = 1,
        .seq = "t.seq",
        .declared = true,
        .shape = shape,
        .extra = "t.extra",
    };
    add_columns(from, arena, out);
    add_indexes(from, ready, arena, out);
}
