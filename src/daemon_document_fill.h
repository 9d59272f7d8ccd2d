/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_document_fill.h - rows for documents that were stored while no collection took them.
 *
 * Goes through the stored documents in the order of the commits that stored them, a few at a time,
 * and gives those a row that have none. How far it is is stored with the rows (I2), so it goes on
 * where it was after a crash; what is stored from now on has its row from the start. One small
 * batch is under way at a time, so nobody waits for it.
 *
 * Owner: the part that stores documents.  Thread: the ingest loop. */
#ifndef DAEMON_DOCUMENT_FILL_H
#define DAEMON_DOCUMENT_FILL_H

#include "daemon_document_rows.h"
#include "source/source.h"

struct document_fill;

/* `done` hears how many rows were added, once all documents were looked at. RC_RETRY: it stops. */
typedef void document_fill_fn(void *arg, enum rc rc, uint64_t rows);

/* `rows` and `collection`, whose name it is, outlive it. */
struct document_fill *document_fill_new(const struct source_env *env, struct document_rows *rows,
                                        const char *collection);
/* It has stopped, or was never started. */
void document_fill_free(struct document_fill *fill); /* NULL is allowed */
/* Goes on where the last one was. */
void document_fill_start(struct document_fill *fill);
/* Looks at all documents again, after the walk that is under way if there is one; `dry`: only
 * counts. One at a time. */
void document_fill_again(struct document_fill *fill, bool dry, document_fill_fn *done, void *arg);
void document_fill_stop(struct document_fill *fill);
bool document_fill_stopped(const struct document_fill *fill);

#endif
