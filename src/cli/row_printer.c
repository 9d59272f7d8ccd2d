/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/row_printer.h"

#include <assert.h>
#include <string.h>

void row_printer_init(struct row_printer *printer, enum row_format format, bool bold)
{
    *printer = (struct row_printer){.format = format, .bold = bold};
}

void row_printer_deinit(struct row_printer *printer)
{
    if (printer->format == ROWS_TABLE && printer->begun)
        table_deinit(&printer->table);
    for (size_t i = 0; i < printer->column_count; i++)
        text_free(&printer->names[i]);
}

/* ---- columns ---- */

static bool has_column(const struct row_printer *printer, struct bytes key)
{
    for (size_t i = 0; i < printer->column_count; i++)
        if (bytes_equal(text_bytes(&printer->names[i]), key))
            return true;
    return false;
}

static size_t columns_max(const struct row_printer *printer)
{
    return printer->format == ROWS_TABLE ? TABLE_COLUMNS_MAX : ROW_PRINTER_COLUMNS_MAX;
}

static void add_column(struct row_printer *printer, struct bytes key)
{
    struct text *name = &printer->names[printer->column_count];
    struct table_column *column = &printer->columns[printer->column_count++];
    text_append(name, key.data, key.len);
    *column = (struct table_column){
        .title = text_string(name), .key = text_string(name), .width_max = ROW_PRINTER_CELL_MAX};
}

void row_printer_learn(struct row_printer *printer, struct json row)
{
    struct json_walk fields = json_walk(row);
    struct bytes key;
    struct json value;
    while (!printer->begun && json_walk_next(&fields, &key, &value))
        if (printer->column_count < columns_max(printer) && !has_column(printer, key))
            add_column(printer, key);
}

static void count_left_out(struct row_printer *printer, struct json row)
{
    struct json_walk fields = json_walk(row);
    struct bytes key;
    struct json value;
    while (json_walk_next(&fields, &key, &value))
        printer->fields_left_out += !has_column(printer, key);
}

/* ---- CSV ---- */

static void append_csv(struct text *out, struct bytes cell)
{
    bool quoted = false;
    for (size_t i = 0; i < cell.len && !quoted; i++)
        quoted = strchr(",\"\r\n", cell.data[i]) != NULL;
    if (!quoted) {
        text_append(out, cell.data, cell.len);
        return;
    }
    text_append_char(out, '"');
    for (size_t i = 0; i < cell.len; i++) {
        if (cell.data[i] == '"')
            text_append_char(out, '"');
        text_append_char(out, cell.data[i]);
    }
    text_append_char(out, '"');
}

static void append_csv_value(struct text *out, struct json value, struct text *cell)
{
    struct bytes words;
    enum json_type type = json_type(value);
    if (type == JSON_ABSENT || type == JSON_NULL)
        return;
    if (json_string(value, &words)) {
        append_csv(out, words);
        return;
    }
    text_clear(cell);
    json_print(value, cell);
    append_csv(out, text_bytes(cell));
}

static void append_csv_row(struct row_printer *printer, struct json row, struct text *out)
{
    struct text cell = {0};
    for (size_t i = 0; i < printer->column_count; i++) {
        text_append_string(out, i > 0 ? "," : "");
        append_csv_value(out, json_get(row, printer->columns[i].key), &cell);
    }
    text_append_char(out, '\n');
    text_free(&cell);
}

static void append_csv_names(const struct row_printer *printer, struct text *out)
{
    for (size_t i = 0; i < printer->column_count; i++) {
        text_append_string(out, i > 0 ? "," : "");
        append_csv(out, text_bytes(&printer->names[i]));
    }
    text_append_char(out, '\n');
}

/* ---- all ---- */

static void begin(struct row_printer *printer, struct text *out)
{
    printer->begun = true;
    if (printer->format == ROWS_CSV)
        append_csv_names(printer, out);
    else
        table_init(&printer->table, printer->columns, printer->column_count);
}

void row_printer_put(struct row_printer *printer, struct json row, struct text *out)
{
    if (printer->format == ROWS_JSON) {
        json_print(row, out);
        text_append_char(out, '\n');
        return;
    }
    row_printer_learn(printer, row);
    assert(printer->column_count > 0);
    if (!printer->begun)
        begin(printer, out);
    count_left_out(printer, row);
    if (printer->format == ROWS_CSV)
        append_csv_row(printer, row, out);
    else
        table_add_item(&printer->table, row);
}

void row_printer_flush(struct row_printer *printer, struct text *out)
{
    if (printer->format != ROWS_TABLE || !printer->begun || printer->table.cell_count == 0)
        return;
    table_print(&printer->table, !printer->titled, printer->bold, out);
    printer->titled = true;
}

void row_printer_put_names(struct row_printer *printer, const char *const *names, size_t count,
                           struct text *out)
{
    assert(printer->format == ROWS_CSV && !printer->begun);
    for (size_t i = 0; i < count && printer->column_count < columns_max(printer); i++)
        if (!has_column(printer, bytes_of(names[i])))
            add_column(printer, bytes_of(names[i]));
    if (printer->column_count > 0)
        begin(printer, out);
}
