/* SPDX-License-Identifier: Apache-2.0
 *
 * sim_history.h - what happened upstream: one log of events, made from a seed.
 *
 * All hosts send the same log, each with its own clock: an event's `time_us` at a host is its true
 * time plus the host's skew. A few events claim, at every host, a time that has not come; they are
 * kept where they happened. Every event can be told from what was stored of it: its revision, its
 * text, its status and its handle carry its number. Some entries are garbage: bytes that no decoder
 * may accept, sent again at every replay like everything else. */
#ifndef TESTS_SIM_HISTORY_H
#define TESTS_SIM_HISTORY_H

#include "base/bytes.h"
#include "base/digest.h"
#include "sim_swarm.h"

#define SIM_HOSTS       3
#define SIM_DIDS        10
#define SIM_RKEYS       60
#define SIM_KEYS        (SIM_DIDS * 2 * SIM_RKEYS)
#define SIM_REV_LEN     13
#define SIM_BEGIN_US    INT64_C(1750000000000000)
#define SIM_SKEW_US_MAX INT64_C(4500000)
#define SIM_POISON      "POISON"

enum sim_kind {
    EVENT_PUT,
    EVENT_DELETE,
    EVENT_ACCOUNT,
    EVENT_IDENTITY,
    EVENT_NOISE,
    EVENT_GARBAGE
};

struct sim_event {
    int64_t at_us;   /* true time, strictly increasing */
    int64_t lead_us; /* of the time it claims */
    enum sim_kind kind;
    unsigned shape; /* of garbage, of noise; of a put: whether it is an update */
    unsigned did, rkey;
    bool repost, poison;
    size_t filler;                           /* bytes of text beyond the ordinary */
    uint8_t digests[SIM_HOSTS][DIGEST_SIZE]; /* of garbage and of what may be too large */
};

struct sim_history {
    struct sim_event *events;
    size_t count;
    int64_t skew_us[SIM_HOSTS];
};

/* As long as the seed says: some minutes, or `days` when they are not 0, and at most `events_max`
 * events unless that is 0. */
void sim_history_init(struct sim_history *history, struct sim_swarm *swarm, size_t events_max,
                      unsigned days);
void sim_history_deinit(struct sim_history *history);
/* The frame as host number `host` sends it; followed by ARENA_PAD readable bytes. */
void sim_history_frame(const struct sim_history *history, size_t at, int host, struct text *out);
/* What a post's `text` or a repost's subject must be. */
void sim_history_body(const struct sim_history *history, size_t at, struct text *out);
int64_t sim_history_time(const struct sim_history *history, size_t at, int host);
/* The first event that host's clock puts at or after `time_us`; `count` when there is none. */
size_t sim_history_find(const struct sim_history *history, int64_t time_us, int host);
/* The slot of a post or repost; SIM_KEYS when the names are none of ours. */
size_t sim_key(struct bytes did, struct bytes collection, struct bytes rkey);
size_t sim_event_key(const struct sim_event *event);
/* The number that follows `prefix`; false when `text` is not exactly that. */
bool sim_number_after(struct bytes text, const char *prefix, size_t *number);

#endif
