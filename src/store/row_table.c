/* SPDX-License-Identifier: Apache-2.0 */
#include "store/row_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { STATEMENT_TOMBSTONE, STATEMENT_DELETE, STATEMENT_PUT };

enum field_type row_table_type(enum config_field_type type)
{
    static const enum field_type types[] = {
        [CONFIG_FIELD_TEXT] = FIELD_TEXT,  [CONFIG_FIELD_INT] = FIELD_INT,
        [CONFIG_FIELD_FLOAT] = FIELD_REAL, [CONFIG_FIELD_BOOL] = FIELD_INT,
        [CONFIG_FIELD_TIME] = FIELD_INT,   [CONFIG_FIELD_JSON] = FIELD_TEXT};
    assert(type <= CONFIG_FIELD_JSON);
    return types[type];
}

/* Whoever deletes leaves a trace for those who follow the collection. */
static void write_delete(const struct config_collection *collection, struct row_table *table)
{
    text_appendf(&table->sql[STATEMENT_TOMBSTONE],
                 "INSERT INTO tombstones (collection, key, rev, n, seq, at_us) "
                 "SELECT r.collection, r.id, '', t.n, {seq}, r.at_us {rows with} "
                 "\"" ROW_TABLE_PREFIX "%s\" t WHERE t.id = r.id "
                 "ON CONFLICT (collection, key) DO UPDATE SET n = excluded.n, seq = excluded.seq, "
                 "at_us = excluded.at_us",
                 collection->name);
    text_appendf(&table->sql[STATEMENT_DELETE],
                 "DELETE FROM \"" ROW_TABLE_PREFIX "%s\" WHERE id IN (SELECT r.id {rows})",
                 collection->name);
}

/* A row comes whole: whoever wrote it has read what it does not change. */
static void write_put(const struct config_collection *collection, struct row_table *table)
{
    struct text *sql = &table->sql[STATEMENT_PUT];
    text_appendf(sql, "INSERT INTO \"" ROW_TABLE_PREFIX "%s\" (n, id, seq, extra",
                 collection->name);
    for (size_t i = 0; i < collection->field_count; i++)
        text_appendf(sql, ", \"%s\"", collection->fields[i].name);
    text_append_string(sql, ") SELECT r.n, r.id, {seq}, r.extra");
    for (size_t i = 0; i < collection->field_count; i++)
        text_appendf(sql, ", r.c%zu", i);
    text_append_string(sql, " {rows} WHERE true ON CONFLICT (id) DO UPDATE SET "
                            "seq = excluded.seq, extra = excluded.extra");
    for (size_t i = 0; i < collection->field_count; i++)
        text_appendf(sql, ", \"%s\" = excluded.\"%s\"", collection->fields[i].name,
                     collection->fields[i].name);
}

struct row_table *row_table_new(const struct config_collection *collection, unsigned shape)
{
    struct row_table *table = memory_new_zeroed(1, sizeof *table);
    assert(collection->field_count <= CONFIG_FIELDS_MAX);
    table->shape = shape;
    table->column_count = collection->field_count;
    for (size_t i = 0; i < collection->field_count; i++)
        table->columns[i] = row_table_type(collection->fields[i].type);
    table->put = (struct condition){ROW_ACT, row_table_act(shape, RECORD_OP_PUT)};
    table->taken = (struct condition){ROW_ACT, row_table_act(shape, RECORD_OP_DELETE)};
    write_delete(collection, table);
    write_put(collection, table);
    for (size_t i = 0; i < ROW_TABLE_STATEMENTS; i++)
        table->statements[i] =
            (struct statement){.kind = RECORD_ROW,
                               .only = i == STATEMENT_PUT ? &table->put : &table->taken,
                               .columns = table->columns,
                               .sql = text_string(&table->sql[i])};
    return table;
}

void row_table_hide(struct row_table *table, const char *collection, struct bytes columns)
{
    struct text *sql = &table->sql[STATEMENT_PUT];
    if (table->hidden.len > 0)
        return;
    text_append(&table->hidden, columns.data, columns.len);
    for (const char *name = text_string(&table->hidden); *name != '\0';) {
        int len = (int)strcspn(name, "\n");
        text_appendf(sql,
                     ", \"%.*s\" = CASE WHEN {member %.*s excluded.extra} THEN NULL "
                     "ELSE \"" ROW_TABLE_PREFIX "%s\".\"%.*s\" END",
                     len, name, len, name, collection, len, name);
        name += len + 1;
    }
    table->statements[STATEMENT_PUT].sql = text_string(sql);
}

bool row_table_hides(const struct row_table *table, const char *column)
{
    size_t size = strlen(column);
    for (const char *name = text_string(&table->hidden); *name != '\0';) {
        size_t len = strcspn(name, "\n");
        if (len == size && memcmp(name, column, len) == 0)
            return true;
        name += len + 1;
    }
    return false;
}

void row_table_free(struct row_table *table)
{
    text_free(&table->hidden);
    for (size_t i = 0; i < ROW_TABLE_STATEMENTS; i++)
        text_free(&table->sql[i]);
    free(table);
}
