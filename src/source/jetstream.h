/* SPDX-License-Identifier: Apache-2.0
 *
 * jetstream.h - the Bluesky firehose over the Jetstream wires, v1 and v2.
 *
 * One connection at a time to one of several hosts, which are providers: the next one is chosen
 * when one fails, and the position is rewound once when it is another host's. A connection begins
 * where the last event decoded stands; the wire's cursor is inclusive, so that one event comes
 * again and the store drops it. When the ring of frames is full the connection is closed, and made
 * again once a quarter of it is free. What was taken but not decoded when a connection is made is
 * forgotten: it comes again.
 *
 *   idle -> dialling -> live -> waiting -> dialling ...        stop: any -> stopped
 *
 * Compressed messages are asked for when there is a dictionary for them; a v2 host is asked for its
 * own first. A message made with another dictionary ends the connection, and the next one is plain.
 *
 * Everybody's events are stored, or those of the accounts that are followed. Which these are may
 * change at any time; no connection is made anew for it. */
#ifndef SOURCE_JETSTREAM_H
#define SOURCE_JETSTREAM_H

#include "source/jetstream_packing.h"
#include "source/source.h"

#define JETSTREAM_ENDPOINTS_MAX 4

struct jetstream_options {
    const char *endpoints[JETSTREAM_ENDPOINTS_MAX]; /* by preference; NULL: none */
    const char *const *collections;
    size_t collection_count;
    uint32_t reconnect_delay_seconds, max_reconnect_attempts; /* 0 attempts: for ever */
    uint32_t ping_ms, pong_ms_max;                            /* 0: the client's own */
    size_t ring_bytes;                                        /* 0: 16 MiB */
    int64_t window_us;         /* the hosts' replay window; 0: 24 h */
    struct bytes cursor_state; /* as stored; absent: none yet */
    int64_t start_us;          /* where to begin when none is stored; 0: live */
    int64_t forgotten_us;      /* where it stood before a reset; 0: there was none */
    bool only_followed;        /* false: everybody's events are wanted */
    bool no_posts, no_reposts; /* do not count as sharing, whatever a server sends */
    bool compress;
    struct bytes dictionary_v1, dictionary_v2; /* absent: none; the second from an earlier run */
    jetstream_keep_fn *keep_dictionary;        /* may be NULL */
    void *keep_arg;
};

/* RC_REJECT: an endpoint or the stored state is unusable. Everything given is copied. */
must_check enum rc jetstream_new(const struct source_env *env,
                                 const struct jetstream_options *options, struct source **source,
                                 struct err *err);

/* Who is followed from now on, and who no longer. Accounts that are deactivated or taken down stay
 * followed: it is by their events that one hears of their return. DIDs are copied; those that were
 * there, or were not, already do no harm. Also before the start. */
void jetstream_change_follows(struct source *source, const struct bytes *added, size_t added_count,
                              const struct bytes *removed, size_t removed_count);

/* Whether all that this account does from now on will come, so that its history may be read: it is
 * followed, and the server heard of it a moment ago, since a feed shows what happened a moment
 * late. Where nothing is connected, the next connection asks for it from where the stream stands;
 * where it stands nowhere yet, from the first time that this was asked. */
must_check bool jetstream_hears(struct source *source, struct bytes did);

/* Takes a message that was refused once, as if it came now, into `batch`; where the stream stands
 * does not change. RC_REJECT: it still cannot be used. RC_AGAIN: the batch has no room. The message
 * is followed by ARENA_PAD readable bytes. */
must_check enum rc jetstream_hand_in(struct source *source, struct bytes message,
                                     struct batch *batch, struct err *err);

#endif
