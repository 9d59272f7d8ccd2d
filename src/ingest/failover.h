/* SPDX-License-Identifier: Apache-2.0
 *
 * failover.h - which provider answers the next request of a stream.
 *
 * A group is the providers of one source with the history of switches; a stream of it has a current
 * provider and, for each provider, a seat: how it failed here and when it may be tried here again.
 *
 * Always holds: a provider is chosen only if it is enabled, can resume from a kind the cursor
 * offers (any kind will do: a token of another provider disqualifies nobody), has a circuit that is
 * not open, and is neither pausing nor waiting out a failure in this stream; only a short pause of
 * its own provider is waited out. If there is such a one, one is chosen. A stream stays where it
 * is, because moving costs a rewind; it moves when its provider fails or pauses for long, and back
 * to one of better priority when that one has worked since it failed, and the stream has stayed a
 * minimum time where it is; or when the caller, who knows how long ago it failed, would try it
 * again. A resumed stream begins with the provider that wrote its cursor, unless it would go back
 * from there. Equal calls give equal answers. Tables are fixed (I6).
 *
 * It chooses; the position to resume from is the caller's last committed cursor, handed in as the
 * kinds it offers.
 *
 * Owner: the source.  Thread: loop.  Never allocates, never logs, never reads a clock. */
#ifndef INGEST_FAILOVER_H
#define INGEST_FAILOVER_H

#include "ingest/provider.h"

#define FAILOVER_PROVIDERS_MAX 16
#define FAILOVER_HISTORY_MAX   64
#define FAILOVER_STREAM_MAX    64

struct failover_settings {
    struct retry_schedule schedule; /* waits of one stream at one provider that failed it */
    int64_t dwell_us;               /* before a stream goes back to a preferred provider */
    int64_t patience_us;            /* a pause so short is waited out instead of moving */
    int64_t recheck_us;             /* wait after a permanent failure */
};

struct failover_switch {
    int64_t at_us;
    char stream[FAILOVER_STREAM_MAX];
    int from, to; /* numbers of providers */
    char reason[PROVIDER_REASON_MAX];
};

struct failover {
    struct failover_settings settings;
    struct provider providers[FAILOVER_PROVIDERS_MAX];
    int count;
    struct failover_switch history[FAILOVER_HISTORY_MAX];
    uint64_t switches; /* ever made; the last ones are in `history` */
};

struct failover_seat {
    uint32_t failures; /* in a row, in this stream */
    int64_t again_us;  /* not before */
    char reason[PROVIDER_REASON_MAX];
    struct provider_proof proof; /* of this stream */
};

struct failover_stream {
    struct failover *group;
    char name[FAILOVER_STREAM_MAX];
    int current; /* PROVIDER_NONE: none yet */
    int64_t since_us;
    struct failover_seat seats[FAILOVER_PROVIDERS_MAX];
};

/* What the stored cursor can be resumed from, as bits of cursor kinds; both masks 0: there is no
 * cursor and every provider can begin. An expired token is left out by the caller. */
struct failover_offer {
    uint32_t portable; /* of its position and alternatives: good at any provider */
    uint32_t scoped;   /* good at `owner` only */
    int owner;         /* who wrote the cursor; PROVIDER_NONE: nobody of this group */
    /* A bit for each provider: */
    uint32_t avoided; /* it would begin anew, so the stream does not go back to it */
    uint32_t wanted;  /* the stream goes back to it without a proof that it works */
};

struct failover_pick {
    int provider; /* PROVIDER_NONE unless chosen */
    struct provider_ticket ticket;
    int64_t at_us;      /* send not before; when none was chosen: when to ask again, INT64_MAX when
                         * waiting will not help */
    uint32_t usable;    /* kinds that cursor and provider share */
    uint32_t preferred; /* the provider's preferred one if it is usable, else 0 */
    bool crossed; /* the cursor is another's: rewind once, by the larger of the provider's replay
                         * window and the way back to `proof` */
    struct provider_proof proof; /* where the cursor's owner was last proved good in this stream */
};

void failover_settings_default(struct failover_settings *settings);
void failover_init(struct failover *group, const struct failover_settings *settings);
/* Adds a provider and gives its number; RC_REJECT when the table is full, the name is taken or too
 * long, or the preferred kind is not one of its kinds. */
must_check enum rc failover_add(struct failover *group, const struct provider_spec *spec,
                                int64_t now_us, int *number, struct err *err);
int failover_find(const struct failover *group, const char *name);
void failover_stream_init(struct failover_stream *stream, struct failover *group, const char *name);

/* RC_OK: `pick` says whom to ask and how; its end is reported with one of the three calls below.
 * RC_RETRY: all failed for now; `err` names each provider's reason and `pick->at_us` is the
 * earliest time a retry makes sense. RC_REJECT: no provider can serve this cursor, now or later. */
must_check enum rc failover_choose(struct failover_stream *stream,
                                   const struct failover_offer *offer, int64_t now_us,
                                   struct failover_pick *pick, struct err *err);
void failover_succeeded(struct failover_stream *stream, const struct failover_pick *pick,
                        int64_t latency_us, int64_t now_us);
void failover_failed(struct failover_stream *stream, const struct failover_pick *pick,
                     const struct provider_failure *failure, int64_t now_us, uint64_t random);
void failover_abandoned(struct failover_stream *stream, const struct failover_pick *pick);
void failover_proved(struct failover_stream *stream, int number,
                     const struct provider_proof *proof);

/* A provider worth a probe that no stream has to wait for, or PROVIDER_NONE. The probe has begun:
 * report its end to the provider itself. */
int failover_probe_next(struct failover *group, int64_t now_us, struct provider_ticket *ticket);
/* Writes in words why the provider can or cannot be chosen now. */
void failover_reason(const struct failover_stream *stream, const struct failover_offer *offer,
                     int number, int64_t now_us, char *out, size_t size);
/* The `back`-th last switch (0: the last), or NULL when it was not made or is forgotten. */
const struct failover_switch *failover_history(const struct failover *group, uint32_t back);

#endif
