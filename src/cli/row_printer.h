/* SPDX-License-Identifier: Apache-2.0
 *
 * row_printer.h - rows of any collection, for people or for programs.
 *
 *   table   columns as the first rows have them; what strangers wrote cannot steer a terminal
 *   csv     the same columns, a line of names first; quoted as RFC 4180 says
 *   json    one object a line, as it came
 *
 * A table or CSV has the columns of the rows it was first given. A field that only later rows have
 * is counted, so that the command can say that it is missing (I7).
 *
 * Owner: the command. */
#ifndef CLI_ROW_PRINTER_H
#define CLI_ROW_PRINTER_H

#include "cli/table.h"

#define ROW_PRINTER_COLUMNS_MAX 256
#define ROW_PRINTER_CELL_MAX    48 /* characters of a cell in a table */

enum row_format { ROWS_TABLE, ROWS_CSV, ROWS_JSON };

struct row_printer {
    enum row_format format;
    bool bold;
    struct text names[ROW_PRINTER_COLUMNS_MAX];
    struct table_column columns[ROW_PRINTER_COLUMNS_MAX];
    size_t column_count;
    bool begun, titled;
    struct table table;
    uint64_t fields_left_out; /* values without a column */
};

void row_printer_init(struct row_printer *printer, enum row_format format, bool bold);
void row_printer_deinit(struct row_printer *printer);
/* Takes note of a row's fields; after the first row was put it is too late. */
void row_printer_learn(struct row_printer *printer, struct json row);
/* A table's rows wait for the flush: columns are as wide as all of them need. */
void row_printer_put(struct row_printer *printer, struct json row, struct text *out);
void row_printer_flush(struct row_printer *printer, struct text *out);
/* CSV for which there was no row has the names of these all the same. */
void row_printer_put_names(struct row_printer *printer, const char *const *names, size_t count,
                           struct text *out);

#endif
