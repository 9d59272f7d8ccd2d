/* SPDX-License-Identifier: Apache-2.0
 *
 * jetstream_event.h - one message of a Jetstream wire, v1 or v2, from bytes to records.
 *
 * The two wires are told apart by the message itself. A v2 message may also be a word of the server
 * about the stream: it gives no record and has no position.
 *
 * Pure: no I/O, no clock, no log. What is well-formed but not for us (another collection, an
 * operation nobody stores) gives no record and no error. What is malformed gives RC_REJECT with the
 * reason, and leaves the batch as it was. */
#ifndef DECODE_JETSTREAM_EVENT_H
#define DECODE_JETSTREAM_EVENT_H

#include "base/json.h"
#include "record_batch.h"

#define JETSTREAM_WORD_MAX 64

enum jetstream_message {
    JETSTREAM_EVENT,
    JETSTREAM_INFO,  /* `word` is its name */
    JETSTREAM_ERROR, /* `word` is its name; the server ends the stream */
    JETSTREAM_OTHER, /* of a later version of the wire: to be gone past */
};

struct jetstream_event {
    enum jetstream_message message;
    int64_t time_us;   /* the upstream's witness time; 0 when it is no event */
    int64_t seq;       /* the position at this host on the v2 wire; 0: none */
    struct bytes did;  /* borrowed from the parsed document; absent when it is no event */
    unsigned records;  /* added to the batch: 0, 1, or a post with its links */
    unsigned left_out; /* addresses of a post that became no link */
    bool unwanted;     /* well-formed, of an account or a collection nobody asked for */
    char word[JETSTREAM_WORD_MAX];
};

/* On what terms an event gives a record. An account's standing and its handle are ordered by the
 * host's clock, so a time is kept as far as it is believed; a share's is never after `now_us`. */
struct jetstream_terms {
    bool (*wants)(const void *arg, struct bytes did); /* NULL: everybody's */
    const void *arg;
    bool no_posts, no_reposts; /* left out, whatever the server sends */
    int64_t now_us;
    int64_t until_us, instead_us; /* a time after `until_us` is taken for `instead_us` */
};

/* Parses `frame` (padded, see json_parse) and adds what it says to `batch`. Times in the future of
 * `now_us` are stored as `now_us`. RC_AGAIN: the batch is full; try again with an empty one. */
must_check enum rc jetstream_event_decode(struct json_doc *doc, struct bytes frame, int64_t now_us,
                                          struct batch *batch, struct jetstream_event *event,
                                          struct err *err);
must_check enum rc jetstream_event_decode_on(struct json_doc *doc, struct bytes frame,
                                             const struct jetstream_terms *terms,
                                             struct batch *batch, struct jetstream_event *event,
                                             struct err *err);

#endif
