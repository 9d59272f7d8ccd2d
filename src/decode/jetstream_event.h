/* SPDX-License-Identifier: Apache-2.0
 *
 * jetstream_event.h - one event of the Jetstream v1 wire, from bytes to records.
 *
 * Pure: no I/O, no clock, no log. What is well-formed but not for us (another collection, an
 * operation nobody stores) gives no record and no error. What is malformed gives RC_REJECT with the
 * reason, and leaves the batch as it was. */
#ifndef DECODE_JETSTREAM_EVENT_H
#define DECODE_JETSTREAM_EVENT_H

#include "base/json.h"
#include "record_batch.h"

struct jetstream_event {
    int64_t time_us;  /* the upstream's witness time; the cursor */
    struct bytes did; /* borrowed from the parsed document */
    unsigned records; /* added to the batch: 0 or 1 */
};

/* Parses `frame` (padded, see json_parse) and adds what it says to `batch`. Times in the future of
 * `now_us` are stored as `now_us`. RC_AGAIN: the batch is full; try again with an empty one. */
must_check enum rc jetstream_event_decode(struct json_doc *doc, struct bytes frame, int64_t now_us,
                                          struct batch *batch, struct jetstream_event *event,
                                          struct err *err);

#endif
