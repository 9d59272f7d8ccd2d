/* SPDX-License-Identifier: Apache-2.0
 *
 * quarantine.h - input nobody could use is kept, with the reason (I7).
 *
 * Up to a cap of bytes per hour the input is kept as it came; beyond it, and for what is larger
 * than one row may hold, its digest, size and reason are. Equal input of one source is one row with
 * a count.
 *
 * Owner: a source.  Thread: the owner's.  Never reads a clock, never logs. */
#ifndef INGEST_QUARANTINE_H
#define INGEST_QUARANTINE_H

#include "record_batch.h"

#define QUARANTINE_ROW_BYTES_MAX  65536
#define QUARANTINE_HOUR_BYTES_MAX ((int64_t)16 << 20)

struct quarantine {
    const char *source;
    int64_t hour;       /* of the allowance */
    int64_t bytes_left; /* in this hour */
    uint64_t rows, cut; /* rows made; of these without their bytes */
};

void quarantine_init(struct quarantine *quarantine, const char *source);
/* Adds a row to `batch`; `size` is that of the input, of which `raw` may be only a note. RC_AGAIN:
 * the batch is full. */
must_check enum rc quarantine_add(struct quarantine *quarantine, struct batch *batch,
                                  const char *provider, struct bytes raw, uint64_t size,
                                  const char *reason, int64_t now_us);
/* Adds that the input of this source and digest need not be kept any more. RC_AGAIN: as above. */
must_check enum rc quarantine_leave(struct batch *batch, struct bytes source, struct bytes digest);

#endif
