/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_standing.h - the part that brings the counts of an account that went, or came back, to
 * their end.
 *
 * What an account shared leaves the counts in slices, one with each commit of the news. Where
 * nothing else is committed, this part commits the next slice, until none is left.
 *
 * Owner: the daemon.  Thread: the ingest loop. */
#ifndef DAEMON_STANDING_H
#define DAEMON_STANDING_H

#include "daemon_part.h"

struct part *standing_part_new(const struct part_env *env);

#endif
