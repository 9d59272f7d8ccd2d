/* SPDX-License-Identifier: Apache-2.0
 *
 * jetstream_place.h - where the stream stands, what a connection asks for, and what it did not get.
 *
 * A place is the last event of one host: its time, which every host understands, and on the v2 wire
 * its number, which only that host does. The same host is asked for its number again, or for its
 * time less the disorder it may send in; another host is asked for the time, rewound once.
 *
 *   asked   what this connection began with
 *   stand   the last event taken from it; nothing before it is missing
 *
 * A host whose clock is behind holds an event under an earlier time than the host before it did, so
 * the time of one may lie behind what is missing at the other. Until a new host has shown that its
 * clock is no further behind than the rewind went back, the place that is stored stays where the
 * old host left it; if it is further behind, it is asked again from further back. A time later than
 * our own clock is not believed: the earlier one counts.
 *
 * A gap is what was asked for and not delivered: a v2 host says so; a v1 host clamps without a word
 * and is judged by its replay window and its first event. Silence is no gap.
 *
 * Owner: the source.  Pure: no I/O, no clock, no log. */
#ifndef SOURCE_JETSTREAM_PLACE_H
#define SOURCE_JETSTREAM_PLACE_H

#include "base/json.h"
#include "ingest/cursor.h"
#include "ingest/provider.h"
#include "record_batch.h"
#include "source/jetstream_host.h"

struct jetstream_stand {
    char host[CURSOR_PROVIDER_MAX + 1]; /* empty: an operator said so */
    int64_t time_us, seq;               /* 0: none */
};

struct jetstream_asked {
    enum jetstream_wire wire;
    int64_t number;  /* as sent; 0: live */
    int64_t from_us; /* the time it stands for; 0: live */
    bool by_seq;
    bool outdated;   /* the host said that it does not reach back so far */
    bool first_seen; /* an event came */
};

/* On the way from one host to another, until the clocks are compared. */
struct jetstream_crossing {
    bool open;
    struct jetstream_stand from;
    int64_t rewound_us, lag_us_min;
    int64_t mark_wall_us, mark_time_us; /* whether replay is over: time no longer outruns ours */
};

struct jetstream_place {
    struct cursor_state state; /* as it was stored last */
    struct jetstream_stand stand;
    struct jetstream_asked asked;
    struct jetstream_crossing crossing;
    int64_t window_us; /* how far back a v1 host reaches */
    bool exact;        /* ask for the number itself: less was too old */
    bool untimely;     /* ask by time: the number is of no use any more */
    bool looked_behind;
    int64_t gap_from_us, gap_to_us; /* to be recorded with the next unit; 0: none */
};

enum jetstream_verdict {
    JETSTREAM_PLACE_FINE,
    JETSTREAM_PLACE_GAP,        /* found just now */
    JETSTREAM_PLACE_RENUMBERED, /* the host began to count anew: ask again, by time */
    JETSTREAM_PLACE_BEHIND,     /* the host's clock is behind: ask again, from further back */
};

void jetstream_place_init(struct jetstream_place *place, int64_t window_us);
/* Begins where an operator says; 0: live. */
void jetstream_place_begin(struct jetstream_place *place, int64_t time_us);
/* Begins where the store says. RC_REJECT: it cannot be understood. */
must_check enum rc jetstream_place_resume(struct jetstream_place *place, struct json_doc *doc,
                                          struct bytes state, struct err *err);
/* Decides what to ask `host` for; `asked` says it. `behind_us` is what is known of its clock. */
void jetstream_place_ask(struct jetstream_place *place, const struct jetstream_host *host,
                         const struct provider_proof *proof, int64_t behind_us, int64_t now_us);
/* An event of the host that was asked last; `received_us` is wall time. With a verdict to ask again
 * the stand has not moved. `behind_us` is set with JETSTREAM_PLACE_BEHIND. */
enum jetstream_verdict jetstream_place_event(struct jetstream_place *place, const char *host,
                                             int64_t time_us, int64_t seq, int64_t received_us,
                                             int64_t *behind_us);
/* The host refused the cursor as too old. False: it did so before, waiting is all that is left. */
bool jetstream_place_too_old(struct jetstream_place *place);
/* Adds the cursor row, and the gap that is due, to a unit of `records` records. RC_AGAIN: no
 * room. */
must_check enum rc jetstream_place_write(struct jetstream_place *place, struct json_doc *doc,
                                         int64_t position, int64_t now_us, struct batch *batch);

#endif
