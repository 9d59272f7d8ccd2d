/* SPDX-License-Identifier: Apache-2.0
 *
 * table.h - rows for people: columns as wide as they need to be, at most as wide as they may.
 *
 * What strangers wrote cannot move the terminal's cursor: control characters are shown as `?`.
 *
 * Owner: the command. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include "base/json.h"

#define TABLE_COLUMNS_MAX 12

enum table_kind { TABLE_TEXT, TABLE_NUMBER, TABLE_TIME };

struct table_column {
    const char *title;
    const char *key; /* of an item, for table_add_item() */
    enum table_kind kind;
    unsigned width_max; /* 0: as wide as it is */
};

struct table {
    const struct table_column *columns;
    size_t column_count;
    char **cells; /* row by row */
    size_t cell_count, cell_room;
};

/* Appends what strangers wrote so that it cannot steer a terminal; cut to `width_max` characters,
 * 0: whole. */
void table_tame(struct text *out, struct bytes words, unsigned width_max);

void table_init(struct table *table, const struct table_column *columns, size_t count);
void table_deinit(struct table *table);
/* One cell; a row is as many as there are columns. */
void table_add(struct table *table, struct bytes cell);
void table_add_item(struct table *table, struct json item);
/* Appends all rows and forgets them; the titles first when `titled`, in bold when `bold`. */
void table_print(struct table *table, bool titled, bool bold, struct text *out);

#endif
