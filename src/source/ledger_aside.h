/* SPDX-License-Identifier: Apache-2.0
 *
 * ledger_aside.h - what the cursor of a ledger's stream keeps beside its positions.
 *
 *   top     the newest position that a sweep had met which is not over yet
 *   waits   the first position of a row that waits to be settled, or may still do
 *   total   what the source counted when the history was complete
 *   hold    until then the stream does not go back to a better provider, in ms
 *   parts   marks of the partitions for which the position is true
 *
 * Stands in the cursor as a JSON object of those that there are. What cannot be read is not there:
 * a sweep is then begun anew, and a history counted again.
 *
 * Owner: a stream.  Pure. */
#ifndef SOURCE_LEDGER_ASIDE_H
#define SOURCE_LEDGER_ASIDE_H

#include "base/json.h"
#include "ingest/cursor.h"

/* Room for the marks, beside the rest. */
#define LEDGER_ASIDE_PARTS_MAX (CURSOR_EXTRA_MAX - 128)

struct ledger_aside {
    int64_t top, waits, total, hold_ms; /* -1: none */
    struct bytes parts;                 /* borrowed; empty: none */
};

struct ledger_aside ledger_aside_none(void);
/* `parts` lasts until the next parse of `doc`. */
struct ledger_aside ledger_aside_read(struct json_doc *doc, const char *custom);
void ledger_aside_write(const struct ledger_aside *aside, char custom[CURSOR_EXTRA_MAX + 1]);

#endif
