/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_feed_readers.h - the part that reads the feeds of authors: histories that the queue holds,
 * and, unless the mode is firehose, rounds over everybody's feed.
 *
 * The firehose goes first: no history is read before it is connected, or has had its chance. Rounds
 * are made always in polling mode, in hybrid mode while no host of the firehose has worked for
 * `polling.after_outage_seconds`.
 *
 * Owner: the daemon.  Thread: the ingest loop. */
#ifndef DAEMON_FEED_READERS_H
#define DAEMON_FEED_READERS_H

#include "daemon_part.h"

struct part *feed_readers_part_new(const struct part_env *env);

#endif
