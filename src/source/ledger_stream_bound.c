/* SPDX-License-Identifier: Apache-2.0
 *
 * How far up a row may lie. The newest row becomes the position from which the next run begins: one
 * that lies where nothing can be yet would hide all that comes below it, for ever. Such a row is
 * refused. Where the provider names its newest block, that is the measure; it is asked for only
 * when a page leads further up than what is known already. */
#include "source/ledger_stream_steps.h"

#include <inttypes.h>

#define BLOCK_MAX INT64_C(0x1000000000000) /* more than any chain counts to */
/* Nodes behind one address are not equally far, and heads move while a page is under way. */
#define LEEWAY   10000
#define AHEAD_US (INT64_C(86400) * 1000000) /* clocks and time zones differ by less */

/* What is sure to be there: what earlier runs came to, and what the provider calls its newest. */
static int64_t find_surely(const struct ledger_stream *stream)
{
    int64_t surely = stream->shape->page.by == PAGE_RANGE ? stream->head : stream->bound;
    return stream->covered_from > surely ? stream->covered_from : surely;
}

/* A page may show that the head has to be asked for (again). */
bool ledger_stream_leads_beyond(struct ledger_stream *stream)
{
    struct err ignored; /* it is read again, and refused then */
    enum rc rc;
    int64_t surely = find_surely(stream);
    bool beyond = false;
    if (!stream->shape->head.given || stream->shape->page.by == PAGE_RANGE ||
        ledger_stream_kind(stream->shape) == CURSOR_TIMESTAMP ||
        connector_page_open(&stream->page, stream->provider->connector, stream->shape,
                            &stream->vars, stream->answer.root, &ignored) != RC_OK)
        return false;
    while (!beyond && (rc = connector_page_next(&stream->page, &stream->row, &ignored)) != RC_AGAIN)
        beyond =
            rc == RC_OK && stream->row.block <= BLOCK_MAX && stream->row.block > surely + LEEWAY;
    return beyond;
}

void ledger_stream_take_bound(struct ledger_stream *stream)
{
    if (!connector_figure_read(&stream->shape->head, stream->side.root, &stream->bound) ||
        stream->bound > BLOCK_MAX)
        stream->bound = -1;
}

enum rc ledger_stream_check_place(const struct ledger_stream *stream, struct err *err)
{
    const struct ledger_row *row = &stream->row;
    const struct connector_stream *shape = stream->shape;
    bool timed = ledger_stream_kind(shape) == CURSOR_TIMESTAMP;
    bool told = shape->page.by == PAGE_RANGE ? stream->run->file == NULL : stream->bound >= 0;
    if (row->block > BLOCK_MAX)
        return err_set(err, RC_REJECT, "block %" PRId64 " is more than any chain has", row->block);
    if (shape->order == ORDER_NONE)
        return RC_OK; /* all is read each time, whatever came before */
    if (timed && row->time_us > ledger_stream_wall(stream) + AHEAD_US)
        return err_set(err, RC_REJECT,
                       "its time lies ahead of this machine's clock by %" PRId64 " s",
                       (row->time_us - ledger_stream_wall(stream)) / 1000000);
    int64_t surely = find_surely(stream);
    if (!timed && told && row->block > surely + LEEWAY)
        return err_set(err, RC_REJECT,
                       "block %" PRId64 " lies far beyond block %" PRId64
                       ", the newest that the provider names",
                       row->block, surely);
    return RC_OK;
}

bool ledger_stream_time_passed(const struct ledger_stream *stream)
{
    return stream->row.time_us >= 0 && stream->row.time_us <= ledger_stream_wall(stream) + AHEAD_US;
}
