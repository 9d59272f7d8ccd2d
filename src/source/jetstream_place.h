/* SPDX-License-Identifier: Apache-2.0
 *
 * jetstream_place.h - where the stream stands, what a connection asks for, and what it did not get.
 *
 * The stand is the latest event: its time, which every host understands, and on the v2 wire its
 * number, which only its own host does. A time is of the clock of the host that gave it: another
 * host is asked from further back, until its own events have passed it and the stand is its own.
 * The same host is asked for its number again, or for its time less the disorder it may send in; on
 * the v1 wire also less what it may have left out where an earlier replay ended.
 *
 * A host whose clock is behind holds an event under an earlier time than the host before it did. If
 * its first event, or the end of its replay, shows that it is further behind than the rewind went
 * back, it is asked again from further back; a host that is ahead of our own clock has its stand
 * rewound by as much. Until then the stand has not moved, so a crash changes nothing.
 *
 * A name may stand for several instances, and each counts for itself. When what a number brings is
 * before that number, or after the time it was of, it is another's, and the time is asked for as at
 * another host.
 *
 * A gap is what was asked for and not delivered. A v2 host says so. A v1 host clamps without a
 * word: then its own event at the stand does not come again. Where that event need not come,
 * because its author has left the filter or because another host gave the position, our clock and
 * the host's replay window must tell. Silence of a filter is no gap.
 *
 * An event may claim a time that has not come yet. One that stands alone with it moves nothing: the
 * stand would skip all that happens until then. Only when one event after the other is ahead it is
 * a clock that is, the host's or ours; then the stand follows the earliest of the latest few.
 *
 * A stand that lies hours in our future all the same (a clock was wrong once) is never asked for: a
 * v1 host would go live without a word, and what happened until then would be lost. Where the last
 * connection's events were shows whether they reached it, which our clock cannot tell; as long as
 * they have not, the stream is asked for from there, and what is not known is asked for from an
 * hour before it was last written down, or as far back as hosts reach. The stand itself stays: only
 * an operator knows which clock is right.
 *
 * Owner: the source.  Pure: no I/O, no clock, no log. */
#ifndef SOURCE_JETSTREAM_PLACE_H
#define SOURCE_JETSTREAM_PLACE_H

#include "base/json.h"
#include "ingest/cursor.h"
#include "ingest/provider.h"
#include "record_batch.h"
#include "source/jetstream_host.h"

/* How far another host's position is rewound: further than two hosts' clocks are apart. */
#define JETSTREAM_CROSS_REPLAY_US INT64_C(10000000)
/* How far a v1 host is asked back: further than a second look at the end of a replay takes. */
#define JETSTREAM_V1_REPLAY_US INT64_C(15000000)
/* So many events in a row that are ahead of our clock are no mistake of one of them. */
#define JETSTREAM_AHEAD_RUN 16
/* Longer names of the stand's author are not kept. */
#define JETSTREAM_AUTHOR_MAX 127

struct jetstream_stand {
    char host[CURSOR_PROVIDER_MAX + 1];    /* empty: an operator said so */
    int64_t time_us, seq;                  /* 0: none */
    int64_t ahead_us;                      /* of our clock */
    char author[JETSTREAM_AUTHOR_MAX + 1]; /* whose event it is; empty: not known */
};

/* What a connection began with. */
struct jetstream_asked {
    enum jetstream_wire wire;
    bool by_seq;
    bool filtered;    /* the server may leave out the stand */
    bool foreign;     /* the stand is another host's, or nobody's */
    bool late;        /* by our clock the host does not reach back so far */
    bool outdated;    /* the host says so itself */
    bool astray;      /* the stand is not asked for: it lies in the future */
    bool first_seen;  /* an event came */
    int64_t number;   /* as sent; 0: live */
    int64_t from_us;  /* the time it stands for; 0: live */
    int64_t stand_us; /* where the stream stood */
    int64_t seq_max;  /* of its events */
    int64_t time_max; /* of those whose time is believed */
    int64_t first_us; /* the earliest up to the first of these */
    int64_t last_us;  /* of the last of these */
    int64_t hole_us;  /* after which time something was too large to be taken; 0: nowhere */
    unsigned ahead_run;
    int64_t ahead_us[JETSTREAM_AHEAD_RUN]; /* the latest times of the run */
};

/* A foreign stand was rewound; open until the clocks are compared. */
struct jetstream_crossing {
    bool open, looked; /* looked: it was asked again once */
    int64_t rewound_us, lag_us_min;
    int64_t mark_wall_us, mark_time_us; /* whether replay is over: time no longer outruns ours */
};

struct jetstream_place {
    struct cursor_state state; /* as it was stored last */
    struct jetstream_stand stand;
    struct jetstream_asked asked;
    struct jetstream_crossing crossing;
    int64_t window_us; /* how far back a v1 host reaches */
    int64_t heard_us;  /* the time of the last event of an earlier connection; 0: none */
    bool exact;        /* ask for the number itself: less was too old */
    bool by_time;      /* the number is of no use any more */
    bool elsewhere;    /* another instance answers under the host's name */
};

enum jetstream_verdict {
    JETSTREAM_PLACE_FINE,
    JETSTREAM_PLACE_GAP,        /* from what was asked for to this event */
    JETSTREAM_PLACE_RENUMBERED, /* the numbers are others now: ask again, by time */
    JETSTREAM_PLACE_BEHIND,     /* the host's clock is behind: ask again, from further back */
    JETSTREAM_PLACE_AHEAD,      /* the event's time is not believed: only its number counts */
};

void jetstream_place_init(struct jetstream_place *place, int64_t window_us);
/* Begins where an operator says; 0: live. */
void jetstream_place_begin(struct jetstream_place *place, int64_t time_us);
/* Begins where the store says. RC_REJECT: it cannot be understood. */
must_check enum rc jetstream_place_resume(struct jetstream_place *place, struct json_doc *doc,
                                          struct bytes state, struct err *err);
/* Decides what to ask `host` for; `asked` says it. `behind_us` is what is known of its clock;
 * `filtered`: its server may leave out the event at the stand. */
void jetstream_place_ask(struct jetstream_place *place, const struct jetstream_host *host,
                         const struct provider_proof *proof, int64_t behind_us, bool filtered,
                         int64_t now_us);
/* How far the time of an event that comes now is believed, and what it is taken for beyond that. */
void jetstream_place_trust(const struct jetstream_place *place, int64_t received_us,
                           int64_t *until_us, int64_t *instead_us);
/* An event of the host that was asked last; `received_us` is wall time. With a verdict to ask again
 * the stand has not moved; `behind_us` is set with JETSTREAM_PLACE_BEHIND. */
enum jetstream_verdict jetstream_place_event(struct jetstream_place *place, const char *host,
                                             int64_t time_us, int64_t seq, int64_t received_us,
                                             int64_t *behind_us);
/* Whose the event is that was taken last, if the stand is at it; absent: that is not known. */
void jetstream_place_author(struct jetstream_place *place, struct bytes did);
/* A message came that was too large to be taken. Gives the time it comes after; what lies between
 * that and the next event is missing. */
int64_t jetstream_place_skip(struct jetstream_place *place, int64_t received_us);
/* Whether the event that was taken last, and believed, ends such a hole, [from_us, to_us); it is
 * told once. */
bool jetstream_place_hole(struct jetstream_place *place, int64_t *from_us, int64_t *to_us);
/* The host refused the cursor as too old. False: there is nothing else to ask for. */
bool jetstream_place_too_old(struct jetstream_place *place);
/* Adds the cursor row to a unit. RC_AGAIN: no room. */
must_check enum rc jetstream_place_write(struct jetstream_place *place, struct json_doc *doc,
                                         int64_t now_us, struct batch *batch);

#endif
