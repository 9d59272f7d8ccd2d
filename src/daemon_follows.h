/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_follows.h - who is followed, as the store has it.
 *
 * Read once at the start, from the connection that is there, and again when an operator asks for
 * it, on a worker with a connection of its own; what changed since goes to the source. A list that
 * could not be read whole changes nothing.
 *
 * Owner: the daemon.  Thread: the ingest loop. */
#ifndef DAEMON_FOLLOWS_H
#define DAEMON_FOLLOWS_H

#include "base/id_set.h"
#include "source/source.h"
#include "store/store.h"
#include "sys/worker.h"

struct follows {
    const char *store_url;
    struct worker_pool *workers;
    struct worker_job job;
    struct source *source; /* is told */
    struct id_set known, read;
    bool reading;
    struct err err;
    enum rc rc;
};

void follows_init(struct follows *follows, const char *store_url, uint64_t seed);
void follows_deinit(struct follows *follows);
must_check enum rc follows_load(struct follows *follows, struct store *store, struct err *err);
/* Hands the source what is known; from now on it is told of changes. */
void follows_tell(struct follows *follows, struct source *source, struct worker_pool *workers);
/* Reads the list again, and tells the source what changed. */
void follows_refresh(struct follows *follows);

#endif
