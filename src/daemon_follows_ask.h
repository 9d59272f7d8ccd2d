/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_follows_ask.h - a person wants the lists of follows read anew while the program runs.
 *
 * The answer comes when the reading is under way, not when it is over: a list is pages, and a host
 * may be away.
 *
 * Owner: the daemon.  Thread: the ingest loop, except where a function says otherwise. */
#ifndef DAEMON_FOLLOWS_ASK_H
#define DAEMON_FOLLOWS_ASK_H

#include "daemon_errand.h"
#include "daemon_part.h"

struct follows_ask {
    const struct part_env *env;
    struct errand errand;
};

void follows_ask_init(struct follows_ask *ask, const struct part_env *env);
void follows_ask_deinit(struct follows_ask *ask);
void follows_ask_abandon(struct follows_ask *ask);

/* Any thread but the loop's; answers the number of lists. RC_REJECT: there are none to be read. */
must_check enum rc follows_ask_run(struct follows_ask *ask, int64_t wait_us, int64_t *lists,
                                   struct err *err);

#endif
