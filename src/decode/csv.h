/* SPDX-License-Identifier: Apache-2.0
 *
 * csv.h - a file of comma-separated values, row by row, as JSON.
 *
 * RFC 4180 and what programs write in practice: a byte order mark is skipped, lines end with CRLF
 * or LF, a quoted cell may hold commas, line ends and doubled quotes. Strict where a mistake would
 * move cells: text behind a closing quote, a quote that never closes and a row with another number
 * of cells than the header are refused with their line. Empty lines are skipped. No more columns
 * and no longer cells than the limits below.
 *
 * Owner: the caller, who owns the file's bytes.  Pure. */
#ifndef DECODE_CSV_H
#define DECODE_CSV_H

#include "base/bytes.h"
#include "base/err.h"

#define CSV_COLUMNS_MAX    128
#define CSV_CELL_BYTES_MAX 65536

struct csv {
    struct bytes rest; /* not read yet */
    uint64_t line;     /* of the row read last, from 1 */
    uint64_t next_line;
    struct text names;   /* the columns, each with a NUL after it */
    struct text columns; /* the same with commas between them */
    size_t column_count;
    struct text cell;
};

/* Reads the header. RC_REJECT: there is none, or it names a column twice. To be closed in either
 * case. */
must_check enum rc csv_open(struct csv *csv, struct bytes file, struct err *err);
void csv_close(struct csv *csv);
/* Appends the next row as a JSON object of texts. RC_AGAIN: that was the last. RC_REJECT: this row
 * is bad, nothing was appended, `raw` are its bytes, and the next call goes on behind it. */
must_check enum rc csv_next(struct csv *csv, struct text *json, struct bytes *raw, struct err *err);

#endif
