/* SPDX-License-Identifier: Apache-2.0 */
#include "source/backfill_request.h"

#include <assert.h>

#define HOUR_US INT64_C(3600000000)

enum rc backfill_request_add(struct batch *batch, struct bytes did, int64_t hours, int64_t now_us)
{
    assert(hours > 0 && hours <= BACKFILL_HOURS_MAX);
    return feed_rows_ask(batch, did, BACKFILL_FOR_PERSON, now_us - hours * HOUR_US, now_us,
                         "asked for by hand", now_us);
}

static bool take_text(void *arg, const struct field *columns, size_t count)
{
    assert(count == 1 && !columns[0].null);
    text_clear(arg);
    text_append(arg, columns[0].b.data, columns[0].b.len);
    return false;
}

enum rc backfill_request_find(struct store *store, const char *actor, struct text *did,
                              struct err *err)
{
    const struct field name = field_text(bytes_of(actor));
    enum rc rc = store_query(store,
                             "SELECT did FROM follows WHERE did = ?1 OR handle = ?1 UNION ALL "
                             "SELECT did FROM actors WHERE did = ?1 OR handle = ?1 LIMIT 1",
                             &name, 1, take_text, did, err);
    if (rc == RC_OK && did->len == 0)
        rc = err_set(err, RC_REJECT, "the store knows no account %s", actor);
    return rc;
}
