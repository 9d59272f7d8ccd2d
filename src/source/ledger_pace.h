/* SPDX-License-Identifier: Apache-2.0
 *
 * ledger_pace.h - how fast one provider may be asked by everybody in this process.
 *
 * A provider has limits for a second, a minute, an hour and a day, and all of them hold at once: a
 * request goes when every one of them lets it. Within any such time no more is sent than its limit.
 *
 * Owner: the providers.  Thread: the ingest loop. */
#ifndef SOURCE_LEDGER_PACE_H
#define SOURCE_LEDGER_PACE_H

#include "decode/connector.h"
#include "ingest/bucket.h"

#define LEDGER_PACE_WINDOWS 4

struct ledger_pace {
    struct bucket windows[LEDGER_PACE_WINDOWS]; /* the first one counts requests under way, too */
    uint64_t requests;
};

void ledger_pace_init(struct ledger_pace *pace, const struct connector_rate *rate, int64_t now_us);
/* RC_OK: the request may go now. RC_AGAIN: `at_us` is when to ask again, or BUCKET_NEVER: when a
 * request under way is over. */
must_check enum rc ledger_pace_take(struct ledger_pace *pace, int64_t now_us, int64_t *at_us);
void ledger_pace_release(struct ledger_pace *pace);
/* The provider wants to be left alone until then. */
void ledger_pace_pause(struct ledger_pace *pace, int64_t until_us, int64_t now_us);

#endif
