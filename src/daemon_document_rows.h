/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_document_rows.h - stored documents that are JSON objects, as rows of a declared collection
 * (`content.collection`): people ask for them by their fields.
 *
 * The row is stored in the transaction of the document; its id is the document's address. A
 * document that is no JSON object has none. One whose values do not fit the declared fields is
 * stored as a document all the same, and the log says why it has no row.
 *
 * Owner: the part that stores documents.  Thread: the ingest loop. */
#ifndef DAEMON_DOCUMENT_ROWS_H
#define DAEMON_DOCUMENT_ROWS_H

#include "base/bytes.h"
#include "record_batch.h"

#define DOCUMENT_ROW_BYTES_MAX ((size_t)1 << 20) /* a larger document has no row */

struct collections;
struct document_rows;

/* `name` must outlive it. */
struct document_rows *document_rows_new(struct collections *collections, const char *name);
void document_rows_free(struct document_rows *rows); /* NULL is allowed */

/* A content_row_fn; `arg` is the rows. */
bool document_rows_add(void *arg, struct batch *batch, const char *uri, struct bytes document,
                       int64_t now_us);

#endif
