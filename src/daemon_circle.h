/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon_circle.h - the part that reads whom our accounts follow, and what these are called;
 * there when any account is configured.
 *
 * Owner: the daemon.  Thread: the ingest loop. */
#ifndef DAEMON_CIRCLE_H
#define DAEMON_CIRCLE_H

#include "daemon_part.h"

struct part *circle_part_new(const struct part_env *env);

#endif
