/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_gauges.h - the part that counts what lies in the store, for those who watch.
 *
 * /health and /metrics never wait for the store: what they show of it is what this part last read,
 * a few seconds ago. What could not be read yet is unknown, which is less than nothing.
 *
 * Owner: the daemon.  Thread: the ingest loop. */
#ifndef DAEMON_GAUGES_H
#define DAEMON_GAUGES_H

#include "daemon_part.h"

struct part *gauges_part_new(const struct part_env *env);

#endif
