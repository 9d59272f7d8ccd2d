/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_follows.h - whose sharing counts, as the store has it, for the firehose's filter.
 *
 * Read once at the start, from the connection that is there, and again whenever a list of follows
 * was stored or an operator asks, page by page; what changed since goes to the source, which needs
 * no new connection for it. A list that could not be read whole changes nothing and is read again
 * after a while.
 *
 * Owner: the firehose's part.  Thread: the ingest loop. */
#ifndef DAEMON_FOLLOWS_H
#define DAEMON_FOLLOWS_H

#include "base/id_set.h"
#include "source/source.h"

struct follows {
    const struct source_env *env;
    struct source *source; /* is told; NULL: none */
    struct id_set known;
    struct id_set reading; /* of the pages that were read, while `asking` */
    struct text last;      /* of them; the next page begins behind it */
    struct timer retry;
    bool asking;
    bool again;   /* it changed while it was asked for */
    bool waiting; /* it could not be read; `retry` will */
};

void follows_init(struct follows *follows, const struct source_env *env, uint64_t seed);
void follows_deinit(struct follows *follows);
must_check enum rc follows_load(struct follows *follows, struct store *store, struct err *err);
/* Hands the source what is known; from now on it is told of changes. */
void follows_tell(struct follows *follows, struct source *source);
/* Reads it again, and tells the source what changed. */
void follows_refresh(struct follows *follows);
/* Somebody counts: if that is not known, and is not being read, it is read again. */
void follows_expect(struct follows *follows, struct bytes did);

#endif
