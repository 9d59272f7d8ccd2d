/* SPDX-License-Identifier: Apache-2.0
 *
 * reset_record.h - the record that makes the store forget where a stream stands.
 *
 * It takes coverage and cursors away and nothing else. A stream of NULL is every stream of the
 * source. */
#ifndef STORE_RESET_RECORD_H
#define STORE_RESET_RECORD_H

#include "record_batch.h"
#include "store/store.h"

#define RESET_NAME_MAX 255

/* How many positions it would take away; RC_REJECT when there are none. */
must_check enum rc reset_record_count(struct store *store, const char *source, const char *stream,
                                      int64_t *cursors, struct err *err);
/* False when the batch is full. */
must_check bool reset_record_add(struct batch *batch, const char *source, const char *stream);

#endif
