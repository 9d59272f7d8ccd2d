/* SPDX-License-Identifier: Apache-2.0
 *
 * event_fields.h - what a Jetstream event is asked for by both sides of the JSON benchmark.
 *
 * The floor is the parsing library with nothing around it, so it answers in its own memory: fields
 * are borrowed until its next event. */
#ifndef BENCH_EVENT_FIELDS_H
#define BENCH_EVENT_FIELDS_H

#include "base/bytes.h"

#ifdef __cplusplus
extern "C" {
#endif

#define EVENT_LINKS_MAX 8

struct event_fields {
    struct bytes did, kind, operation, collection, rkey, text, created_at, embed_uri;
    struct bytes links[EVENT_LINKS_MAX];
    size_t link_count;
    int64_t time_us;
};

/* Input as for json_parse; false when it does not parse. */
bool floor_extract(struct bytes input, struct event_fields *out);

#ifdef __cplusplus
}
#endif

#endif
