/* SPDX-License-Identifier: Apache-2.0 */
#include "store/reset_record.h"

#include <assert.h>

static bool take_count(void *arg, const struct field *columns, size_t count)
{
    assert(count == 1 && !columns[0].null);
    *(int64_t *)arg = columns[0].i;
    return true;
}

enum rc reset_record_count(struct store *store, const char *source, const char *stream,
                           int64_t *cursors, struct err *err)
{
    assert(store != NULL && source != NULL);
    const struct field names[] = {field_text(bytes_of(source)), field_text(bytes_of(stream))};
    *cursors = 0;
    enum rc rc = store_query(store,
                             "SELECT count(*) FROM cursors WHERE source = ?1 "
                             "AND (CAST(?2 AS TEXT) IS NULL OR stream = ?2)",
                             names, 2, take_count, cursors, err);
    if (rc == RC_OK && *cursors == 0)
        rc = err_set(err, RC_REJECT, "no position of %s%s%s is stored", source,
                     stream == NULL ? "" : "/", stream == NULL ? "" : stream);
    return rc;
}

bool reset_record_add(struct batch *batch, const char *source, const char *stream)
{
    assert(batch != NULL && source != NULL);
    struct record *row = batch_add(batch, RECORD_RESET);
    return row != NULL && batch_set_text(batch, row, RESET_SOURCE, bytes_of(source)) &&
           (stream == NULL || batch_set_text(batch, row, RESET_STREAM, bytes_of(stream)));
}
