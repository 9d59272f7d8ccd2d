/* SPDX-License-Identifier: Apache-2.0
 *
 * jetstream.h - the Bluesky firehose over the Jetstream v1 wire.
 *
 * One connection at a time to one of several hosts, which are providers: the next one is chosen
 * when one fails. A position is of the clock of the host that gave it; every other host is asked
 * from further back, until its own events have passed it. A connection begins a little before the
 * last event decoded, for a host may send in disorder; what comes again the store drops. When the
 * ring of frames is full the connection is closed, and made again once a quarter of it is free.
 *
 *   idle -> dialling -> live -> waiting -> dialling ...        stop: any -> stopped
 *
 * A cursor older than the host's replay window is clamped by the host without a word. The host's
 * own event at the position then does not come again: what lies between what was asked for and the
 * first event is recorded as a gap. */
#ifndef SOURCE_JETSTREAM_H
#define SOURCE_JETSTREAM_H

#include "ingest/gap.h"
#include "source/source.h"

#define JETSTREAM_ENDPOINTS_MAX 4

struct jetstream_options {
    const char *endpoints[JETSTREAM_ENDPOINTS_MAX]; /* by preference; NULL: none */
    const char *const *collections;
    size_t collection_count;
    uint32_t reconnect_delay_seconds, max_reconnect_attempts; /* 0 attempts: for ever */
    uint32_t ping_ms, pong_ms_max;                            /* 0: the client's own */
    size_t ring_bytes;                                        /* 0: 16 MiB */
    int64_t window_us;          /* the hosts' replay window; 0: 24 h */
    struct bytes cursor_state;  /* as stored; absent: none yet */
    const struct gap_set *gaps; /* the open ones, as stored; NULL: none */
    int64_t start_us;           /* where to begin when none is stored; 0: live */
};

/* RC_REJECT: an endpoint or the stored state is unusable. Everything given is copied. */
must_check enum rc jetstream_new(const struct source_env *env,
                                 const struct jetstream_options *options, struct source **source,
                                 struct err *err);

#endif
