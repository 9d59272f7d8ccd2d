/* SPDX-License-Identifier: Apache-2.0
 *
 * upkeep.h - what is done for handles when nobody asks: renewing, ending, expiring.
 *
 * At the start the shelf is mended if it was damaged, and counted. Handles that are followed are
 * renewed on it. Handles whose time is over, and those of sessions that ended, are taken off the
 * shelf in slices, one at a time, on a reader's thread and between requests. What fails is told and
 * tried again at the next look.
 *
 * Owner: the server.  Thread: the serving loop, but for the work. */
#ifndef SERVE_UPKEEP_H
#define SERVE_UPKEEP_H

#include "query/handle.h"
#include "serve/tail_watch.h"

struct upkeep;

/* Before anybody reads. Without a shelf everything else is still served; who opens a query is
 * told. */
void upkeep_prepare(struct handles *handles, const char *store_url);
struct upkeep *upkeep_start(struct runtime *runtime, struct handles *handles,
                            struct reader_pool *readers, struct tail_watches *watches);
/* No job of it is under way any more. */
void upkeep_free(struct upkeep *upkeep);
/* Stops looking; a job that is under way comes back. */
void upkeep_stop(struct upkeep *upkeep);
/* Whether a job that came back is its own; it is dealt with then. */
bool upkeep_takes(struct upkeep *upkeep, struct reader_job *job);

#endif
