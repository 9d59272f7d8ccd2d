/* SPDX-License-Identifier: Apache-2.0
 *
 * jetstream_parts.h - one Jetstream source and what its parts ask of each other; for them only.
 *
 * The connection dials, listens and learns from refusals; the frames become records and move the
 * place. Both stand on the same structure, on the ingest loop. */
#ifndef SOURCE_JETSTREAM_PARTS_H
#define SOURCE_JETSTREAM_PARTS_H

#include "ingest/failover.h"
#include "ingest/gap.h"
#include "ingest/intake.h"
#include "source/jetstream.h"
#include "source/jetstream_filter.h"
#include "source/jetstream_place.h"

#include <assert.h>

#define JETSTREAM_NAME            "jetstream"
#define JETSTREAM_FRAME_BYTES_MAX ((size_t)8 << 20)

/* Whether a v1 host may have left something out where its replay ended, and is asked again. */
struct jetstream_cutover {
    bool looking; /* the connection that is made next, or stands, is the second look */
    int64_t mark_mono_us, mark_time_us; /* when it was looked last, and how far the stream was */
};

struct jetstream {
    struct source source;
    struct source_env env;
    enum source_state state;
    struct jetstream_host known[JETSTREAM_ENDPOINTS_MAX]; /* by number of provider */
    int64_t behind_us[JETSTREAM_ENDPOINTS_MAX];           /* what is known of their clocks */
    char **collections;
    size_t collection_count;
    size_t frame_bytes_max; /* a larger one is gone past; it fits into the ring */
    uint32_t ping_ms, pong_ms_max, attempts_max;
    struct intake intake;
    struct json_doc *doc;
    struct failover hosts;
    struct failover_stream stream;
    struct failover_pick pick;
    struct jetstream_place place;
    struct gap_notes gaps;
    int64_t forgotten_us, forgotten_to_us; /* what a reset left out; 0: nothing, not known yet */
    struct jetstream_filter filter;
    bool untold;      /* somebody was added of whom the server does not know yet */
    int64_t told_us;  /* when it was told last; monotonic */
    int64_t blind_us; /* histories are read since then, and nothing was heard ever; 0: no */
    struct jetstream_packing packing;
    struct ws *ws;
    struct timer again, tell, cutover;
    struct jetstream_cutover second; /* look at where a replay ended */
    int64_t dialled_us;              /* monotonic */
    int64_t wait_us;                 /* that the host asks for; -1: it does not say */
    bool asking_again;               /* what this connection still brings is asked for again */
    bool heard;                      /* an event came on this connection */
    bool caught_up;                  /* its events come as they happen: its replay is over */
    bool ahead_told;                 /* that one of its events was of a time to come */
    struct err trouble;
    uint32_t failures;
    bool no_posts, no_reposts;
    uint64_t reconnects, filtered, ahead, left_out;
};

static inline int64_t jetstream_wall(const struct jetstream *js)
{
    return js->env.runtime->ops->wall_us(js->env.runtime);
}

static inline int64_t jetstream_mono(const struct jetstream *js)
{
    return js->env.runtime->ops->mono_us(js->env.runtime);
}

static inline struct jetstream_host *jetstream_host_now(struct jetstream *js)
{
    assert(js->pick.provider != PROVIDER_NONE);
    return &js->known[js->pick.provider];
}

/* "" before the first dial. */
static inline const char *jetstream_host_name(const struct jetstream *js)
{
    return js->pick.provider == PROVIDER_NONE ? "" : js->hosts.providers[js->pick.provider].name;
}

/* A timer's function: chooses a host and connects, now or when it makes sense. */
void jetstream_connection_dial(void *arg);
void jetstream_connection_dial_later(struct jetstream *js, int64_t delay_us);
/* A timer's function: tells a v1 server who is wanted; the v2 wire takes no messages. */
void jetstream_connection_tell_filter(void *arg);
void jetstream_connection_close(struct jetstream *js, const char *why);
/* Ends the connection for another one that asks for something else. */
void jetstream_connection_ask_again(struct jetstream *js, const char *why);

/* A connection was opened, or failed: whether its replay deserves a second look. */
void jetstream_cutover_begin(struct jetstream *js);
void jetstream_cutover_forget(struct jetstream *js);
/* A timer's function: takes the second look once the replay is over. */
void jetstream_cutover_look(void *arg);

/* One frame into a batch, as the intake wants it. */
enum rc jetstream_frames_decode(void *arg, const struct frame *frame, struct batch *batch,
                                int64_t *position, struct err *err);

#endif
