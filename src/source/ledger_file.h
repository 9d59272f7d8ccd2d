/* SPDX-License-Identifier: Apache-2.0
 *
 * ledger_file.h - an exported file as a stream of a ledger.
 *
 * The file's first line says whose it is. Its rows are read from the beginning each time: a row
 * that was stored is known by what it says and its number among its equals in the file, so a file
 * that has grown adds what is new and nothing else.
 *
 * Owner: an account's import.  Thread: the ingest loop. */
#ifndef SOURCE_LEDGER_FILE_H
#define SOURCE_LEDGER_FILE_H

#include "decode/csv.h"
#include "source/ledger_providers.h"

#define LEDGER_FILE_MAX ((size_t)256 << 20)

struct ledger_file {
    struct text content;
    struct csv csv;
    struct ledger_provider *provider;
    const struct connector_stream *shape;
    struct bytes bad; /* a line that is no row, after those that were read last; absent: none */
    struct err why;   /* ... because of this */
    bool ended;
};

/* Takes `content` over. RC_REJECT: no connector knows such a file. */
must_check enum rc ledger_file_open(struct ledger_providers *providers, struct text *content,
                                    struct ledger_file **out, struct err *err);
/* Gives the columns of a file that `shape` is the stream of the connector's names, whatever
 * capitals the file has: rows with the same words are the same row. */
void ledger_file_name_columns(struct csv *csv, const struct connector_stream *shape);
void ledger_file_free(struct ledger_file *file);
/* Appends the next rows as a JSON list, as far as a line that is no row. `ended` is set with the
 * last one. */
void ledger_file_read(struct ledger_file *file, struct text *list);

#endif
