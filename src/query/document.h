/* SPDX-License-Identifier: Apache-2.0
 *
 * document.h - what a person wants stored in a declared collection, as a row.
 *
 * A document is a JSON object. Its declared fields become columns of their type, strictly: nothing
 * is rounded, cut or read as something else. What is not declared is kept as it is. No object in it
 * has a key twice. What does not fit is refused in words that name the field, what was expected and
 * what was found.
 *
 * Always holds: a row that was read here can be stored on either store, its indexes included.
 *
 * Owner: the caller, who owns the batch.  Thread: any. */
#ifndef QUERY_DOCUMENT_H
#define QUERY_DOCUMENT_H

#include "base/json.h"
#include "query/collection.h"
#include "query/refusal.h"
#include "record_batch.h"

#define DOCUMENT_ID_BYTES_MAX  512
#define DOCUMENT_KEY_BYTES_MAX 2400 /* of the text in one index; no more fits PostgreSQL's */

/* Room for one row of this collection in a batch, without its texts; and what each text takes
 * besides its bytes. */
size_t document_row_size(const struct collection *collection);
/* By how many bytes this JSON may be longer as it is stored: a number that came with an exponent is
 * written out. */
size_t document_growth(struct bytes json);

/* An empty row that puts or deletes; NULL: the batch is full. */
struct record *document_add(const struct collection *collection, struct batch *batch, int op,
                            int64_t now_us);
/* The document's own id; absent when it has none. `where` names the document ("data[3]"). */
must_check enum rc document_id(struct json data, const char *where, struct bytes *id,
                               struct refusal *refusal);
/* Fills the row's columns from `data`. TOO_LARGE: the batch is full. */
must_check enum rc document_read(const struct collection *collection, struct json data,
                                 const char *where, struct batch *batch, struct record *row,
                                 struct refusal *refusal);
/* The same over what is stored: fields that `data` does not name stay. `columns` and `extra` are as
 * the store gave them, and borrowed. */
must_check enum rc document_change(const struct collection *collection, const struct field *columns,
                                   const struct field *extra, struct json data, struct batch *batch,
                                   struct record *row, struct refusal *refusal);

/* The columns of a row for whoever asks later what it was like, as a JSON object. */
void document_print_past(const struct collection *collection, const struct field *columns,
                         struct text *out);
/* The values that object has; text is borrowed from it, and of a json field it is only told whether
 * it was there. */
void document_read_past(const struct collection *collection, struct json past,
                        struct field *columns);

#endif
