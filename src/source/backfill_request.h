/* SPDX-License-Identifier: Apache-2.0
 *
 * backfill_request.h - what a person asks for when history is to be read: whom, and how far back.
 *
 * Pure. */
#ifndef SOURCE_BACKFILL_REQUEST_H
#define SOURCE_BACKFILL_REQUEST_H

#include "source/feed_rows.h"
#include "store/store.h"

#define BACKFILL_HOURS     24
#define BACKFILL_HOURS_MAX 87600

/* Adds the row; RC_AGAIN: it does not fit. */
must_check enum rc backfill_request_add(struct batch *batch, struct bytes did, int64_t hours,
                                        int64_t now_us);
/* The DID that the store knows under this handle or DID; RC_REJECT: it knows none. */
must_check enum rc backfill_request_find(struct store *store, const char *actor, struct text *did,
                                         struct err *err);

#endif
