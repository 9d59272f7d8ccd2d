/* SPDX-License-Identifier: Apache-2.0
 *
 * jetstream_filter.h - whose events are wanted, here and at the server.
 *
 * Everybody's, or those of a set of DIDs. Events are always judged here, since a server may leak;
 * up to as many as a server takes, a v1 server is told the set too, in a message on the open
 * connection, so that a changed set needs no new one. Above that, and on the v2 wire, which takes
 * no messages, everything comes and is judged here. A set that is still empty wants nobody.
 *
 * Owner: the source.  Thread: the owner's. */
#ifndef SOURCE_JETSTREAM_FILTER_H
#define SOURCE_JETSTREAM_FILTER_H

#include "base/id_set.h"

#define JETSTREAM_FILTER_SERVER_MAX 10000

struct jetstream_filter {
    bool everybody;
    struct id_set wanted;
};

void jetstream_filter_init(struct jetstream_filter *filter, bool everybody, uint64_t seed);
void jetstream_filter_deinit(struct jetstream_filter *filter);
bool jetstream_filter_wants(const struct jetstream_filter *filter, struct bytes did);
/* Whether a v1 server is to wait for the set: there is one, and it will fit or may yet be known. */
bool jetstream_filter_needs_hello(const struct jetstream_filter *filter);
/* Whether there is a set to tell: it is not empty. */
bool jetstream_filter_is_ready(const struct jetstream_filter *filter);
/* Appends the message that replaces the server's filters: both lists, always. */
void jetstream_filter_message(const struct jetstream_filter *filter, const char *const *collections,
                              size_t collection_count, struct text *out);

#endif
