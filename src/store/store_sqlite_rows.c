/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_sqlite.h"

#include <assert.h>
#include <stdlib.h>

/* One table per kind of record: the fields in their order, then the ingest number. */
struct rows_table {
    sqlite3_vtab base;
    const struct sqlite_rows *rows;
    int n_column;
};

struct rows_cursor {
    sqlite3_vtab_cursor base;
    size_t at;
};

static const struct sqlite_rows *rows_of(const sqlite3_vtab_cursor *cursor)
{
    return ((const struct rows_table *)cursor->pVtab)->rows;
}

static int connect_rows(sqlite3 *db, void *arg, int argc, const char *const *argv,
                        sqlite3_vtab **out, char **why)
{
    const struct sqlite_rows_kind *of = arg;
    const struct record_kind *kind = &record_kinds[of->kind];
    struct text sql = {0};
    (void)argc, (void)argv, (void)why;
    text_append_string(&sql, "CREATE TABLE rows (");
    for (uint8_t i = 0; i < kind->field_count; i++)
        text_appendf(&sql, "%s, ", kind->field_names[i]);
    text_append_string(&sql, "n)");
    int code = sqlite3_declare_vtab(db, text_string(&sql));
    text_free(&sql);
    if (code != SQLITE_OK)
        return code;
    struct rows_table *table = memory_new_zeroed(1, sizeof *table);
    table->rows = of->rows;
    table->n_column = kind->field_count;
    *out = &table->base;
    return SQLITE_OK;
}

static int disconnect_rows(sqlite3_vtab *table)
{
    free(table);
    return SQLITE_OK;
}

static int plan_rows(sqlite3_vtab *table, sqlite3_index_info *plan)
{
    (void)table;
    plan->estimatedRows = 1000;
    plan->estimatedCost = 1000;
    return SQLITE_OK;
}

static int open_rows(sqlite3_vtab *table, sqlite3_vtab_cursor **out)
{
    (void)table;
    struct rows_cursor *cursor = memory_new_zeroed(1, sizeof *cursor);
    *out = &cursor->base;
    return SQLITE_OK;
}

static int close_rows(sqlite3_vtab_cursor *cursor)
{
    free(cursor);
    return SQLITE_OK;
}

static int first_row(sqlite3_vtab_cursor *base, int plan, const char *name, int argc,
                     sqlite3_value **argv)
{
    (void)plan, (void)name, (void)argc, (void)argv;
    ((struct rows_cursor *)base)->at = 0;
    return SQLITE_OK;
}

static int next_row(sqlite3_vtab_cursor *base)
{
    ((struct rows_cursor *)base)->at++;
    return SQLITE_OK;
}

static int after_last_row(sqlite3_vtab_cursor *base)
{
    return ((struct rows_cursor *)base)->at >= rows_of(base)->count;
}

static int column_of_row(sqlite3_vtab_cursor *base, sqlite3_context *out, int column)
{
    const struct rows_table *table = (const struct rows_table *)base->pVtab;
    const struct record *record = table->rows->records[((struct rows_cursor *)base)->at];
    if (column == table->n_column) {
        sqlite3_result_int64(out, record->n);
        return SQLITE_OK;
    }
    assert(column < record->field_count);
    const struct field *field = &record->fields[column];
    if (field->null)
        sqlite3_result_null(out);
    else if (field->type == FIELD_INT)
        sqlite3_result_int64(out, field->i);
    else if (field->type == FIELD_REAL)
        sqlite3_result_double(out, field->d);
    else if (field->type == FIELD_TEXT)
        sqlite3_result_text64(out, field->b.data, field->b.len, SQLITE_STATIC, SQLITE_UTF8);
    else
        sqlite3_result_blob64(out, field->b.data, field->b.len, SQLITE_STATIC);
    return SQLITE_OK;
}

static int number_of_row(sqlite3_vtab_cursor *base, sqlite3_int64 *number)
{
    *number = (sqlite3_int64)((struct rows_cursor *)base)->at;
    return SQLITE_OK;
}

static const sqlite3_module rows_module = {
    .xConnect = connect_rows,
    .xBestIndex = plan_rows,
    .xDisconnect = disconnect_rows,
    .xOpen = open_rows,
    .xClose = close_rows,
    .xFilter = first_row,
    .xNext = next_row,
    .xEof = after_last_row,
    .xColumn = column_of_row,
    .xRowid = number_of_row,
};

int sqlite_rows_declare(struct store_sqlite *store)
{
    int code = SQLITE_OK;
    for (enum record_id id = 0; id < RECORD_ID_COUNT && code == SQLITE_OK; id++) {
        char name[64];
        store->row_kinds[id] = (struct sqlite_rows_kind){id, &store->rows};
        sqlite3_snprintf(sizeof name, name, STATEMENT_ROWS_PREFIX "%s", record_kinds[id].name);
        code = sqlite3_create_module_v2(store->db, name, &rows_module, &store->row_kinds[id], NULL);
    }
    return code;
}
