/* SPDX-License-Identifier: Apache-2.0
 *
 * jetstream_peek.h - whose event it is and where it stands, without parsing it.
 *
 * Servers write the fields of an event in one order, so that author and position of nearly every
 * event lie where a few comparisons find them. What does not look exactly so is not judged: the
 * parser has to say. An event that was only peeked at may still be malformed further on, so what is
 * to be stored must be parsed all the same.
 *
 * Pure. Thread: any. */
#ifndef DECODE_JETSTREAM_PEEK_H
#define DECODE_JETSTREAM_PEEK_H

#include "base/bytes.h"
#include "base/rc.h"

struct jetstream_peek {
    struct bytes did; /* borrowed from the frame */
    int64_t time_us;  /* > 0 */
    int64_t seq;      /* of the v2 wire; 0: none */
};

/* False: it takes the parser to tell. */
must_check bool jetstream_peek(struct bytes frame, struct jetstream_peek *peek);

#endif
