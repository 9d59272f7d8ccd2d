/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_polling.h - the part that polls feeds: always in polling mode, in hybrid mode while no
 * host of the firehose has worked for five minutes, and not at all in firehose mode.
 *
 * Owner: the daemon.  Thread: the ingest loop. */
#ifndef DAEMON_POLLING_H
#define DAEMON_POLLING_H

#include "daemon_part.h"

struct part *polling_part_new(const struct part_env *env);

#endif
