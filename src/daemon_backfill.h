/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_backfill.h - the part that reads histories: those the queue holds.
 *
 * The firehose goes first: nothing is read before it is connected, or has had its chance. Then
 * history fills in behind it.
 *
 * Owner: the daemon.  Thread: the ingest loop. */
#ifndef DAEMON_BACKFILL_H
#define DAEMON_BACKFILL_H

#include "daemon_part.h"

struct part *backfill_part_new(const struct part_env *env);

#endif
