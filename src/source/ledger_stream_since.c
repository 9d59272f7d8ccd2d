/* SPDX-License-Identifier: Apache-2.0
 *
 * An import since a time. Where the provider tells which block was the newest then, the walk begins
 * there; rows that are older all the same are left out. What was left out is claimed by nobody: no
 * position is stored from then on, and what is covered begins above it. */
#include "source/ledger_stream_steps.h"

#define SECOND_US INT64_C(1000000)

bool ledger_stream_needs_since(const struct ledger_stream *stream)
{
    return stream->run->since_us >= 0 && stream->since_at < 0 && stream->shape->since.given &&
           ledger_stream_kind(stream->shape) != CURSOR_TIMESTAMP;
}

const struct connector_request *ledger_stream_ask_since(struct ledger_stream *stream)
{
    stream->vars.token = BYTES_ABSENT;
    stream->vars.since_s = stream->run->since_us / SECOND_US;
    return stream->shape->since.request;
}

/* A provider that cannot tell is read from where the stream stands. */
void ledger_stream_take_since(struct ledger_stream *stream)
{
    if (!connector_figure_read(&stream->shape->since, stream->side.root, &stream->since_at))
        stream->since_at = -1;
    ledger_stream_list_parts(stream);
    ledger_stream_choose(stream);
}

int64_t ledger_stream_since(const struct ledger_stream *stream, enum cursor_kind kind)
{
    return kind == CURSOR_TIMESTAMP ? stream->run->since_us : stream->since_at;
}

bool ledger_stream_is_older(const struct ledger_stream *stream)
{
    return stream->row.time_us >= 0 && stream->row.time_us < stream->run->since_us;
}

bool ledger_stream_leaves_out(struct ledger_stream *stream)
{
    int64_t at = ledger_walk_position(stream->shape, &stream->row);
    bool falling = stream->shape->order == ORDER_DESC;
    bool known = ledger_known_find(&stream->known, stream->row_id) != NULL;
    if (!ledger_stream_is_older(stream) || (known && !falling) ||
        (ledger_walk_below(&stream->walk, at) && !stream->skips))
        return false;
    stream->skips = true;
    if (at >= stream->covered_from)
        stream->covered_from = at + 1;
    if (falling) {
        ledger_reread_end_at(&stream->reread, at);
        ledger_walk_end_leg(&stream->walk);
    }
    stream->view.older += !known;
    return !known;
}
