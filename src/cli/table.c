/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/table.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define GAP 2

static bool begins_character(char c)
{
    return ((unsigned char)c & 0xc0) != 0x80;
}

/* Characters, as far as one takes one place. */
static size_t width_of(const char *cell)
{
    size_t width = 0;
    for (; *cell != '\0'; cell++)
        width += begins_character(*cell);
    return width;
}

void table_init(struct table *table, const struct table_column *columns, size_t count)
{
    assert(count > 0 && count <= TABLE_COLUMNS_MAX);
    *table = (struct table){.columns = columns, .column_count = count};
}

static void clear(struct table *table)
{
    for (size_t i = 0; i < table->cell_count; i++)
        free(table->cells[i]);
    table->cell_count = 0;
}

void table_deinit(struct table *table)
{
    clear(table);
    free(table->cells);
}

/* C0 and C1 control characters steer a terminal. */
void table_tame(struct text *out, struct bytes cell, unsigned width_max)
{
    size_t width = 0;
    for (size_t i = 0; i < cell.len; i++) {
        unsigned char c = (unsigned char)cell.data[i];
        bool c1 = c == 0xc2 && i + 1 < cell.len && (unsigned char)cell.data[i + 1] < 0xa0;
        if (begins_character((char)c) && width_max > 0 && ++width > width_max) {
            text_append_string(out, "…");
            return;
        }
        if (c1)
            i++;
        text_append_char(out, c < 0x20 || c == 0x7f || c1 ? '?' : (char)c);
    }
}

void table_add(struct table *table, struct bytes cell)
{
    struct text tame = {0};
    const struct table_column *column = &table->columns[table->cell_count % table->column_count];
    table_tame(&tame, cell, column->width_max);
    if (table->cell_count == table->cell_room) {
        table->cell_room = table->cell_room == 0 ? 64 : table->cell_room * 2;
        table->cells = memory_resize(table->cells, table->cell_room * sizeof *table->cells);
    }
    table->cells[table->cell_count++] = memory_copy_string(text_string(&tame));
    text_free(&tame);
}

/* 2026-11-15T06:44:56.123Z becomes 2026-11-15 06:44:56. */
static void append_time(struct text *out, struct bytes time)
{
    if (time.len < 20 || time.data[10] != 'T') {
        text_append(out, time.data, time.len);
        return;
    }
    text_append(out, time.data, 10);
    text_append_char(out, ' ');
    text_append(out, time.data + 11, 8);
}

void table_add_item(struct table *table, struct json item)
{
    struct text cell = {0};
    for (size_t i = 0; i < table->column_count; i++) {
        struct json value = json_get(item, table->columns[i].key);
        struct bytes words;
        bool truth;
        text_clear(&cell);
        if (json_string(value, &words) && table->columns[i].kind == TABLE_TIME)
            append_time(&cell, words);
        else if (json_string(value, &words))
            text_append(&cell, words.data, words.len);
        else if (json_bool(value, &truth))
            text_append_string(&cell, truth ? "yes" : "no");
        else if (json_type(value) == JSON_ABSENT || json_type(value) == JSON_NULL)
            text_append_string(&cell, "-");
        else
            json_print(value, &cell);
        table_add(table, text_bytes(&cell));
    }
    text_free(&cell);
}

static void pad(struct text *out, size_t count)
{
    while (count-- > 0)
        text_append_char(out, ' ');
}

static void print_row(const struct table *table, const char *const *cells, const size_t *widths,
                      struct text *out)
{
    for (size_t i = 0; i < table->column_count; i++) {
        size_t left = widths[i] - width_of(cells[i]);
        bool number = table->columns[i].kind == TABLE_NUMBER;
        if (number)
            pad(out, left);
        text_append_string(out, cells[i]);
        if (i + 1 < table->column_count)
            pad(out, (number ? 0 : left) + GAP);
    }
    while (out->len > 0 && out->data[out->len - 1] == ' ')
        out->len--;
    text_append_char(out, '\n');
}

/* They may be keys of a stranger's document. */
static void print_titles(const struct table *table, const struct text *titles, const size_t *widths,
                         bool bold, struct text *out)
{
    const char *words[TABLE_COLUMNS_MAX];
    for (size_t i = 0; i < table->column_count; i++)
        words[i] = text_string(&titles[i]);
    text_append_string(out, bold ? "\033[1m" : "");
    print_row(table, words, widths, out);
    text_append_string(out, bold ? "\033[0m" : "");
}

void table_print(struct table *table, bool titled, bool bold, struct text *out)
{
    size_t widths[TABLE_COLUMNS_MAX];
    struct text titles[TABLE_COLUMNS_MAX] = {0};
    assert(table->cell_count % table->column_count == 0);
    for (size_t i = 0; i < table->column_count; i++) {
        table_tame(&titles[i], bytes_of(table->columns[i].title), table->columns[i].width_max);
        widths[i] = width_of(text_string(&titles[i]));
    }
    for (size_t i = 0; i < table->cell_count; i++) {
        size_t width = width_of(table->cells[i]), column = i % table->column_count;
        widths[column] = width > widths[column] ? width : widths[column];
    }
    if (titled)
        print_titles(table, titles, widths, bold, out);
    for (size_t i = 0; i < table->cell_count; i += table->column_count)
        print_row(table, (const char *const *)&table->cells[i], widths, out);
    for (size_t i = 0; i < table->column_count; i++)
        text_free(&titles[i]);
    clear(table);
}
