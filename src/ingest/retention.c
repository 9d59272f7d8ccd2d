/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/retention.h"

#include <assert.h>

enum rc retention_prune(struct batch *batch, int64_t now_us)
{
    assert(batch != NULL);
    assert(now_us >= 0);
    struct record *row = batch_add(batch, RECORD_PRUNE);
    if (row == NULL)
        return RC_AGAIN;
    batch_set_int(row, PRUNE_TOMBSTONES_US, now_us - RETENTION_TOMBSTONE_US);
    batch_set_int(row, PRUNE_GAPS_US, now_us - RETENTION_GAP_US);
    return RC_OK;
}
