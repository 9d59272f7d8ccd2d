/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_janitor.h - the part that forgets what has served its time.
 *
 * At its interval, and once at the start, it asks the store whether anything is too old; as long as
 * something is, a slice goes to the writer like any other batch, between those of the sources, and
 * it asks again. A slice that the writer could not commit is not repeated at once: the next look
 * finds what is left. Where news are read, what is old is judged by the sources' time too; a round
 * that was held back by it is repeated as soon as they tell a later one.
 *
 * Always holds: one question or one slice is under way, never both.
 *
 * Owner: the daemon.  Thread: the ingest loop. */
#ifndef DAEMON_JANITOR_H
#define DAEMON_JANITOR_H

#include "daemon_part.h"

struct part *janitor_part_new(const struct part_env *env);

#endif
