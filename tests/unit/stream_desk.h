/* SPDX-License-Identifier: Apache-2.0
 *
 * stream_desk.h - a machine on which a test is the Jetstream host: it says what a host answers,
 * sees what it was asked, and lets time pass. */
#ifndef TESTS_UNIT_STREAM_DESK_H
#define TESTS_UNIT_STREAM_DESK_H

#include "desk_clock.h"
#include "source/jetstream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define STREAM_DESK_BATCHES 4

struct stream_desk {
    struct desk_clock clock; /* first: the runtime is the desk */
    struct batch_pool *pool;
    struct source *source;
    struct batch *handed[64];
    size_t handed_count;
    /* what was asked */
    char http_url[512], ws_url[2048];
    http_done_fn *http_done;
    void *http_arg;
    bool http_cancelled, closed, held;
    bool full; /* no message can be sent */
    const struct ws_events *events;
    void *events_arg;
    struct text sent; /* the last message to the server */
    unsigned dials, messages;
    unsigned committed, timed;      /* batches; of these whose way into the store counts */
    int64_t timed_from_us;          /* since when it counts of the last of these */
    unsigned gap_rows;              /* that were committed */
    int64_t gap_from_us, gap_to_us; /* of the last of these that is open */
};

/* Makes a source with these options; it is not started yet. */
void stream_desk_begin(struct stream_desk *desk, struct jetstream_options *options);
void stream_desk_start(struct stream_desk *desk);
void stream_desk_finish(struct stream_desk *desk);
/* Lets time pass: timers run, and what was handed over is committed. */
void stream_desk_pass(struct stream_desk *desk, int64_t us);
void stream_desk_commit_all(struct stream_desk *desk);
/* What the host does. */
void stream_desk_opened(struct stream_desk *desk);
void stream_desk_message(struct stream_desk *desk, const char *json);
void stream_desk_ended(struct stream_desk *desk, int status, const char *body);
void stream_desk_fetched(struct stream_desk *desk, enum rc rc, int status, const char *body);
/* An event of v1, or with a number of v2; valid until the next one. */
const char *stream_desk_event(int64_t time_us, int64_t seq);

#endif
