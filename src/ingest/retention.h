/* SPDX-License-Identifier: Apache-2.0
 *
 * retention.h - how long the engine's own notes are kept.
 *
 * A tombstone outlives every replay that could bring its row back; a closed gap stays for people to
 * look at. A prune takes a bounded number of rows, so that no commit grows long: it is repeated,
 * not enlarged.
 *
 * Owner: whoever cleans up.  Never reads a clock, never allocates. */
#ifndef INGEST_RETENTION_H
#define INGEST_RETENTION_H

#include "record_batch.h"

#define RETENTION_TOMBSTONE_US (INT64_C(48) * 3600 * 1000000)
#define RETENTION_GAP_US       (INT64_C(30) * 24 * 3600 * 1000000)

/* Adds the record that prunes what is too old at `now_us`; RC_AGAIN when the batch is full. */
must_check enum rc retention_prune(struct batch *batch, int64_t now_us);

#endif
