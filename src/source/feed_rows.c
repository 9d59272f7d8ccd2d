/* SPDX-License-Identifier: Apache-2.0 */
#include "source/feed_rows.h"

#include "base/timestamp.h"

static struct record *add_row(struct batch *batch, struct bytes did, int op, int64_t now_us)
{
    struct record *row = batch_add(batch, RECORD_BACKFILL);
    if (row == NULL || !batch_set_text(batch, row, BACKFILL_DID, did))
        return NULL;
    batch_set_int(row, BACKFILL_OP, op);
    batch_set_int(row, BACKFILL_AT_US, now_us);
    return row;
}

enum rc feed_rows_ask(struct batch *batch, struct bytes did, int priority, int64_t since_us,
                      int64_t next_us, const char *reason, int64_t now_us)
{
    struct record *row = add_row(batch, did, BACKFILL_OP_ASK, now_us);
    if (row == NULL || !batch_set_text(batch, row, BACKFILL_REASON, bytes_of(reason)))
        return RC_AGAIN;
    batch_set_int(row, BACKFILL_PRIORITY, priority);
    batch_set_int(row, BACKFILL_SINCE_US, since_us);
    batch_set_int(row, BACKFILL_NEXT_US, next_us);
    return RC_OK;
}

enum rc feed_rows_move(struct batch *batch, struct bytes did, const struct feed_place *place,
                       int64_t attempts, int64_t next_us, const char *why, int64_t now_us)
{
    struct text json = {0};
    struct record *row = add_row(batch, did, BACKFILL_OP_MOVE, now_us);
    if (row == NULL)
        return RC_AGAIN;
    if (place->token[0] != '\0')
        feed_place_write(place, &json);
    bool fits = batch_set_text(batch, row, BACKFILL_SWEEP, text_bytes(&json)) &&
                batch_set_text(batch, row, BACKFILL_REASON, bytes_of(why));
    text_free(&json);
    batch_set_int(row, BACKFILL_ATTEMPTS, attempts);
    batch_set_int(row, BACKFILL_NEXT_US, next_us);
    return fits ? RC_OK : RC_AGAIN;
}

enum rc feed_rows_done(struct batch *batch, struct bytes did, int64_t priority, int64_t since_us,
                       int64_t began_us, int64_t now_us)
{
    struct record *row = add_row(batch, did, BACKFILL_OP_DONE, now_us);
    if (row == NULL)
        return RC_AGAIN;
    batch_set_int(row, BACKFILL_PRIORITY, priority);
    batch_set_int(row, BACKFILL_SINCE_US, since_us);
    batch_set_int(row, BACKFILL_NEXT_US, began_us);
    return RC_OK;
}

enum rc feed_rows_drop(struct batch *batch, struct bytes did, int64_t now_us)
{
    return add_row(batch, did, BACKFILL_OP_DROP, now_us) == NULL ? RC_AGAIN : RC_OK;
}

enum rc feed_rows_poll(struct batch *batch, struct bytes handle, struct bytes former,
                       int64_t mark_us, int64_t fetched, int64_t now_us)
{
    char mark[TIMESTAMP_TEXT_MAX] = "";
    struct record *row = batch_add(batch, RECORD_POLL);
    bool has = mark_us > 0 && timestamp_format(mark_us, mark);
    if (row == NULL || !batch_set_text(batch, row, POLL_HANDLE, handle) ||
        !batch_set_text(batch, row, POLL_FORMER, former) ||
        !batch_set_text(batch, row, POLL_CURSOR, has ? bytes_of(mark) : BYTES_ABSENT))
        return RC_AGAIN;
    batch_set_int(row, POLL_AT_US, now_us);
    batch_set_int(row, POLL_FETCHED, fetched);
    return RC_OK;
}
