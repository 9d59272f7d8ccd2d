/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_firehose.h - the part that follows the firehose: the source, the files beside the store,
 * and who is followed.
 *
 * Without an account in `bluesky.actors` everybody's events are wanted; with one, those of the
 * accounts the store says are followed.
 *
 * There is none in polling mode.
 *
 * Owner: the daemon.  Thread: the ingest loop. */
#ifndef DAEMON_FIREHOSE_H
#define DAEMON_FIREHOSE_H

#include "daemon_part.h"

struct part *firehose_part_new(const struct part_env *env);
/* Hands a message in again that was refused once; see the source. RC_RETRY: not now. */
must_check enum rc firehose_part_hand_in(struct part *part, struct bytes message,
                                         struct batch *batch, struct err *err);

#endif
